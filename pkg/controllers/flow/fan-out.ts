// SPDX-License-Identifier: Apache-2.0
// Holds plans back that can wait while proxies receive as much as policy allows: by Service, and of all Services together.
import type { FlowSlice } from '../../flow/assemble/slice.ts';
import { counting, fits } from '../../flow/fan-out-budget.ts';
import type { Sent } from '../../flow/fan-out-budget.ts';
import type { Clock } from '../../kubernetes/types.ts';
import { bytesText, fanOutOf } from '../../upstream/index.ts';

export interface FanOutOptions {
  /** Of all Services together, bytes a minute; undefined: no limit. */
  readonly limit: number | undefined;
  /** Proxies that watch slices. */
  proxies(): number;
  clock: Pick<Clock, 'monotonic'>;
}

export interface FanOutBudget {
  /** Why a write of these slices has to wait; undefined: it need not. `own`: what the Service's policy allows, bytes a minute. */
  held(key: string, slices: readonly FlowSlice[], own: number | undefined): string | undefined;
  /** These of one Service are about to be written, for whichever reason. Returns what proxies receive, bytes. */
  sent(slices: readonly FlowSlice[]): number;
  forget(key: string): void;
}

interface Ledger {
  sent: Sent[];
  readonly limit: number;
}

/** What was sent before is not known: as much as is allowed. So a restart, or another leader, sends no more than one process. */
const newLedger = (limit: number, at: number): Ledger => ({ sent: [{ at, bytes: limit }], limit });

const keyOf = ({ metadata, service }: FlowSlice): string => `${metadata?.namespace ?? ''}/${service}`;

export const createFanOutBudget = ({ limit, proxies, clock }: FanOutOptions): FanOutBudget => {
  let all: Ledger | undefined;
  const services = new Map<string, Ledger>();
  const timeOf = (): number => clock.monotonic() / 1_000;
  const bytesOf = (slices: readonly FlowSlice[]): number =>
    fanOutOf(
      slices.map(({ bytes }) => bytes),
      proxies(),
    ).fanOutBytes;

  const ledgerOf = (key: string, own: number): Ledger => {
    const known = services.get(key);
    if (known?.limit === own) return known;
    const ledger = known === undefined ? newLedger(own, timeOf()) : { ...known, limit: own };
    services.set(key, ledger);
    return ledger;
  };

  const spend = (ledger: Ledger | undefined, bytes: number): void => {
    if (ledger === undefined) return;
    const at = timeOf();
    ledger.sent = [...counting(ledger.sent, ledger.limit, at), { at, bytes }];
  };

  return {
    held(key, slices, own) {
      const bytes = bytesOf(slices);
      const at = timeOf();
      if (own === undefined) services.delete(key);
      if (limit !== undefined) all ??= newLedger(limit, at);
      const ledgers = [
        ['its FlowPolicy', own === undefined ? undefined : ledgerOf(key, own)],
        ['the configuration of the flow-controller', all],
      ] as const;
      for (const [who, ledger] of ledgers) {
        if (ledger === undefined || fits(ledger.sent, ledger.limit, bytes, at)) continue;
        return `a plan that keeps more traffic in its zone waits: proxies would receive about ${bytesText(bytes)}, and ${who} allows ${bytesText(ledger.limit)} a minute`;
      }
      return undefined;
    },
    sent(slices) {
      const bytes = bytesOf(slices);
      const [first] = slices;
      spend(all, bytes);
      spend(first === undefined ? undefined : services.get(keyOf(first)), bytes);
      return bytes;
    },
    forget: (key) => void services.delete(key),
  };
};
