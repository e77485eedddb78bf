// What a diagnosis looks at: the objects of a cluster, or of files, at one moment, reduced to the fields that matter.
import type { LabelSelector } from '../apis/admission.ts';
import type { EndpointSlice, Node, Service } from '../apis/core.ts';
import type { FlowPolicyCondition, FlowPolicyStatus, FlowPolicyZoneStatus } from '../apis/flow-policy.ts';
import type { StringMap } from '../apis/meta.ts';
import type { KubernetesVersion } from '../routing/types.ts';
import type { Measured } from '../traffic/measured.ts';
import type { EntryObject } from './bypasses/clients.ts';
import type { RouterObject } from './routers/types.ts';

/** Objects of one kind: all there are, or why they could not be seen. */
export type Collection<T> =
  { readonly kind: 'known'; readonly items: readonly T[] } | { readonly kind: 'unknown'; readonly why: string };

/** A Pod as far as it shows where clients and endpoints run. */
export interface PodSummary {
  readonly namespace: string;
  readonly name: string;
  readonly labels: StringMap;
  /** Empty: not scheduled. */
  readonly nodeName: string;
  readonly phase: string;
  readonly ready: boolean;
  /** Sum of its containers' CPU requests in millicores; undefined where one has none. */
  readonly requestMilliCpu?: number;
  /** Whose sidecar it carries: `istio`, `linkerd`, `kuma`, `consul`; undefined: none. */
  readonly mesh?: string;
}

/** One of `topologySpreadConstraints`. */
export interface SpreadConstraint {
  readonly topologyKey: string;
  readonly whenUnsatisfiable: string;
  readonly maxSkew: number;
  /** Its selector matches the Pods that it stands on. */
  readonly selectsOwn: boolean;
}

/** Of a Pod; an empty key with Exists tolerates everything. */
export interface Toleration {
  readonly key: string;
  readonly operator: string;
  readonly value: string;
  readonly effect: string;
}

/** A Deployment, StatefulSet or ReplicaSet: who decides where Pods run and how many there are. */
export interface Workload {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly replicas: number;
  /** Labels of its Pods. */
  readonly podLabels: StringMap;
  readonly spread: readonly SpreadConstraint[];
  /** Zones that a nodeSelector or a required node affinity allows; undefined: any. */
  readonly allowedZones?: readonly string[];
  /** A Pod anti-affinity by zone. */
  readonly zoneAntiAffinity: boolean;
  /** Taints that its Pods tolerate. */
  readonly tolerations?: readonly Toleration[];
  /** Replicas of the present template; undefined: all, or not known. */
  readonly updatedReplicas?: number;
}

/** A HorizontalPodAutoscaler, VerticalPodAutoscaler or KEDA ScaledObject. */
export interface Autoscaler {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly targetKind: string;
  readonly targetName: string;
  /** Most replicas; undefined where it does not change their number. */
  readonly maxReplicas?: number;
  /** It only recommends. */
  readonly off: boolean;
}

/** One webhook of a MutatingWebhookConfiguration. */
export interface WebhookSummary {
  readonly configuration: string;
  readonly name: string;
  /** Service that answers; undefined for a URL. */
  readonly service?: { readonly namespace: string; readonly name: string };
  /** Serves EndpointSlices on create and update. */
  readonly slices: boolean;
  readonly objectSelector: LabelSelector;
  readonly namespaceSelector: LabelSelector;
  readonly failurePolicy: string;
  /** base64 of PEM. */
  readonly caBundle?: string;
  /** End of the validity of the certificate that is valid longest, milliseconds since the epoch; undefined: no certificate could be read. */
  readonly caNotAfter?: number;
}

/** A ZoneEvacuation. */
export interface EvacuationSummary {
  readonly name: string;
  readonly zone: string;
  /** When it ends, Unix milliseconds; undefined where the object does not say. */
  readonly until: number | undefined;
  /** Empty where none is given. */
  readonly reason: string;
  /** Where its status says it stands; empty without a status. */
  readonly phase: string;
  /** Of its status, in its words: `12 moved, 0 pending, 2 left`; empty without. */
  readonly services: string;
}

/** An event about a Service. */
export interface EventSummary {
  readonly namespace: string;
  readonly service: string;
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  /** RFC 3339; empty if not known. */
  readonly lastSeen: string;
}

/** What the flow controller reports of a Service's load: a FlowPolicy, named as the Service. */
export interface FlowPolicySummary {
  readonly namespace: string;
  readonly name: string;
  /** Cores by zone of the clients; undefined where none was observed, or not in cores. */
  readonly demand?: Readonly<Record<string, number>>;
  /** Where the capacity of a Pod comes from, and cores for `Value`. */
  readonly capacityFrom: string;
  readonly capacity?: number;
  /** Fraction of the capacity. */
  readonly targetUtilization?: number;
  /** What the loop says of itself. */
  readonly loop?: FlowLoopSummary;
}

/** What a FlowPolicy says: how the loop is to run, and how it does; percentages and texts as they stand there. */
export interface FlowLoopSummary extends Pick<
  FlowPolicyStatus,
  'source' | 'demand' | 'inZonePercent' | 'maxUtilizationPercent'
> {
  readonly mode: 'Enforce' | 'Observe';
  readonly targetPercent: number;
  /** Largest share of the demand that could stay in its zone, at the target. */
  readonly boundPercent?: number;
  readonly zones: readonly FlowPolicyZoneStatus[];
  /** The plan is to write no hints; undefined: there is no plan. */
  readonly spread?: boolean;
  readonly conditions: readonly Pick<FlowPolicyCondition, 'type' | 'status' | 'reason' | 'message'>[];
  readonly lastChange?: { readonly time: string; readonly reason: string; readonly message: string };
}

export interface ClusterSnapshot {
  /** The API server's; undefined where only files are known. */
  readonly version?: KubernetesVersion;
  /** Only files that hold it have measured traffic. */
  readonly traffic?: Measured;
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
  readonly flowPolicies: Collection<FlowPolicySummary>;
  /** ZoneEvacuations that have not been deleted. */
  readonly evacuations: Collection<EvacuationSummary>;
}

export type CollectionName = Exclude<keyof ClusterSnapshot, 'version' | 'traffic'>;

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

/** All of them. */
export const COLLECTIONS: readonly CollectionName[] = [...OBJECTS, ...EVIDENCE, 'flowPolicies', 'evacuations'];

/** The items, or none where they could not be seen. */
export const itemsOf = <T>(collection: Collection<T>): readonly T[] =>
  collection.kind === 'known' ? collection.items : [];

export const known = <T>(items: readonly T[]): Collection<T> => ({ kind: 'known', items });
export const unknown = (why: string): Collection<never> => ({ kind: 'unknown', why });
