// Written by `make generate`; do not edit.

export type Allocation = {
    readonly kind: 'allocated';
    readonly zones: ReadonlyMap<string, ZoneAllocation>;
} | RefusedAllocation;
export interface CiliumOptions {
    readonly serviceTopology?: boolean;
    readonly ciliumVersion?: RouterVersion;
}
export interface ControllerEvent {
    readonly type: 'Normal' | 'Warning';
    readonly reason: 'TopologyAwareHintsEnabled' | 'TopologyAwareHintsDisabled';
    readonly message: string;
}
export type Distribution = 'same-zone' | 'same-node';
export declare const EVENT_SOURCE = "endpoint-slice-controller";
export interface EndpointConditions {
    ready: boolean;
    serving: boolean;
    terminating: boolean;
}
export interface Explained {
    readonly reason: Reason;
    readonly message: string;
}
export declare const FEATURE_GATES: readonly FeatureGate[];
export type FeatureGate = keyof typeof GATES;
export type FeatureGates = Readonly<Partial<Record<FeatureGate, boolean>>>;
export type HintMode = 'none' | 'proportional' | Distribution;
export interface Lending {
    readonly give: ReadonlyMap<string, number>;
    readonly receive: ReadonlyMap<string, number>;
}
export declare const MISSES_LATE_ZONE: readonly [34, 36];
export type MergeEndpoints = (slices: readonly EndpointSlice[], options: MergeOptions) => readonly ProxyEndpoint[];
export interface MergeOptions {
    readonly port: string;
    readonly family: string;
    readonly duplicates: {
        readonly prefer: 'local';
        readonly nodeName: string;
    } | {
        readonly prefer: 'running';
    };
    readonly drained?: boolean | undefined;
}
export type Occurrence = RefusedAllocation | {
    readonly reason: 'ProportionalHints' | 'EndpointWithoutZone' | 'AnnotationRemoved';
};
export interface PodState {
    readonly ready: boolean;
    readonly deleting: boolean;
    readonly publishNotReady: boolean;
}
export type Proportional = {
    readonly kind: 'hinted';
    readonly plan: SlicePlan;
    readonly counts: ReadonlyMap<string, number>;
} | {
    readonly kind: 'refused';
    readonly reason: 'EndpointWithoutZone';
};
export type Proxy = {
    readonly kind: 'kube-proxy';
} | ({
    readonly kind: 'cilium';
} & CiliumOptions) | {
    readonly kind: 'linkerd';
    readonly endpointSlices?: boolean;
} | ({
    readonly kind: 'ruled';
} & RuledProxy) | {
    readonly kind: 'unknown';
    readonly name: string;
};
export interface ProxyEndpoint {
    readonly key: string;
    readonly address: string;
    readonly port: number;
    readonly zone: string;
    readonly nodeName: string;
    readonly ready: boolean;
    readonly serving: boolean;
    readonly terminating: boolean;
    readonly zoneHints: ReadonlySet<string>;
    readonly nodeHints: ReadonlySet<string>;
}
export declare const REASONS: {
    readonly ProportionalHints: Rule;
    readonly AnnotationWins: Rule;
    readonly NotManaged: Rule;
    readonly SameZoneRequested: Rule;
    readonly SameNodeRequested: Rule;
    readonly NotRequested: Rule;
    readonly AnnotationNotRecognized: Rule;
    readonly AnnotationKeyNotRead: Rule;
    readonly HintsControllerGateOff: Rule;
    readonly TrafficDistributionNotRecognized: Rule;
    readonly InsufficientNodeInformation: Rule;
    readonly NodesInOneZone: Rule;
    readonly TooFewEndpoints: Rule;
    readonly OverloadThreshold: Rule;
    readonly EndpointWithoutZone: Rule;
    readonly AnnotationRemoved: Rule;
    readonly SameNodeHints: Rule;
    readonly SameZoneHints: Rule;
    readonly NoHints: Rule;
    readonly EndpointWithoutHint: Rule;
    readonly UnusedWithoutHint: Rule;
    readonly ZoneNotHinted: Rule;
    readonly NodeNotHinted: Rule;
    readonly ClientNodeWithoutZone: Rule;
    readonly ProxyOfAnotherNode: Rule;
    readonly HintsGateOff: Rule;
    readonly ProxyNeedsAnnotation: Rule;
    readonly InternalTrafficPolicyLocal: Rule;
    readonly NoLocalEndpoints: Rule;
    readonly TerminatingEndpoints: Rule;
    readonly NoReadyEndpoints: Rule;
    readonly NoEndpoints: Rule;
    readonly NotProxied: Rule;
    readonly HintsIgnored: Rule;
    readonly RouterNotOptedIn: Rule;
    readonly NoBackendForZone: Rule;
    readonly UnreadyForZone: Rule;
    readonly TerminatingForZone: Rule;
    readonly RouterUnknown: Rule;
    readonly CiliumServiceTopologyOff: Rule;
    readonly CiliumNotOptedIn: Rule;
    readonly CiliumExternalTrafficPolicyLocal: Rule;
    readonly LinkerdSlicesOff: Rule;
};
export type Reason = keyof typeof REASONS;
export type RefusedAllocation = {
    readonly kind: 'refused';
    readonly reason: 'InsufficientNodeInformation';
} | {
    readonly kind: 'refused';
    readonly reason: 'NodesInOneZone' | 'TooFewEndpoints' | 'OverloadThreshold';
    readonly endpoints: number;
    readonly zones: number;
};
export interface Route extends Explained {
    readonly node: string;
    readonly zone: string;
    readonly port: string;
    readonly mode: TopologyMode;
    readonly cluster: readonly ProxyEndpoint[] | null;
    readonly local: readonly ProxyEndpoint[] | null;
    readonly reachable: readonly ProxyEndpoint[];
    readonly used: readonly ProxyEndpoint[];
}
export interface RouteInput {
    readonly node: Node;
    readonly service: Service;
    readonly slices: readonly EndpointSlice[];
    readonly version: KubernetesVersion;
    readonly gates?: FeatureGates;
    readonly self?: {
        readonly node: Node;
        readonly why: string;
    };
    readonly port?: string;
    readonly family?: string;
    readonly merge?: MergeEndpoints;
}
export interface SlicePlan {
    readonly create: readonly EndpointSlice[];
    readonly update: readonly EndpointSlice[];
    readonly unchanged: readonly EndpointSlice[];
}
export interface StoredHints extends SyncResult {
    readonly family: string;
    readonly slices: readonly EndpointSlice[];
    readonly shares: ZoneShares;
}
export interface StoredHintsInput extends Pick<SyncInput, 'service' | 'version' | 'gates'> {
    readonly slices: readonly EndpointSlice[];
    readonly nodes: readonly Node[];
    readonly shares?: ZoneShares;
}
export interface SyncInput {
    readonly service: Service;
    readonly plan: SlicePlan;
    readonly family: string;
    readonly shares: ZoneShares;
    readonly version: KubernetesVersion;
    readonly gates?: FeatureGates;
    readonly wasHinted?: boolean;
}
export interface SyncResult extends Explained {
    readonly mode: HintMode;
    readonly plan: SlicePlan;
    readonly events: readonly ControllerEvent[];
    readonly zones?: ReadonlyMap<string, ZoneAllocation>;
    readonly hinted: boolean;
}
export type TopologyMode = 'PreferSameNode' | 'PreferSameZone' | '';
export interface Traffic {
    readonly matrix: ReadonlyMap<string, ReadonlyMap<string, number>>;
    readonly endpoints: ReadonlyMap<string, number>;
    readonly lost: number;
}
export interface TrafficInput {
    readonly nodes: readonly Node[];
    readonly endpointsFor: (node: Node) => readonly Pick<ProxyEndpoint, 'key' | 'zone'>[];
    readonly weights?: Readonly<Record<string, number>>;
    readonly countOf?: (node: Node) => number;
}
export type UnknownSharesCause = 'NodeWithoutZone' | 'NodeWithoutCpu' | 'FewerThanTwoZones';
export interface Wish extends Explained {
    readonly mode: HintMode;
    readonly source: 'topology-mode' | 'trafficDistribution' | 'none';
    readonly value: string;
    readonly understood: boolean;
}
export interface ZoneAllocation {
    readonly minimum: number;
    readonly desired: number;
    readonly maximum: number;
}
export type ZoneRatios = ReadonlyMap<string, number>;
export type ZoneShares = {
    readonly kind: 'known';
    readonly ratios: ZoneRatios;
    readonly milliCpu: ReadonlyMap<string, number>;
} | {
    readonly kind: 'unknown';
    readonly cause: UnknownSharesCause;
    readonly nodes: readonly string[];
    readonly message: string;
};
export declare const allocate: (ratios: ZoneRatios | undefined, endpoints: number) => Allocation;
export declare const annotationAdmitsHints: (service: Service, version: KubernetesVersion) => boolean;
export declare const controllerEvent: (occurrence: Occurrence, family: string) => ControllerEvent;
export declare const distributionOf: (value: string | undefined, version: KubernetesVersion, gates?: FeatureGates) => Distribution | undefined;
export declare const endpointConditions: ({ ready, deleting, publishNotReady }: PodState) => EndpointConditions;
export declare const eventText: (occurrence: Occurrence) => string;
export declare const explained: (reason: Reason, facts: Readonly<Record<string, string | number>>) => Explained;
export declare const hintByDistribution: (plan: SlicePlan, mode: Distribution, version: KubernetesVersion) => SlicePlan;
export declare const hintProportionally: (plan: SlicePlan, zones: ReadonlyMap<string, ZoneAllocation>) => Proportional;
export declare const inZoneShare: ({ matrix }: Traffic) => number;
export declare const isControlPlane: ({ metadata }: Node) => boolean;
export declare const isControllerSlice: ({ metadata }: EndpointSlice) => boolean;
export declare const isDrained: ({ metadata }: EndpointSlice) => boolean;
export declare const isEnabled: (gate: FeatureGate, version: KubernetesVersion, gates?: FeatureGates) => boolean;
export declare const isOff: (value: string) => boolean;
export declare const isOverloaded: (hinted: ReadonlyMap<string, number>, ratios: ZoneRatios | undefined) => boolean;
export declare const isReadyToController: ({ conditions }: Endpoint) => boolean;
export declare const mergeEndpoints: MergeEndpoints;
export declare const planLending: (zones: ReadonlyMap<string, Pick<ZoneAllocation, 'desired'>>, counts: ReadonlyMap<string, number>) => Lending;
export declare const routeFor: (input: RouteInput, proxy?: Proxy) => Route;
export declare const routesFor: (input: RouteInput, proxy?: Proxy) => Route[];
export declare const splitByValidity: (slices: readonly EndpointSlice[], zones: ReadonlyMap<string, ZoneAllocation>) => {
    valid: EndpointSlice[];
    invalid: EndpointSlice[];
    counts: Map<string, number>;
};
export declare const storedHints: (input: StoredHintsInput) => StoredHints[];
export declare const stripHints: ({ create, update, unchanged }: SlicePlan) => SlicePlan;
export declare const syncHints: (input: SyncInput) => SyncResult;
export declare const topologyAnnotation: ({ metadata }: Service, version: KubernetesVersion) => string | undefined;
export declare const trafficOf: (input: TrafficInput) => Traffic;
export declare const wishOf: (service: Service, version: KubernetesVersion, gates?: FeatureGates) => Wish;
export declare const worstOverload: ({ endpoints }: Traffic, endpointCount: number) => number;
export declare const zoneShares: (nodes: readonly Node[]) => ZoneShares;
