// What the caches hold of one Service, and which Services are this controller's to plan.
import type { FlowControllerConfiguration } from '../../apis/config/flow-controller.ts';
import type { Node } from '../../apis/core.ts';
import { keyOf } from '../../apis/object.ts';
import { viewsOfEndpoints } from '../../flow/assemble/endpoints.ts';
import { clientZonesOf } from '../../flow/assemble/nodes.ts';
import type { ClientZones } from '../../flow/assemble/nodes.ts';
import type { PodCpu } from '../../flow/assemble/observation.ts';
import type { LoadQuery } from '../../metrics/types.ts';
import { matchesSelector } from '../../routing/label-selector.ts';
import { slicesOf } from './caches.ts';
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

export const createSnapshots = (
  { services, slices, pods, nodes, policies, namespaces }: FlowCaches,
  {
    namespaceSelector,
    excludedNamespaces,
  }: Pick<FlowControllerConfiguration, 'namespaceSelector' | 'excludedNamespaces'>,
): Snapshots => {
  let zones: ClientZones | undefined;
  // Asked in every turn: thousands of Nodes are not to be listed for it.
  let anyNode = false;
  nodes.onChange((...change) => {
    if (!isRelevant(...change)) return;
    zones = undefined;
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
    return {
      service,
      slices: slicesOf(slices, key),
      policy: policies.get(ref),
      zones,
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
