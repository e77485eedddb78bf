// What a status is judged by: what was read of a cluster or of files, and what was found out by asking.
import type { LabelSelector } from '../../apis/admission.ts';
import type { StringMap } from '../../apis/meta.ts';
import type { ClusterSnapshot } from '../snapshot.ts';

/** Something that could not be seen, and why. */
export interface Unseen {
  readonly what: string;
  readonly why: string;
}

/** A Deployment with the labels of the chart. */
export interface DeployedComponent {
  readonly namespace: string;
  readonly name: string;
  /** `app.kubernetes.io/instance`, the name of the release. */
  readonly instance: string;
  readonly component: string;
  /** `app.kubernetes.io/version`; empty where the label is missing. */
  readonly version: string;
  /** Of the first container. */
  readonly image: string;
  readonly desired: number;
  readonly ready: number;
  readonly updated: number;
  /** Messages of conditions that say that something is wrong. */
  readonly problems: readonly string[];
}

/** The last time that a container ended. */
export interface Termination {
  readonly reason: string;
  readonly exitCode: number;
  /** RFC 3339; empty if not known. */
  readonly finishedAt: string;
}

/** A Pod with the labels of the chart. */
export interface ComponentPod {
  readonly namespace: string;
  readonly name: string;
  readonly instance: string;
  readonly component: string;
  readonly nodeName: string;
  readonly ready: boolean;
  readonly restarts: number;
  /** Why a container does not run: `CrashLoopBackOff`; empty where all do. */
  readonly waiting: string;
  readonly lastTermination?: Termination;
}

export interface LeaseFacts {
  readonly namespace: string;
  readonly name: string;
  /** Empty: none. */
  readonly holder: string;
  /** Milliseconds since the epoch; undefined: never renewed. */
  readonly renewedAt?: number;
  readonly durationSeconds: number;
  /** Namespace of the installation that holds it, where several share it; empty where it does not say. */
  readonly installation: string;
}

/** A Lease that a component goes by, as its configuration names it. */
export interface LeaseUse {
  readonly component: string;
  /** `leader`: the one of its replicas that works; `claim`: the one of several installations that changes slices. */
  readonly purpose: 'leader' | 'claim';
  readonly namespace: string;
  readonly name: string;
}

/** One entry of this project's MutatingWebhookConfiguration. */
export interface RegistrationEntry {
  readonly configuration: string;
  readonly name: string;
  readonly failurePolicy: string;
  readonly timeoutSeconds: number;
  /** Undefined for a URL. */
  readonly service?: { readonly namespace: string; readonly name: string };
  /** Serves EndpointSlices. */
  readonly slices: boolean;
  readonly namespaceSelector: LabelSelector;
  readonly caBundle?: string;
}

/** By which namespace label an installation has its settings kept at admission, and when it gives the label. */
export interface KeepingFacts {
  readonly keep: string;
  /** Value of the label. */
  readonly label: string;
}

/** What a ConfigMap of an installation says. */
export interface ConfigFacts {
  readonly namespace: string;
  readonly name: string;
  /** Modes of the settings-reconciler that are on. */
  readonly modes?: readonly string[];
  /** Where the settings-reconciler has its settings kept at admission. */
  readonly keeping?: KeepingFacts;
  readonly leases: readonly LeaseUse[];
}

/** An Extension resource of our type. */
export interface ExtensionFacts {
  readonly namespace: string;
  readonly name: string;
  readonly lastError: string;
  /** State of the last operation; empty: there was none. */
  readonly state: string;
  /** Conditions that are not True. */
  readonly conditions: readonly { readonly type: string; readonly status: string; readonly reason: string }[];
}

/** A Warning event by a component of this project, or about one of its objects. */
export interface WarningEvent {
  readonly namespace: string;
  /** `Service shop/web`. */
  readonly about: string;
  readonly reason: string;
  readonly message: string;
  readonly source: string;
  readonly count: number;
  /** RFC 3339; empty if not known. */
  readonly lastSeen: string;
}

/** A certificate, or the certificate of a bundle that is valid longest. */
export interface CertificateFacts {
  /** Milliseconds since the epoch. */
  readonly notAfter: number;
  /** SHA-256 of the certificate, as colon-separated hexadecimal; empty where only the end of validity is known. */
  readonly fingerprint: string;
}

/** The serving certificate of one webhook, or why it could not be seen. */
export interface ServingCertificate {
  readonly namespace: string;
  readonly certificate?: CertificateFacts;
  /** The source; empty where there is none. */
  readonly from: string;
  /** Empty where it was seen. */
  readonly why: string;
}

/** What became of a slice that was written as a dry run, so that admission had to act on it. */
export interface ProbeResult {
  /** Where the slice would be; empty where none is served. */
  readonly namespace: string;
  /** `Hinted`: admission acts. `NotHinted`: the write came back as it was sent. `Refused`: it was not admitted. `Unknown`: not tried, or not allowed. */
  readonly outcome: 'Hinted' | 'NotHinted' | 'Refused' | 'Unknown';
  /** From sending to the answer. */
  readonly milliseconds?: number;
  /** Why, where the outcome needs words. */
  readonly message: string;
}

export interface NamespaceFacts {
  readonly name: string;
  readonly labels: StringMap;
}

/** Objects as a status needs them. */
export interface StatusObjects {
  readonly snapshot: ClusterSnapshot;
  readonly deployments: readonly DeployedComponent[];
  readonly pods: readonly ComponentPod[];
  readonly leases: readonly LeaseFacts[];
  readonly registrations: readonly RegistrationEntry[];
  readonly configs: readonly ConfigFacts[];
  readonly extensions: readonly ExtensionFacts[];
  readonly events: readonly WarningEvent[];
  readonly namespaces: readonly NamespaceFacts[];
}

export interface StatusEvidence extends StatusObjects {
  /** When everything was looked at, milliseconds since the epoch. */
  readonly now: number;
  /** gitVersion of the API server. */
  readonly serverVersion?: string;
  readonly serving: readonly ServingCertificate[];
  readonly probes: readonly ProbeResult[];
  readonly unseen: readonly Unseen[];
  /** The only namespace in which installations were looked for; undefined: in all. */
  readonly namespace?: string;
  /** By caBundle, for those that hold a certificate. */
  readonly authorities: ReadonlyMap<string, CertificateFacts>;
}
