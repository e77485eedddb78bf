// Decides whether a namespace is listed as a whole for all its Services, or by the selector of each.
import type { LoadQuery } from './types.ts';

export interface ListScope {
  /** The selector to list with; undefined: list the namespace, for all who ask. */
  choose(query: LoadQuery, selector: string | undefined, nowMs: number): string | undefined;
  /** How many Pods a list of the whole namespace had. */
  learn(namespace: string, pods: number, nowMs: number): void;
}

interface Asked {
  readonly pods: number;
  readonly at: number;
}

interface Namespace {
  readonly services: Map<string, Asked>;
  whole: Asked | undefined;
}

/** A Service that has not asked for so long takes no part any more; intervals are much shorter. */
const RECENT_MS = 120_000;
/** What a namespace held so long ago says nothing any more. */
const KNOWN_MS = 600_000;
/** What a request costs beside the Pods in its answer, as a number of Pods: sending, authorization, the server's own list. */
const REQUEST_COST = 50;

const prune = (services: Map<string, Asked>, nowMs: number): void => {
  for (const [service, { at }] of services) if (nowMs - at > RECENT_MS) services.delete(service);
};

const costOf = (services: ReadonlyMap<string, Asked>): number =>
  [...services.values()].reduce((sum, { pods }) => sum + pods + REQUEST_COST, 0);

export const createListScope = (): ListScope => {
  const namespaces = new Map<string, Namespace>();
  let prunedAt = 0;

  const pruneAll = (nowMs: number): void => {
    if (nowMs - prunedAt < RECENT_MS) return;
    prunedAt = nowMs;
    for (const [name, { services }] of namespaces) {
      prune(services, nowMs);
      if (services.size === 0) namespaces.delete(name);
    }
  };

  return {
    choose({ namespace, service, pods }, selector, nowMs) {
      pruneAll(nowMs);
      const known = namespaces.get(namespace) ?? { services: new Map<string, Asked>(), whole: undefined };
      namespaces.set(namespace, known);
      known.services.set(service, { pods: pods.size, at: nowMs });
      if (selector === undefined || known.services.size === 1) return selector;
      // Unknown, or once again unknown: listing it as a whole is how it gets known.
      if (known.whole === undefined || nowMs - known.whole.at > KNOWN_MS) return undefined;
      return costOf(known.services) < known.whole.pods + REQUEST_COST ? selector : undefined;
    },
    learn(namespace, pods, nowMs) {
      const known = namespaces.get(namespace);
      if (known !== undefined) known.whole = { pods, at: nowMs };
    },
  };
};
