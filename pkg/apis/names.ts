// Every label, annotation, value and well-known name that objects carry and processes know each other by.

/** This project's API group; prefix of its labels and annotations. */
export const GROUP = 'topology.extensions.gardener.cloud';
/** Group of the versioned configuration files. */
export const CONFIG_GROUP = `config.${GROUP}`;

/** Service label: "true" asks for our settings, "false" excludes the Service. */
export const LABEL_MANAGED = `${GROUP}/managed`;
/** Service label (mirrored to slices): which hint strategy admission applies. */
export const LABEL_STRATEGY = `${GROUP}/strategy`;
/** Namespace label set by the settings reconciler where it manages Services: scope of the settings webhook. */
export const LABEL_ROUTING = `${GROUP}/routing`;
/**
 * Namespace label set by the settings reconciler, value "true": the client Services of the namespace's Etcds route by zone. Nothing
 * can be written on those Services, so admission finds them and their slices by namespace and name.
 */
export const LABEL_ETCD_CLIENTS = `${GROUP}/etcd-clients`;
/** Client Services that etcd-druid makes for the Etcds of Gardener's control planes (catalogue of pkg/gardener). */
export const ETCD_CLIENT_SERVICES: readonly string[] = [
  'etcd-main-client',
  'etcd-events-client',
  'virtual-garden-etcd-main-client',
  'virtual-garden-etcd-events-client',
];
/** Label of everything that etcd-druid makes, and its value; its `etcdcomponents` webhook refuses updates by others. */
export const LABEL_MANAGED_BY = 'app.kubernetes.io/managed-by';
export const MANAGED_BY_DRUID = 'etcd-druid';
/** Annotation: what the settings reconciler set on this object, so that it reverts exactly that. */
export const ANNOTATION_APPLIED = `${GROUP}/applied`;
/** Slice annotation that a touch after a webhook outage writes: without a change there would be no write to admit. */
export const ANNOTATION_TOUCHED = `${GROUP}/touched-at`;
/** Slice annotation written by the flow controller; value `spread` means: no hints on purpose. */
export const ANNOTATION_PLAN = `${GROUP}/plan`;
export const PLAN_SPREAD = 'spread';
/** Its other value: the hints of this slice are the flow controller's, and go with it. */
export const PLAN_ZONES = 'zones';

/** Slice annotation while a zone is evacuated: who leaves, which zones the others cover, and the hints as they would be without. */
export const ANNOTATION_EVACUATED = `${GROUP}/evacuated`;
/** Hint of endpoints that leave: the name of a zone, and of a node, that there is none of. */
export const NOWHERE = `evacuated.${GROUP}`;
/** Before the name of a zone or Node: that of none, in hints of an endpoint that serves there once it is ready. */
export const NOT_READY = 'not-ready.';
/** Whether a hint is for no client at all: of an endpoint that leaves its zone, or that is not ready. No Node is in such a zone. */
export const isNowhere = (name: string): boolean => name === NOWHERE || name.startsWith(NOT_READY);

/**
 * Annotation of the namespace `kube-system`, value `off`: no component writes hints, or settings that ask for some. `kubectl topology off` sets it
 * and `on` removes it.
 */
export const ANNOTATION_HINTS = `${GROUP}/hints`;
export const HINTS_OFF = 'off';
/** Every cluster has it, and it outlives every installation. */
export const SWITCH_NAMESPACE = 'kube-system';

/** Annotation of the webhook configuration: what we wrote there last, so that everything else in it is another writer's. */
export const ANNOTATION_REGISTERED = `${GROUP}/registered`;

/** Names another proxy than the cluster's, which ignore the Service and its slices. */
export const LABEL_PROXY_NAME = 'service.kubernetes.io/service-proxy-name';

/** Who writes a slice. */
export const LABEL_SLICE_MANAGED_BY = 'endpointslice.kubernetes.io/managed-by';
/** By that label, the one that writes the slices of Services with a selector. */
export const SLICE_CONTROLLER = 'endpointslice-controller.k8s.io';

/** Gardener's label; means same-zone. Mirrored from the Service to its slices. */
export const LABEL_CONSIDER = 'endpoint-slice-hints.resources.gardener.cloud/consider';

/** Kubernetes < 1.27. */
export const ANNOTATION_TOPOLOGY_AWARE_HINTS = 'service.kubernetes.io/topology-aware-hints';
/** Kubernetes >= 1.27; a domain-prefixed value names a custom heuristic. */
export const ANNOTATION_TOPOLOGY_MODE = 'service.kubernetes.io/topology-mode';
/** Both, the older first. */
export const TOPOLOGY_ANNOTATIONS = [ANNOTATION_TOPOLOGY_AWARE_HINTS, ANNOTATION_TOPOLOGY_MODE] as const;

/** Annotation of everything that gardener-resource-manager applies, again and again, from a ManagedResource. */
export const ANNOTATION_ORIGIN = 'resources.gardener.cloud/origin';

/** Labels that Gardener puts on namespaces. */
export const LABEL_GARDENER_ROLE = 'gardener.cloud/role';
export const LABEL_SERVICE_NAME = 'kubernetes.io/service-name';
export const LABEL_ZONE = 'topology.kubernetes.io/zone';
export const LABEL_HOSTNAME = 'kubernetes.io/hostname';
export const LABEL_REGION = 'topology.kubernetes.io/region';
export const LABEL_NAMESPACE_NAME = 'kubernetes.io/metadata.name';

/** NodeGroup annotation: "true" lets the group's name replace a zone label that another writer set. */
export const ANNOTATION_TAKEOVER = `${GROUP}/takeover`;
/** Node annotation: the zone label that a NodeGroup gave the Node, and the one before it. */
export const ANNOTATION_GROUP_ZONE = `${GROUP}/node-group-zone`;
/** Node label that KubeEdge's own controller writes: the one group of the Node. */
export const LABEL_BELONGING_TO = 'apps.kubeedge.io/belonging-to';

/** Hint strategies that a Service may ask for. */
export const STRATEGIES = ['same-zone', 'same-node', 'proportional', 'load-aware'] as const;
export type Strategy = (typeof STRATEGIES)[number];
/** Those whose hints the flow controller plans. */
const PLANNED = ['proportional', 'load-aware'] as const satisfies readonly Strategy[];
export type PlannedStrategy = (typeof PLANNED)[number];
export const isPlannedStrategy = (strategy: string | undefined): strategy is PlannedStrategy =>
  PLANNED.some((planned) => planned === strategy);
/**
 * The strategy label's value begins so, before the strategy's name, while the flow controller only observes: it names no strategy,
 * so admission keeps no hints for it, and says which one it would be.
 */
export const OBSERVE_PREFIX = 'observe-';

/** Names of the commands, also used as Lease, ServiceAccount and field manager names. */
export const COMMANDS = {
  settingsReconciler: 'settings-reconciler',
  endpointSliceWebhook: 'endpointslice-webhook',
  flowController: 'flow-controller',
} as const;

/** The command that measures; it is on every node, and no part of the control loop. */
export const TRAFFIC_METER = 'traffic-meter';
/** Audience of tokens that are good for reading meters and for nothing else (docs/adr/0021-reading-meters.md). */
export const METER_AUDIENCE = 'topology-traffic-meter';
/** Namespace of the meters as the chart installs them, and the account there that may read them. */
export const METER_NAMESPACE = 'topology-traffic-meter';
export const METER_READER = 'traffic-reader';
/** Header of a token behind the API server's Pod proxy, which takes `Authorization` off; as Node.js spells it. */
export const METER_TOKEN_HEADER = 'x-topology-token';

/** Extension type and name of chart and image. */
export const EXTENSION_TYPE = 'topology-aware-routing';
export const EXTENSION_NAME = `gardener-extension-${EXTENSION_TYPE}`;
/** Finalizer of Extension resources, built as Gardener's library builds it: group and a suffix of the controller's own. */
export const EXTENSION_FINALIZER = `extensions.gardener.cloud/${EXTENSION_TYPE}`;
/** Extension condition: whether the Services that it is about really are routed by zone. */
export const CONDITION_EFFECTIVE = 'TopologyAwareRoutingEffective';
/** Annotation with which Gardener asks for an operation on an object: reconcile, migrate, restore, wait-for-state. */
export const ANNOTATION_OPERATION = 'gardener.cloud/operation';
/** Lease by which gardenlet sees that an extension is alive. */
export const HEARTBEAT_LEASE = 'gardener-extension-heartbeat';
/** Annotation of a Lease that several installations share: the namespace of the one that holds it. */
export const ANNOTATION_INSTALLATION = `${GROUP}/installation`;
