// SPDX-License-Identifier: Apache-2.0
// Brings the slices of one Service to what the running evacuations make of it, and remembers what became of it.
import type { EndpointSlice, Node } from '../../apis/core.ts';
import { LABEL_ZONE } from '../../apis/names.ts';
import { decideInOrder } from '../../evacuation/decide.ts';
import type { Leave, OrderedDecision } from '../../evacuation/decide.ts';
import { isLeaving } from '../../evacuation/slice.ts';
import type { Outcome } from '../../evacuation/progress.ts';
import { createRewriteGuard } from '../../kubernetes/rewrite-guard.ts';
import type { Client, Clock, Reconciler, Result } from '../../kubernetes/types.ts';
import { operationsFor, writeSlices } from './apply.ts';
import type { Next } from './apply.ts';
import type { View } from './view.ts';

export interface ServicesOptions {
  client: Pick<Client, 'patch'>;
  /** Undefined while nothing is read. */
  view(): View | undefined;
  nodes(): readonly Node[];
  /** Of the evacuations that are about this Service, oldest first. */
  leavesOf(service: string): readonly Leave[];
  clock: Clock;
  onWrite(slices: number): void;
}

export interface Services extends Reconciler {
  /** By Service, then by zone; Services that no evacuation is about are not there. */
  readonly outcomes: ReadonlyMap<string, ReadonlyMap<string, Outcome>>;
  forget(): void;
}

const DONE: Result = { kind: 'done' };
const WINDOW_MS = 60_000;
const MAX_DELAY_MS = 30_000;

/** What another writer takes away is written again at once, then less and less often. */
const delayMs = (rewrites: number): number => (rewrites <= 2 ? 0 : Math.min(MAX_DELAY_MS, 500 * 2 ** (rewrites - 2)));

/** Zones with clients: every zone that a Node has. */
export const zonesOf = (nodes: readonly Node[]): string[] =>
  [...new Set(nodes.flatMap(({ metadata }) => metadata?.labels?.[LABEL_ZONE] || []))].sort();

const inZone = (slices: readonly EndpointSlice[], zone: string) =>
  slices
    .flatMap(({ endpoints }) => endpoints ?? [])
    .filter((endpoint) => endpoint.zone === zone && endpoint.conditions?.ready !== false);

const outcomeIn = (
  zone: string,
  slices: readonly EndpointSlice[],
  { decision, refused }: OrderedDecision,
  settled: boolean,
): Outcome | undefined => {
  const endpoints = inZone(slices, zone);
  const left = refused.get(zone);
  if (left !== undefined)
    return { state: 'left', endpoints: endpoints.length, evacuated: 0, reason: left.reason, message: left.message };
  if (decision.kind !== 'moved' || endpoints.length === 0) return undefined;
  const evacuated = settled ? endpoints.filter((endpoint) => isLeaving(endpoint, decision)).length : 0;
  return { state: settled ? 'moved' : 'pending', endpoints: endpoints.length, evacuated };
};

export const createServices = (options: ServicesOptions): Services => {
  const { client, clock } = options;
  const outcomes = new Map<string, ReadonlyMap<string, Outcome>>();
  const guard = createRewriteGuard({ clock, delayMs, windowMs: WINDOW_MS, quietMs: () => WINDOW_MS });

  const remember = (key: string, leaves: readonly Leave[], ordered: OrderedDecision, settled: boolean, view: View) => {
    const slices = view.slicesOf(key);
    const found = leaves.flatMap(({ zone }): [string, Outcome][] => {
      const outcome = outcomeIn(zone, slices, ordered, settled);
      return outcome === undefined ? [] : [[zone, outcome]];
    });
    if (found.length === 0) outcomes.delete(key);
    else outcomes.set(key, new Map(found));
  };

  return {
    outcomes,
    forget: () => outcomes.clear(),
    async reconcile(key, signal) {
      const view = options.view();
      // Once it is filled, every Service is looked at.
      if (view?.ready() !== true) return DONE;
      const leaves = options.leavesOf(key);
      const slices = view.slicesOf(key);
      const ordered = decideInOrder({ slices, clientZones: zonesOf(options.nodes()), leaves });
      const { decision } = ordered;
      const next: Next = decision.kind === 'moved' ? decision : undefined;
      const { written, retryMs } = await writeSlices(slices, next, { client, slices: view.slices, guard }, signal);
      if (written > 0) options.onWrite(written);
      const settled = view.slicesOf(key).every((slice) => operationsFor(slice, next).length === 0);
      remember(key, leaves, ordered, settled, view);
      return retryMs === undefined ? DONE : { kind: 'requeue', afterMs: Math.max(1, retryMs) };
    },
  };
};
