// Counts the requests of one user: by verb and resource, and how often any single object was hit.
import type { Event } from '../../../pkg/apis/core.ts';
import type { SandboxRequest } from '../../sandbox/types.ts';
import type { Traffic } from './types.ts';

const add = (counts: Map<string, number>, key: string): void => void counts.set(key, (counts.get(key) ?? 0) + 1);

const largest = (counts: ReadonlyMap<string, number>): number => Math.max(0, ...counts.values());

/** How often each object was reported about in all; a Cluster is named like its namespace. */
export const countEvents = (events: readonly Event[]): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>();
  for (const { involvedObject, count = 1 } of events) {
    const key = `${involvedObject.kind ?? ''}/${involvedObject.name ?? ''}`;
    counts.set(key, (counts.get(key) ?? 0) + count);
  }
  return counts;
};

const mostNew = (before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>): number =>
  Math.max(0, ...[...after].map(([key, count]) => count - (before.get(key) ?? 0)));

export interface TrafficInput {
  readonly requests: readonly SandboxRequest[];
  /** Whose requests count. */
  readonly user: string;
  readonly connections: number;
  readonly eventsBefore: ReadonlyMap<string, number>;
  readonly eventsAfter: ReadonlyMap<string, number>;
}

export const countTraffic = ({ requests, user, connections, eventsBefore, eventsAfter }: TrafficInput): Traffic => {
  const counts = new Map<string, number>();
  const patches = new Map<string, Map<string, number>>();
  for (const { user: sender, verb, resource, path, namespace = '', name = '' } of requests) {
    if (sender !== user) continue;
    add(counts, resource === '' ? `${verb} ${path}` : `${verb} ${resource}`);
    if (verb === 'patch' || verb === 'update') {
      const ofResource = patches.get(resource) ?? new Map<string, number>();
      patches.set(resource, ofResource);
      add(ofResource, `${namespace}/${name}`);
    }
  }
  return {
    counts: Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1))),
    mostPatchesPerObject: Object.fromEntries(
      [...patches].map(([resource, ofResource]) => [resource, largest(ofResource)]),
    ),
    mostEventsPerObject: mostNew(eventsBefore, eventsAfter),
    connections,
  };
};
