// Written by `make generate`; do not edit.

export interface AppliedRecord extends SettingsLike {
    readonly removedAnnotations?: Readonly<StringMap>;
}
export interface ClientServiceSettings {
    labels?: StringMap;
    annotations?: StringMap;
    trafficDistribution?: string;
}
export declare const DRUID_FIELD_SUPPORT: EtcdFieldSupport;
export interface EtcdFieldSupport {
    readonly trafficDistribution: readonly string[];
    readonly labels: boolean;
    readonly annotations: boolean;
}
export interface EtcdLike {
    metadata?: {
        name?: unknown;
        namespace?: unknown;
        labels?: StringMap;
        annotations?: StringMap;
    };
    spec?: {
        replicas?: unknown;
        etcd?: {
            clientService?: ClientServiceSettings;
        };
    };
}
export type EtcdSettingsResult = {
    readonly kind: 'settings';
    readonly settings: RoutingSettings;
    readonly dropped: readonly string[];
} | {
    readonly kind: 'refused';
    readonly reason: 'FieldNotSupported';
    readonly field: string;
    readonly message: string;
};
export declare class FieldNotSupportedError extends Error {
    readonly name = "FieldNotSupportedError";
    readonly field: string;
    constructor(field: string, message: string);
}
export interface ForeignValue {
    readonly field: string;
    readonly value: string;
}
export declare class InvalidVersionError extends Error {
    readonly name = "InvalidVersionError";
    readonly value: unknown;
    constructor(value: unknown);
}
export interface KubernetesVersion {
    readonly major: number;
    readonly minor: number;
}
export type Mechanism = 'TopologyAwareHintsAnnotation' | 'TopologyModeAnnotation' | 'PreferCloseAndLabel' | 'PreferClose' | 'PreferSameZone';
export declare const NEWEST_KNOWN_VERSION: KubernetesVersion;
export declare const OLDEST_SUPPORTED_VERSION: KubernetesVersion;
export interface ParsedApplied {
    readonly record: AppliedRecord;
    readonly malformed: boolean;
}
export interface PlanOptions {
    readonly object: ServiceLike;
    readonly want: RoutingSettings | undefined;
    readonly mixedKubelets?: boolean;
}
export interface RoutingSettings extends SettingsLike {
    readonly labels: Readonly<StringMap>;
    readonly annotations: Readonly<StringMap>;
}
export interface ServiceLike {
    metadata?: {
        name?: unknown;
        namespace?: unknown;
        labels?: StringMap;
        annotations?: StringMap;
    };
    spec?: {
        type?: unknown;
        selector?: unknown;
        ports?: unknown;
        clusterIP?: unknown;
        trafficDistribution?: string;
    };
}
export interface SettingsChange {
    readonly field: string;
    readonly before: string | undefined;
    readonly after: string | undefined;
}
export interface SettingsLike {
    readonly labels?: Readonly<StringMap>;
    readonly annotations?: Readonly<StringMap>;
    readonly trafficDistribution?: string;
}
export type SettingsPlan = {
    readonly kind: 'unchanged';
    readonly foreign: readonly ForeignValue[];
} | {
    readonly kind: 'patch';
    readonly patch: Readonly<Record<string, unknown>>;
    readonly changes: readonly SettingsChange[];
    readonly foreign: readonly ForeignValue[];
};
export declare class UnsupportedVersionError extends Error {
    readonly name = "UnsupportedVersionError";
    readonly version: KubernetesVersion;
    readonly reason: string;
    constructor(version: KubernetesVersion);
}
export declare const atLeast: (version: KubernetesVersion, minor: number) => boolean;
export declare const compareVersions: (left: KubernetesVersion, right: KubernetesVersion) => number;
export declare const conflictingMode: (service: ServiceLike) => ForeignValue | undefined;
export declare const domainPrefixedMode: (strategy: Strategy) => string;
export declare const effectiveStrategy: (service: ServiceLike) => Strategy | undefined;
export declare const etcdFieldSupportFromCrd: (crd: unknown, version?: string) => EtcdFieldSupport;
export declare const etcdSettings: (settings: RoutingSettings, support?: EtcdFieldSupport) => EtcdSettingsResult;
export declare const formatApplied: (record: AppliedRecord) => string | undefined;
export declare const formatVersion: ({ major, minor }: KubernetesVersion) => string;
export declare const isNewerThanKnown: (version: KubernetesVersion) => boolean;
export declare const matchesSelector: ({ matchLabels, matchExpressions }: LabelSelector, labels: Readonly<StringMap>) => boolean;
export declare const mechanismOf: (version: KubernetesVersion) => Mechanism;
export declare const parseApplied: (text: string | undefined) => ParsedApplied;
export declare const parseKubernetesVersion: (value: unknown) => KubernetesVersion;
export declare const parseVersion: (value: unknown) => KubernetesVersion;
export declare const planSettings: ({ object, want, mixedKubelets }: PlanOptions) => SettingsPlan;
export declare const planStrategyLabel: (service: ServiceLike, labelOf?: typeof strategyLabel) => SettingsPlan;
export declare const proxyNeedsAnnotation: (kubeletVersion: unknown) => boolean;
export declare const reconcileEtcdTopologyAwareRouting: <T extends EtcdLike>(etcd: T, enabled: boolean, kubernetesVersion: string, support?: EtcdFieldSupport) => T;
export declare const reconcileTopologyAwareRouting: <T extends ServiceLike>(service: T, enabled: boolean, kubernetesVersion: string) => T;
export declare const requestedStrategy: (service: ServiceLike) => Strategy | undefined;
export declare const routingSettings: (version: KubernetesVersion) => RoutingSettings;
export declare const strategyFromAnnotation: (value: string | undefined) => Strategy | undefined;
export declare const strategyFromLabels: (labels: Readonly<StringMap> | undefined) => Strategy | undefined;
export declare const strategySettings: (version: KubernetesVersion, strategy: Strategy) => RoutingSettings;
export declare const withOldProxies: (settings: RoutingSettings) => RoutingSettings;
