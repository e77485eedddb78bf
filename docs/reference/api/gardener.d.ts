// Written by `make generate`; do not edit.

export declare const CATALOGUE: readonly CatalogueEntry[];
export interface CatalogueEntry {
    readonly service: string;
    readonly scope: Scope;
    readonly source: {
        readonly kind: 'Service' | 'Etcd';
        readonly name: string;
    };
    readonly condition: 'none' | 'notLayerSeven';
    readonly mutableAtAdmission: boolean;
}
export interface ConfiguredSelection {
    readonly selection: Selection;
    readonly strategy?: Strategy;
}
export interface Governing {
    readonly name: string;
    readonly class: ExtensionClass;
    readonly reading: RoutingConfigReading;
}
export interface LayerSevenDecision {
    readonly active: boolean;
    readonly source: 'mtlsService' | 'shootAnnotation' | 'featureGate' | 'gardenerVersion' | 'configuration' | 'undecidable';
    readonly message: string;
}
export interface LayerSevenEvidence {
    readonly serviceName: string;
    readonly mtlsServicePresent: boolean;
    readonly shootAnnotations?: Readonly<StringMap>;
    readonly featureGate?: boolean;
    readonly gardenerVersion?: string;
    readonly configured?: boolean;
}
export declare const NOT_TOPOLOGY_AWARE: Readonly<Record<Scope, readonly string[]>>;
export type NamespaceClass = {
    readonly kind: 'shoot';
    readonly zones: readonly string[];
    readonly failureToleranceType: string | undefined;
} | {
    readonly kind: 'selfHosted';
} | {
    readonly kind: 'garden';
    readonly zones: readonly string[];
} | {
    readonly kind: 'extension';
    readonly zones: readonly string[];
} | {
    readonly kind: 'other';
};
export interface ObjectRoutingInput {
    readonly decision: RoutingDecision;
    readonly selection: Selection;
    readonly object: KubernetesObject;
    readonly layerSeven?: LayerSevenDecision;
}
export interface ReadExtension extends Extension {
    reading?: RoutingConfigReading;
}
export interface Refusal {
    readonly kind: 'refused';
    readonly reason: RefusalReason;
    readonly message: string;
    readonly field?: string;
    readonly violations?: readonly {
        readonly field: string;
        readonly detail: string;
    }[];
}
export type RefusalReason = 'SettingDisabled' | 'SingleZone' | 'DuplicateZones' | 'NotHighlyAvailable' | 'FailureToleranceNotZone' | 'LayerSevenLoadBalancing' | 'SelfHostedShoot' | 'NotInCatalogue' | 'NamespaceNotOwned' | 'WrittenByDruid' | 'Excluded' | 'SourceMissing' | 'ShootBeingDeleted' | 'ShootMigrating' | 'ShootIgnored' | 'ShootHibernated' | 'ShootFailed' | 'VersionUnknown' | 'ConflictingMode' | 'RouterDropsTraffic' | 'SwitchedOff' | 'ConfigurationInvalid';
export type RoutingDecision = {
    readonly kind: 'enabled';
} | Refusal;
export type Scope = 'shoot' | 'garden';
export type Selection = {
    readonly kind: 'catalogue';
    readonly entry: CatalogueEntry;
} | {
    readonly kind: 'labelled';
} | {
    readonly kind: 'writtenByDruid';
} | {
    readonly kind: 'excluded';
} | {
    readonly kind: 'configured' | 'excludedBy';
    readonly extension: string;
    readonly field: string;
} | {
    readonly kind: 'none';
};
export interface ShootRoutingInput {
    readonly seed: Pick<Seed, 'metadata' | 'spec'> | null | undefined;
    readonly shoot: Shoot | null | undefined;
}
export type ZoneAssessment = {
    readonly kind: 'multi';
    readonly zones: readonly string[];
} | {
    readonly kind: 'single';
    readonly reason: 'SingleZone' | 'DuplicateZones';
    readonly zones: readonly string[];
};
export declare const assessReading: (reading: RoutingConfigReading, extensionClass: ExtensionClass) => RoutingConfigReading;
export declare const assessZones: (zones: readonly string[] | null | undefined) => ZoneAssessment;
export declare const catalogueEntriesOf: (scope: Scope) => readonly CatalogueEntry[];
export declare const classifyNamespace: ({ metadata }: Namespace) => NamespaceClass;
export declare const configuredEtcdSelection: (selection: Selection, object: KubernetesObject, governing: Governing | undefined) => Selection;
export declare const configuredSelection: (selection: Selection, object: KubernetesObject, governing: Governing | undefined) => ConfiguredSelection;
export declare const controlPlaneNamespace: (shoot: Pick<Shoot, 'spec' | 'status'>) => string | undefined;
export declare const decideClusterRouting: (zones: readonly string[] | undefined) => RoutingDecision;
export declare const decideGardenRouting: (garden: Pick<Garden, 'metadata' | 'spec'> | null | undefined) => RoutingDecision;
export declare const decideLayerSeven: (evidence: LayerSevenEvidence) => LayerSevenDecision;
export declare const decideObjectRouting: (input: ObjectRoutingInput) => RoutingDecision;
export declare const decideSeedExtensionRouting: (seed: ShootRoutingInput['seed']) => RoutingDecision;
export declare const decideShootRouting: ({ seed, shoot }: ShootRoutingInput) => RoutingDecision;
export declare const describeProblems: (name: string, problems: readonly RoutingConfigProblem[]) => string;
export declare const distinctZones: (zones: readonly string[] | null | undefined) => readonly string[];
export declare const entryOfEtcd: (scope: Scope, name: string) => CatalogueEntry | undefined;
export declare const entryOfService: (scope: Scope, name: string) => CatalogueEntry | undefined;
export declare const extensionClassOf: ({ spec }: Pick<Extension, 'spec'>) => ExtensionClass | undefined;
export declare const failureToleranceType: (shoot: Maybe<Pick<Shoot, 'spec'>>) => string | undefined;
export declare const gardenTopologyAwareRoutingEnabled: (garden: Pick<Garden, 'spec'> | null | undefined) => boolean;
export declare const governingExtension: (extensions: readonly ReadExtension[], wanted: ExtensionClass) => Governing | undefined;
export declare const heldByConfiguration: (decision: RoutingDecision, governing: Governing | undefined) => RoutingDecision;
export declare const isGardenHighAvailabilityEnabled: (garden: Maybe<Pick<Garden, 'spec'>>) => boolean;
export declare const isHighAvailabilityConfigured: (shoot: Maybe<Pick<Shoot, 'spec'>>) => boolean;
export declare const isIstioTlsTerminationDisabled: (annotations: Readonly<StringMap> | undefined) => boolean;
export declare const isMultiZonalShootControlPlane: (shoot: Maybe<Pick<Shoot, 'spec'>>) => boolean;
export declare const isResponsible: (extension: Extension, classes: readonly ExtensionClass[]) => boolean;
export declare const isSelfHostedShoot: (shoot: Maybe<Pick<Shoot, 'spec'>>) => boolean;
export declare const isTopologyAwareRoutingEnabled: (settings: TopologyAwareRoutingSettings | null | undefined) => boolean;
export declare const isTopologyAwareRoutingForShootControlPlaneEnabled: (seed: Maybe<Pick<Seed, 'spec'>>, shoot: Maybe<Pick<Shoot, 'spec'>>) => boolean;
export declare const mtlsServiceName: (serviceName: string) => string;
export declare const seedTopologyAwareRoutingEnabled: (seed: Pick<Seed, 'spec'> | null | undefined) => boolean;
export declare const selectEtcd: (object: KubernetesObject, scope: Scope) => Selection;
export declare const selectService: (object: KubernetesObject, scope: Scope | undefined) => Selection;
