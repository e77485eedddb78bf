// Written by `make generate`; do not edit.

export declare const ANNOTATION_APPLIED = "topology.extensions.gardener.cloud/applied";
export declare const ANNOTATION_TOPOLOGY_AWARE_HINTS = "service.kubernetes.io/topology-aware-hints";
export declare const ANNOTATION_TOPOLOGY_MODE = "service.kubernetes.io/topology-mode";
export interface Cluster extends KubernetesObject {
    spec?: {
        seed?: Seed;
        shoot?: Shoot;
        cloudProfile?: unknown;
    };
}
export interface Etcd extends KubernetesObject {
    spec?: {
        etcd?: {
            clientService?: {
                labels?: StringMap;
                annotations?: StringMap;
                trafficDistribution?: string;
            };
            [field: string]: unknown;
        };
        [field: string]: unknown;
    };
    status?: {
        observedGeneration?: number;
        [field: string]: unknown;
    };
}
export declare const GROUP = "topology.extensions.gardener.cloud";
export interface Garden extends KubernetesObject {
    spec?: {
        runtimeCluster?: {
            provider?: {
                region?: string;
                zones?: string[];
            };
            settings?: TopologyAwareRoutingSettings;
            [field: string]: unknown;
        };
        virtualCluster?: {
            controlPlane?: {
                highAvailability?: object;
            };
            [field: string]: unknown;
        };
        [field: string]: unknown;
    };
    status?: unknown;
}
export interface KubernetesObject {
    apiVersion?: string;
    kind?: string;
    metadata?: ObjectMeta;
}
export declare const LABEL_CONSIDER = "endpoint-slice-hints.resources.gardener.cloud/consider";
export declare const LABEL_MANAGED = "topology.extensions.gardener.cloud/managed";
export declare const LABEL_STRATEGY = "topology.extensions.gardener.cloud/strategy";
export interface Namespace extends KubernetesObject {
    status?: {
        phase?: string;
    };
}
export interface ObjectMeta {
    name?: string;
    generateName?: string;
    namespace?: string;
    uid?: string;
    resourceVersion?: string;
    generation?: number;
    creationTimestamp?: string;
    deletionTimestamp?: string;
    labels?: StringMap;
    annotations?: StringMap;
    ownerReferences?: OwnerReference[];
    finalizers?: string[];
    managedFields?: unknown[];
}
export declare const STRATEGIES: readonly ['same-zone', 'same-node', 'proportional', 'load-aware'];
export interface Seed extends KubernetesObject {
    spec?: {
        provider?: {
            type?: string;
            region?: string;
            zones?: string[];
        };
        settings?: TopologyAwareRoutingSettings;
        [field: string]: unknown;
    };
    status?: {
        kubernetesVersion?: string;
        clusterIdentity?: string;
        [field: string]: unknown;
    };
}
export interface Service extends KubernetesObject {
    spec?: {
        type?: string;
        clusterIP?: string;
        clusterIPs?: string[];
        selector?: StringMap;
        ports?: ServicePort[];
        ipFamilies?: string[];
        ipFamilyPolicy?: string;
        internalTrafficPolicy?: string;
        externalTrafficPolicy?: string;
        loadBalancerClass?: string;
        sessionAffinity?: string;
        trafficDistribution?: string;
        topologyKeys?: string[];
        [field: string]: unknown;
    };
    status?: {
        conditions?: Condition[];
        [field: string]: unknown;
    } | undefined;
}
export interface Shoot extends KubernetesObject {
    spec?: {
        seedName?: string;
        controlPlane?: {
            highAvailability?: {
                failureTolerance?: {
                    type?: string;
                };
            };
        };
        provider?: {
            type?: string;
            workers?: {
                name?: string;
                controlPlane?: object;
                [field: string]: unknown;
            }[];
        };
        hibernation?: {
            enabled?: boolean;
        };
        [field: string]: unknown;
    };
    status?: {
        technicalID?: string;
        hibernated?: boolean;
        seedName?: string;
        observedGeneration?: number;
        lastOperation?: {
            type?: string;
            state?: string;
        };
        [field: string]: unknown;
    };
}
export type Strategy = (typeof STRATEGIES)[number];
export type StringMap = Record<string, string>;
export interface TopologyAwareRoutingSettings {
    topologyAwareRouting?: {
        enabled?: boolean;
    };
}
