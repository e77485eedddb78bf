// What `kubectl topology status` answers: the shape of its JSON and YAML.
// Why an installation is not healthy: stable code, what it says, and the remedy.
import type { CauseGroup } from '../audit/types.ts';
import type { RoutersReport } from '../routers/types.ts';
import type { EvacuationSummary } from '../snapshot.ts';
import type { ExtensionFacts, ProbeResult, Termination, Unseen, WarningEvent } from './evidence.ts';

export const STATUS_REASONS = {
  ReplicasNotReady: {
    sentence: 'A component has fewer ready or fewer updated replicas than desired.',
    remedy: 'See `kubectl describe` and the logs of its Pods.',
  },
  ScaledToZero: {
    sentence: 'A component is installed with zero replicas; a webhook removes its registration with its last replica.',
    remedy: 'Scale it up again if that was not intended.',
  },
  ContainerNotRunning: {
    sentence: 'A container of a component does not run.',
    remedy: 'See the logs of its last run: `kubectl logs --previous`.',
  },
  VersionsDiffer: {
    sentence: 'Components of one installation have different versions.',
    remedy: 'Let the upgrade finish, or install the chart again.',
  },
  LeaseStale: {
    sentence: 'The holder of a Lease has stopped renewing it, and no other replica has taken over.',
    remedy: 'See the logs of the component: it is down, hangs, or cannot reach the API server.',
  },
  NoLeader: {
    sentence: 'A component that works through one leader has none.',
    remedy: 'See why its Pods do not start, or whether they may write the Lease.',
  },
  HintsNotCarried: {
    sentence:
      'The Lease of the flow-controller is older than ten minutes: admission no longer carries its plans over, so planned Services return to spread.',
    remedy: 'Bring the flow-controller back; it plans anew at once.',
  },
  AdmissionMissing: {
    sentence: 'No webhook of this extension serves EndpointSlices, although an endpointslice-webhook is installed.',
    remedy:
      'See the log of the endpointslice-webhook: it registers itself, unless the chart does (`registration: chart`).',
  },
  RegistrationWithoutInstallation: {
    sentence:
      'A MutatingWebhookConfiguration of this extension points to a Service for which no installation was found.',
    remedy: 'Delete the MutatingWebhookConfiguration if that installation is gone for good.',
  },
  AuthorityMissing: {
    sentence:
      'An entry of the MutatingWebhookConfiguration has no caBundle with a certificate, so API servers do not trust the webhook.',
    remedy: 'Check whether another writer empties the field; the webhook restores it at its next check.',
  },
  AuthorityExpiring: {
    sentence: 'The certificate authority that the MutatingWebhookConfiguration names expires soon or has expired.',
    remedy:
      'It should have been rotated: see the log of the endpointslice-webhook, or renew the certificates that are mounted.',
  },
  CertificateExpiring: {
    sentence: 'The serving certificate of the webhook expires soon or has expired.',
    remedy:
      'It should have been renewed: see the log of the endpointslice-webhook, or renew the certificates that are mounted.',
  },
  NoReadyWebhook: {
    sentence: 'The Service behind the registration has no ready endpoint.',
    remedy: 'See why the Pods of the endpointslice-webhook are not ready.',
  },
  AdmissionNotActing: {
    sentence: 'A slice that was written as a dry run came back without hints: API servers do not reach the webhook.',
    remedy:
      'See whether API servers reach the Service of the webhook (network policies, firewall, its certificate), and its log.',
  },
  AdmissionRefuses: {
    sentence:
      'A slice that was written as a dry run was refused: with `failurePolicy: Fail`, endpoints in the cluster do not change any more.',
    remedy: 'Bring the webhook back, or set `failurePolicy: Ignore` until it is back.',
  },
  NamespaceNotKept: {
    sentence:
      'A namespace holds settings, but not the label by which admission keeps them when another writer drops them; they come back within a minute only.',
    remedy:
      'See what removes or changes the label, and the log of the settings-reconciler, which writes it: `kubectl get namespaces -L topology.extensions.gardener.cloud/routing`.',
  },
  ServicesIneffective: {
    sentence: 'Services that ask for routing by zone do not get it.',
    remedy: 'See `kubectl topology audit` for all of them, or `kubectl topology explain` for one.',
  },
  OldProxies: {
    sentence:
      'Nodes with Kubernetes 1.30 or older in a newer cluster use hints of annotated Services only; the settings-reconciler adds the annotation while there are such Nodes.',
    remedy: 'Upgrade those Nodes.',
  },
  ExtensionFailing: {
    sentence: 'An Extension resource of type topology-aware-routing has an error.',
    remedy: 'See its `status.lastError` and the log of the settings-reconciler.',
  },
} as const satisfies Readonly<Record<string, { readonly sentence: string; readonly remedy: string }>>;

/** Stable code of what a status finds. */
export type StatusReason = keyof typeof STATUS_REASONS;

/** Worth a word, but nothing is broken by it. */
export const NOTES: ReadonlySet<StatusReason> = new Set(['ScaledToZero', 'ServicesIneffective', 'OldProxies']);

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
