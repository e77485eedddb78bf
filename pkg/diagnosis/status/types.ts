// What `kubectl topology status` answers: the shape of its JSON and YAML.
import type { RoutersReport } from '../routers/report.ts';
import type { CauseGroup } from '../audit/types.ts';
import type { ExtensionFacts, ProbeResult, Termination, Unseen, WarningEvent } from './evidence.ts';
import type { EvacuationSummary } from '../snapshot.ts';
import type { StatusReason } from './reasons.ts';

export interface StatusFinding {
  readonly reason: StatusReason;
  readonly message: string;
  readonly remedy: string;
}

export interface ClusterStatus {
  /** gitVersion of the API server, else the minor of the Nodes. */
  readonly version: string;
  /** How Services are routed by zone on that version. */
  readonly mechanism: string;
  /** Null where Nodes could not be seen. */
  readonly nodes: null | {
    readonly count: number;
    readonly ready: number;
    /** Ready Nodes by zone; the empty name is for no zone. */
    readonly zones: Readonly<Record<string, number>>;
    /** Nodes by minor version of the kubelet, which stands in for the kube-proxy's. */
    readonly versions: Readonly<Record<string, number>>;
  };
}

export interface ComponentStatus {
  readonly name: string;
  readonly component: string;
  readonly version: string;
  readonly image: string;
  readonly replicas: { readonly desired: number; readonly ready: number; readonly updated: number };
  /** Null where Pods could not be seen. */
  readonly pods: null | {
    readonly restarts: number;
    readonly lastTermination: (Termination & { readonly pod: string }) | null;
    readonly nodes: number;
    readonly zones: readonly string[];
  };
}

export interface LeaseStatus {
  readonly namespace: string;
  readonly name: string;
  /** What it is for: `claim` is the one of several installations that changes slices. */
  readonly purpose: 'leader' | 'heartbeat' | 'claim' | 'other';
  /** Whose leader holds it; empty for other purposes. */
  readonly component: string;
  /** Namespace of the installation that holds it, where several share it; empty where it does not say. */
  readonly installation: string;
  /** `Held`: renewed in time; `Stale`: not; `Released`: not held. */
  readonly state: 'Held' | 'Stale' | 'Released';
  readonly holder: string;
  /** Since the last renewal; null where there was none. */
  readonly ageSeconds: number | null;
  /** The holder is none of the Pods that were seen. */
  readonly holderGone: boolean;
}

export interface CertificateStatus {
  /** RFC 3339. */
  readonly notAfter: string;
  /** Whole days left, negative once it has expired. */
  readonly daysLeft: number;
  readonly fingerprint: string;
}

export interface WebhookStatus {
  readonly configuration: string;
  readonly entries: readonly {
    readonly name: string;
    readonly failurePolicy: string;
    readonly timeoutSeconds: number;
  }[];
  /** Null where the entries name a URL. */
  readonly service: { readonly namespace: string; readonly name: string } | null;
  /** Ready endpoints of the Service; null where slices could not be seen, or for a URL. */
  readonly readyEndpoints: number | null;
  /** Null where no caBundle holds a certificate. */
  readonly authority: CertificateStatus | null;
  readonly serving: (CertificateStatus & { readonly from: string }) | { readonly why: string };
}

export interface InstallationStatus {
  readonly namespace: string;
  readonly release: string;
  readonly components: readonly ComponentStatus[];
  /** Modes of the settings-reconciler; null where its configuration could not be seen. */
  readonly modes: readonly string[] | null;
  readonly leases: readonly LeaseStatus[];
  readonly webhooks: readonly WebhookStatus[];
}

export interface AdmissionStatus {
  /** Registrations that no installation found is behind. */
  readonly strays: readonly WebhookStatus[];
  readonly probes: readonly ProbeResult[];
}

export interface ServicesStatus {
  /** Services that ask for routing through us, or that carry what we set. */
  readonly count: number;
  readonly effective: number;
  /** Effective if the router of every Node is what it is taken to be. */
  readonly assumed: number;
  /** Nothing is wrong, and who routes on some Node is not known. */
  readonly unknown: number;
  readonly ineffective: number;
  readonly notWanted: number;
  /** First causes, most Services first. */
  readonly causes: readonly Pick<CauseGroup, 'reason' | 'services'>[];
  /** Namespaces in which settings are kept at admission; null where Namespaces could not be seen. */
  readonly keptNamespaces: number | null;
}

export interface FlowStatus {
  readonly count: number;
  /** Conditions by type, status and reason. */
  readonly conditions: readonly {
    readonly type: string;
    readonly status: string;
    readonly reason: string;
    readonly count: number;
  }[];
}

/** With who routes on the ready Nodes. */
export interface StatusReport extends RoutersReport {
  readonly apiVersion: string;
  readonly kind: 'TopologyStatus';
  /** RFC 3339: when everything was looked at. */
  readonly time: string;
  readonly verdict: 'Healthy' | 'Degraded' | 'NotInstalled';
  readonly lookedFor: { readonly labelSelector: string; readonly namespace: string | null };
  readonly cluster: ClusterStatus;
  readonly installations: readonly InstallationStatus[];
  readonly admission: AdmissionStatus;
  /** Null where Services or slices could not be seen. */
  readonly services: ServicesStatus | null;
  /** Null where FlowPolicies could not be seen. */
  readonly flowPolicies: FlowStatus | null;
  /** Null where Extensions could not be seen, or are not served. */
  readonly extensions: { readonly count: number; readonly failing: readonly ExtensionFacts[] } | null;
  /** That run, and zones that slices show as left although no evacuation of them runs; null where they could not be seen. */
  readonly evacuations: {
    readonly running: readonly EvacuationSummary[];
    readonly overdue: readonly { readonly zone: string; readonly slices: number }[];
  } | null;
  /** Newest first. */
  readonly events: readonly WarningEvent[];
  readonly findings: readonly StatusFinding[];
  readonly unseen: readonly Unseen[];
}
