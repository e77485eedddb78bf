// SPDX-License-Identifier: Apache-2.0
// The type of the settings-reconciler's configuration file.
import type { Seed } from '../gardener.ts';
import type { AdmissionCarrier, FlowControllerInformation, ServedNamespaces } from './admission.ts';
import type { EndpointConfiguration, LeaderElectionConfiguration, LogConfiguration } from './common.ts';
import type { ConfigHeader } from './config-kind.ts';
import type { ExtensionsConfiguration, HeartbeatConfiguration } from './extensions.ts';
import type { SharingInstallationConfiguration } from './installation.ts';

/** What is known about the Gardener that runs here; decides whether kube-apiservers stand behind L7 load balancing. */
export interface GardenerInformation {
  /** Version of gardenlet or gardener-operator (chart value `gardener.version`), for example `v1.144.0`. */
  version?: string;
  /** Feature gates of gardenlet or gardener-operator; only `IstioTLSTermination` is read. */
  featureGates?: Record<string, boolean>;
  /** Used where neither a Service, nor the gate, nor the version tells. Unset: counts as L7. */
  layerSevenDefault?: boolean;
}

/** Watches the Garden; owns the garden namespace and the namespaces of runtime extensions. */
export interface GardenModeConfiguration {
  /** Namespace of the virtual garden's components. Default `garden`. */
  namespace: string;
  /** Gardener-operator's version and gates. */
  gardener: GardenerInformation;
}

/** Watches Clusters; owns the shoot namespaces and the namespaces of seed extensions. */
export interface SeedModeConfiguration {
  /** Name of this Seed in the virtual garden; needed with gardenKubeconfig. Default: environment variable SEED_NAME. */
  seedName?: string;
  /** Kubeconfig file of the virtual garden: the Seed is read live. Default: environment variable GARDEN_KUBECONFIG. */
  gardenKubeconfig?: string;
  /** The Seed as the chart rendered it; used where the virtual garden cannot be read. Without either: Cluster.spec.seed. */
  seed?: Pick<Seed, 'spec' | 'status'>;
  /** Manage labelled Services in extension namespaces. Default true. */
  extensionServices: boolean;
  /** Gardenlet's version and gates. */
  gardener: GardenerInformation;
}

/** No Gardener: owns every namespace that no other mode owns; zones come from Nodes, Services from labels. */
export interface ClusterModeConfiguration {
  /** Only these namespaces; empty: all. */
  namespaces: string[];
}

/** The admission policies, where they are the carrier. */
export interface PoliciesConfiguration extends ServedNamespaces {
  /** Begins the names of policies and bindings. Default `gardener-extension-topology-aware-routing`. */
  name: string;
  /** Our own user name, whose writes are never changed; default: our ServiceAccount in our namespace. */
  user?: string;
}

/** SettingsReconcilerConfiguration after defaulting. */
export interface SettingsReconcilerConfiguration extends ConfigHeader {
  /** At least one; each namespace is owned by exactly one of them. */
  modes: {
    garden?: GardenModeConfiguration;
    seed?: SeedModeConfiguration;
    cluster?: ClusterModeConfiguration;
  };
  /** Namespaces never touched, whatever mode owns them. */
  excludedNamespaces: string[];
  /** Whether namespaces are labelled for the settings webhook: always, never, or once a fight was seen. Default auto. */
  keep: 'auto' | 'on' | 'off';
  /** What changes slices and keeps settings at admission. Default auto. */
  admission: AdmissionCarrier;
  policies: PoliciesConfiguration;
  installation: SharingInstallationConfiguration;
  flowController: FlowControllerInformation;
  drift: {
    /** Least seconds between two writes of the same object; never below 60. */
    minIntervalSeconds: number;
    /** Repairs of one object within fightWindowSeconds that count as a fight. */
    fightAfterRepairs: number;
    /** Seconds. */
    fightWindowSeconds: number;
  };
  kubernetesVersion: {
    /** Taken instead of what /version answers. */
    override?: string;
    /** Seconds between two reads of /version. */
    rereadSeconds: number;
    /** Seconds that a newer minor must be answered without a break before it is used (rolling API-server upgrade). */
    stableSeconds: number;
  };
  hintRepair: {
    /** Touch slices that came back unhinted after a webhook outage. */
    enabled: boolean;
    /** Touches a second; at most 20. */
    writesPerSecond: number;
    /** Seconds to wait after a touch that brought no hints; doubled with each failure up to an hour. */
    backoffSeconds: number;
  };
  extensions: ExtensionsConfiguration;
  heartbeat: HeartbeatConfiguration;
  leaderElection: LeaderElectionConfiguration;
  health: EndpointConfiguration;
  metrics: EndpointConfiguration;
  log: LogConfiguration;
}
