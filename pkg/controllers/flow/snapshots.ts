// SPDX-License-Identifier: Apache-2.0
// What the caches hold of one Service, and which Services are this controller's to plan.
import type { FlowControllerConfiguration } from '../../apis/config/flow-controller.ts';
import type { Node } from '../../apis/core.ts';
import { keyOf } from '../../apis/object.ts';
import { viewsOfEndpoints } from '../../flow/assemble/endpoints.ts';
import { clientZonesOf, countReady } from '../../flow/assemble/nodes.ts';
import type { ClientZones } from '../../flow/assemble/nodes.ts';
import type { PodCpu } from '../../flow/assemble/observation.ts';
import type { FlowSlice } from '../../flow/assemble/slice.ts';
import type { Demand } from '../../flow/types.ts';
import { byText } from '../../apis/order.ts';
import type { LoadQuery } from '../../metrics/types.ts';
import { matchesSelector } from '../../routing/label-selector.ts';
import { clientsIn, slicesOf } from './caches.ts';
import type { FlowCaches } from './caches.ts';
import type { Snapshot } from './types.ts';

export interface Snapshots {
  /** Whether Nodes are known, and the labels of namespaces where those decide what is served. */
  known(): boolean;
  /** Undefined: there is no such Service, or it is not served. */
  snapshot(key: string): Snapshot | undefined;
  /** The same for a Service in a namespace that is not served; undefined: it is served or excluded, or there is none. */
  foreign(key: string): Snapshot | undefined;
  /** Keys of all served Services. */
  services(): string[];
  /** Proxies that watch slices: one on each ready Node. */
  proxies(): number;
}

/** `namespace/name` as two. */
export const splitKey = (key: string): { namespace: string; name: string } => {
  const at = key.indexOf('/');
  return { namespace: key.slice(0, at), name: key.slice(at + 1) };
};

/** What of a Node can change a plan. */
const relevant = ({ metadata, status }: Node): string =>
  JSON.stringify([metadata?.labels, status?.conditions, status?.allocatable]);

export const isRelevant = (node: Node, previous: Node | undefined, deleted: boolean): boolean =>
  deleted || previous === undefined || relevant(node) !== relevant(previous);

/** Pods that may not be read say nothing of their CPU. */
const UNKNOWN: PodCpu = { requests: null, limits: null };

/** Ready Pods by zone behind these Services, each once. */
export const clientPodsOf = (clients: readonly (readonly FlowSlice[])[]): Demand => {
  const pods = new Map(clients.flatMap(viewsOfEndpoints).map((endpoint) => [endpoint.name, endpoint]));
  const counts = new Map<string, number>();
  for (const { zone, ready } of pods.values()) if (ready) counts.set(zone, (counts.get(zone) ?? 0) + 1);
  return Object.fromEntries([...counts].sort(([left], [right]) => byText(left, right)));
};

export const createSnapshots = (
  { services, slices, pods, nodes, policies, namespaces }: FlowCaches,
  {
    namespaceSelector,
    excludedNamespaces,
  }: Pick<FlowControllerConfiguration, 'namespaceSelector' | 'excludedNamespaces'>,
): Snapshots => {
  let zones: ClientZones | undefined;
  let proxies: number | undefined;
  // Asked in every turn: thousands of Nodes are not to be listed for it.
  let anyNode = false;
  nodes.onChange((...change) => {
    if (!isRelevant(...change)) return;
    zones = undefined;
    proxies = undefined;
    anyNode = false;
  });
  const isOurs = (namespace: string): boolean =>
    !excludedNamespaces.includes(namespace) &&
    matchesSelector(namespaceSelector, namespaces.get({ name: namespace })?.metadata?.labels ?? {});
  const snapshotIn = (key: string, ours: boolean): Snapshot | undefined => {
    const ref = splitKey(key);
    const service = isOurs(ref.namespace) === ours ? services.get(ref) : undefined;
    if (service === undefined || service.metadata?.deletionTimestamp !== undefined) return undefined;
    zones ??= clientZonesOf(nodes.list());
    const policy = policies.get(ref);
    const clients = clientsIn(policy?.spec).map((name) => slicesOf(slices, `${ref.namespace}/${name}`));
    return {
      service,
      slices: slicesOf(slices, key),
      policy,
      zones,
      clientPods: clients.length === 0 ? undefined : clientPodsOf(clients),
      podCpu: (name) => (pods.state !== 'synced' ? UNKNOWN : pods.get({ namespace: ref.namespace, name })?.cpu),
    };
  };
  const selects = Object.keys(namespaceSelector).length > 0;
  return {
    known: () => {
      anyNode ||= nodes.list().length > 0;
      return anyNode && (!selects || namespaces.state === 'synced');
    },
    snapshot: (key) => snapshotIn(key, true),
    // What is excluded may be another planner's.
    foreign: (key) => (excludedNamespaces.includes(splitKey(key).namespace) ? undefined : snapshotIn(key, false)),
    services: () =>
      services
        .list()
        .filter(({ metadata }) => isOurs(metadata?.namespace ?? ''))
        .map(keyOf),
    proxies: () => (proxies ??= countReady(nodes.list())),
  };
};

/** Whose load is asked for: the Pods of a Service that have ready endpoints. */
export const loadQueryOf = ({ service, slices }: Snapshot): LoadQuery => {
  const { metadata, spec } = service;
  const ready = viewsOfEndpoints(slices).filter((endpoint) => endpoint.ready);
  return {
    namespace: metadata?.namespace ?? '',
    service: metadata?.name ?? '',
    pods: new Set(ready.map(({ name, pod }) => (pod === '' ? name : pod))),
    ...(spec?.selector === undefined ? {} : { selector: { matchLabels: spec.selector } }),
  };
};
