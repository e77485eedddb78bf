// What a diagnosis looks at: the objects of a cluster, or of files, at one moment, reduced to the fields that matter.
import type { EndpointSlice, Node, Service } from '../apis/core.ts';
import type { KubernetesVersion } from '../routing/types.ts';
import type { Measured } from '../traffic/measured.ts';
import type { EntryObject } from './project/core.ts';
import type { EvacuationSummary, FlowPolicySummary } from './project/policies.ts';
import type { Reference } from './project/references.ts';
import type { EventSummary, WebhookSummary } from './project/routers.ts';
import type { Autoscaler, ClusterRole, ClusterRoleBinding, PodSummary, Workload } from './project/workloads.ts';
import type { RouterObject } from './routers/types.ts';

export type { EntryObject } from './project/core.ts';
export type { FlowLoopSummary, FlowPolicySummary } from './project/policies.ts';
export type { WebhookSummary } from './project/routers.ts';
export type { Autoscaler, PodSummary, SpreadConstraint, Workload } from './project/workloads.ts';

/** Objects of one kind: all there are, or why they could not be seen. */
export type Collection<T> =
  | {
      readonly kind: 'known';
      readonly items: readonly T[];
      /** Why a part of it could not be read. */
      readonly without?: string;
    }
  | { readonly kind: 'unknown'; readonly why: string };

export interface ClusterSnapshot {
  /** The API server's; undefined where only files are known. */
  readonly version?: KubernetesVersion;
  /** Only files that hold it have measured traffic. */
  readonly traffic?: Measured;
  /** Only of files: objects of kinds that are not known here and name Services. */
  readonly references?: readonly Reference[];
  readonly nodes: Collection<Node>;
  readonly services: Collection<Service>;
  readonly slices: Collection<EndpointSlice>;
  readonly pods: Collection<PodSummary>;
  readonly workloads: Collection<Workload>;
  readonly autoscalers: Collection<Autoscaler>;
  readonly webhooks: Collection<WebhookSummary>;
  readonly events: Collection<EventSummary>;
  /** What shows who load-balances Services: agents, their configuration, and what steers it. */
  readonly routers: Collection<RouterObject>;
  /** What reaches Services by other ways than their proxies. */
  readonly ingresses: Collection<EntryObject>;
  /** Which workloads may watch endpoints. */
  readonly clusterRoles: Collection<ClusterRole>;
  readonly clusterRoleBindings: Collection<ClusterRoleBinding>;
  readonly flowPolicies: Collection<FlowPolicySummary>;
  /** ZoneEvacuations that have not been deleted. */
  readonly evacuations: Collection<EvacuationSummary>;
}

export type CollectionName = Exclude<keyof ClusterSnapshot, 'version' | 'traffic' | 'references'>;

/** Of Nodes, Services and slices there is no answer without. */
export const OBJECTS = ['nodes', 'services', 'slices'] as const satisfies readonly CollectionName[];

/** What an explanation goes on without, and says so. */
export const EVIDENCE = [
  'pods',
  'workloads',
  'autoscalers',
  'webhooks',
  'events',
  'routers',
  'ingresses',
] as const satisfies readonly CollectionName[];

/** What shows who watches endpoints. */
export const ROLES = ['clusterRoles', 'clusterRoleBindings'] as const satisfies readonly CollectionName[];

export const COLLECTIONS: readonly CollectionName[] = [
  ...OBJECTS,
  ...EVIDENCE,
  ...ROLES,
  'flowPolicies',
  'evacuations',
];

export const itemsOf = <T>(collection: Collection<T>): readonly T[] =>
  collection.kind === 'known' ? collection.items : [];

export const unseenOf = (snapshot: ClusterSnapshot, names: readonly CollectionName[]) =>
  names.flatMap((what) => {
    const collection = snapshot[what];
    return collection.kind === 'unknown' ? [{ what, why: collection.why }] : [];
  });

/** The same with other items; what is unknown stays so. */
export const changeItems = <T>(
  collection: Collection<T>,
  change: (items: readonly T[]) => readonly T[],
): Collection<T> => (collection.kind === 'unknown' ? collection : { ...collection, items: change(collection.items) });

export const known = <T>(items: readonly T[]): Collection<T> => ({ kind: 'known', items });
export const unknown = (why: string): Collection<never> => ({ kind: 'unknown', why });
