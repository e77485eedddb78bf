// SPDX-License-Identifier: Apache-2.0
// Finds out with dry-run writes whether an admission backend acts on slices.
import type { EndpointSlice } from '../../apis/core.ts';
import { ANNOTATION_PROBE, LABEL_STRATEGY, STRATEGIES } from '../../apis/names.ts';
import { ENDPOINT_SLICES } from '../../apis/resources.ts';
import type { Carrier } from '../../hints/policy/index.ts';
import { ApiError, isNotFound } from '../../kubernetes/errors.ts';
import type { Client } from '../../kubernetes/types.ts';
import type { Logger } from '../../telemetry/types.ts';

export interface ProbeOptions {
  client: Pick<Client, 'patch'>;
  /** Slices in namespaces that are served; the first that is still there is written to. */
  subjects(): readonly EndpointSlice[];
  logger: Logger;
}

/** A hint that no backend would keep: the endpoint is in another zone. */
const WRONG = 'probe-wrong';
const ZONE = 'probe-zone';

/** The type of a slice cannot be changed; one that is not known is found out by trying. */
const ADDRESSES: Readonly<Record<string, string>> = { IPv4: '192.0.2.1', IPv6: '2001:db8::1', FQDN: 'probe.example' };
const MAX_SUBJECTS = 3;

const patchOf = (carrier: Carrier, strategy: string, address: string): object => ({
  metadata: { labels: { [LABEL_STRATEGY]: strategy }, annotations: { [ANNOTATION_PROBE]: carrier } },
  endpoints: [
    { addresses: [address], zone: ZONE, nodeName: 'probe', hints: { forZones: [{ name: WRONG }] }, conditions: {} },
  ],
});

const actedOn = ({ endpoints }: EndpointSlice): boolean =>
  endpoints?.[0] !== undefined && !(endpoints[0].hints?.forZones ?? []).some(({ name }) => name === WRONG);

const isInvalid = (error: unknown): boolean => error instanceof ApiError && error.status === 422;

/** Whether the backend acts on this slice, for every strategy; undefined: the slice is gone. */
const probeSlice = async (
  carrier: Carrier,
  { metadata, addressType }: EndpointSlice,
  { client }: ProbeOptions,
  signal: AbortSignal,
): Promise<boolean | undefined> => {
  const ref = { namespace: metadata?.namespace ?? '', name: metadata?.name ?? '' };
  const write = (strategy: string, address: string): Promise<EndpointSlice> =>
    client.patch(ENDPOINT_SLICES, ref, 'merge', patchOf(carrier, strategy, address), { dryRun: true }, signal);
  const types = addressType === undefined ? Object.keys(ADDRESSES) : [addressType];
  for (const [index, type] of types.entries()) {
    const address = ADDRESSES[type] ?? '';
    try {
      for (const strategy of STRATEGIES) if (!actedOn(await write(strategy, address))) return false;
      return true;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      if (!isInvalid(error) || index === types.length - 1) throw error;
    }
  }
  return undefined;
};

/**
 * Whether the backend acts now, by a dry run that the other one ignores. True where no slice is served: there is
 * nothing to lose. Whatever refuses the dry run (a foreign webhook with side effects, say) counts as not yet.
 */
export const carrierActs = async (carrier: Carrier, options: ProbeOptions, signal: AbortSignal): Promise<boolean> => {
  try {
    for (const subject of options.subjects().slice(0, MAX_SUBJECTS)) {
      const acts = await probeSlice(carrier, subject, options, signal);
      if (acts !== undefined) return acts;
    }
    return true;
  } catch (error) {
    if (signal.aborted || !(error instanceof ApiError)) throw error;
    options.logger.warn('cannot probe the admission backend', { carrier, error });
    return false;
  }
};
