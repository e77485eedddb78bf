// SPDX-License-Identifier: Apache-2.0
// Gathers objects of any kind, one by one, into a snapshot; of each it keeps what a diagnosis needs.
import { GROUP } from '../../apis/names.ts';
import type { KubernetesVersion } from '../../routing/types.ts';
import type { ClusterSnapshot, CollectionName } from '../snapshot.ts';
import { known, unknown } from '../snapshot.ts';
import { ciliumOf, eventOf, policyOf, webhooksOf } from './admission.ts';
import { nodeOf, serviceOf } from './core.ts';
import { flowPolicyOf } from './flow-policy.ts';
import { FieldError, isFields, requiredTextAt, textAt } from './fields.ts';
import type { Fields } from './fields.ts';
import { metadataOf } from './metadata.ts';
import { createSliceReader } from './slices.ts';
import { autoscalerOf, podOf, workloadOf } from './workloads.ts';

export interface Collector {
  /**
   * Takes an object with apiVersion and kind; kinds that no diagnosis needs are passed over. A later object of the same
   * kind and name replaces an earlier one.
   *
   * @throws FieldError where a field is not what the API has there.
   */
  add(object: unknown): void;
  /** Items taken so far, of any kind. */
  readonly count: number;
  /** Collections of which at least one object was taken. */
  readonly seen: ReadonlySet<CollectionName>;
  /** `missing`: why a collection cannot be told; those not named are complete. */
  snapshot(missing: ReadonlyMap<CollectionName, string>, version?: KubernetesVersion): ClusterSnapshot;
}

type Reader = (object: Fields) => readonly unknown[];

const one = (value: unknown): readonly unknown[] => (value === undefined ? [] : [value]);

/** Groups by which the same kind name of somebody else is told apart. */
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  Service: [''],
  Node: [''],
  Pod: [''],
  Event: ['', 'events.k8s.io'],
  FlowPolicy: [GROUP],
};

const createReaders = (): Readonly<Record<string, readonly [CollectionName, Reader]>> => {
  const slice = createSliceReader();
  const workload = ['workloads', (object: Fields) => [workloadOf(object)]] as const;
  const autoscaler = ['autoscalers', (object: Fields) => [autoscalerOf(object)]] as const;
  return {
    Node: ['nodes', (object) => [nodeOf(object)]],
    Service: ['services', (object) => [serviceOf(object)]],
    EndpointSlice: ['slices', (object) => [slice(object)]],
    Pod: ['pods', (object) => [podOf(object)]],
    Deployment: workload,
    StatefulSet: workload,
    ReplicaSet: workload,
    HorizontalPodAutoscaler: autoscaler,
    VerticalPodAutoscaler: autoscaler,
    ScaledObject: autoscaler,
    MutatingWebhookConfiguration: ['webhooks', webhooksOf],
    MutatingAdmissionPolicy: ['policies', (object) => [policyOf(object)]],
    Event: ['events', (object) => one(eventOf(object))],
    ConfigMap: ['cilium', (object) => one(ciliumOf(object))],
    FlowPolicy: ['flowPolicies', (object) => [flowPolicyOf(object)]],
  };
};

const groupOf = (apiVersion: string): string => (apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : '');

export const createCollector = (): Collector => {
  const readers = createReaders();
  const taken = new Map<CollectionName, Map<string, readonly unknown[]>>();
  const seen = new Set<CollectionName>();
  let count = 0;
  return {
    add(object) {
      if (!isFields(object)) throw new FieldError([], 'a Kubernetes object (apiVersion, kind, metadata)', object);
      const kind = requiredTextAt(object, 'kind');
      const group = groupOf(textAt(object, 'apiVersion') ?? '');
      count += 1;
      const reader = Object.hasOwn(readers, kind) ? readers[kind] : undefined;
      if (reader === undefined || GROUPS[kind]?.includes(group) === false) return;
      const [name, read] = reader;
      const items = read(object);
      const { namespace = '', name: own } = metadataOf(object, kind !== 'Node');
      const collection = taken.get(name) ?? new Map<string, readonly unknown[]>();
      collection.set(`${kind}/${namespace}/${own}`, items);
      taken.set(name, collection);
      if (items.length > 0 || name !== 'cilium') seen.add(name);
    },
    get count() {
      return count;
    },
    seen,
    snapshot(missing, version) {
      const of = (name: CollectionName) => {
        const why = missing.get(name);
        return why === undefined ? known([...(taken.get(name)?.values() ?? [])].flat()) : unknown(why);
      };
      // Each reader's type is that of its collection: the table above is the one place that pairs them.
      const collections = Object.fromEntries(COLLECTIONS.map((name) => [name, of(name)]));
      return { ...(version === undefined ? {} : { version }), ...collections } as unknown as ClusterSnapshot;
    },
  };
};

export const COLLECTIONS: readonly CollectionName[] = [
  'nodes',
  'services',
  'slices',
  'pods',
  'workloads',
  'autoscalers',
  'webhooks',
  'policies',
  'events',
  'cilium',
  'flowPolicies',
];
