// What shows the data plane of a Node, and the answer with its evidence.
import type { LabelSelector } from '../../apis/admission.ts';
import type { StringMap } from '../../apis/meta.ts';
import type { KubernetesVersion } from '../../routing/types.ts';
import type { CiliumOptions, FeatureGates, Proxy } from '../../upstream/index.ts';
import type { RouteInput } from '../../upstream/proxy/endpoints.ts';
import type { PlaneName } from './planes.ts';

/** A DaemonSet, Pod, Deployment, ConfigMap or custom resource, as far as it shows or configures a data plane. */
export interface RouterObject {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly labels: StringMap;
  /** Of a Pod; empty: it is not one, or not scheduled. */
  readonly nodeName: string;
  /** Name of the DaemonSet that a Pod belongs to; empty: it is static, or not a Pod. */
  readonly owner: string;
  /** Alternatives by which Nodes are selected; none: every Node. */
  readonly nodes: readonly LabelSelector[];
  /** `args`: command and arguments. */
  readonly containers: readonly Readonly<{ name: string; image: string; args: readonly string[]; env: StringMap }>[];
  readonly configMaps: readonly string[];
  /** Alternatives by which it selects the Services that it announces; undefined: every Service. */
  readonly services?: readonly LabelSelector[];
  /** Settings of a ConfigMap or custom resource, by dotted path. */
  readonly settings: StringMap;
  /** Some Pods of the DaemonSet are not of its present template. */
  readonly rolling: boolean;
  /** Nodes that run a Pod of the DaemonSet's present template; undefined where some run another, or it is not known. */
  readonly scheduled?: number;
  /** Of a DaemonSet's Pods. */
  readonly serviceAccount?: string;
  /** Hosts that its variables and arguments name, with the port behind, and the scheme of those that a library of the client resolves. */
  readonly calls?: readonly Readonly<{ by: string; host: string; port?: string; scheme?: string }>[];
  /** Of Helm, that made the DaemonSet. */
  readonly release?: string;
}

export type RouterName = PlaneName | 'kube-proxy' | 'kube-proxy-windows' | 'linkerd' | 'unknown';

/** `seen`: objects show it, or its documentation says so of what they show; `assumed`: nothing says otherwise; `unknown`: nothing can be said. */
export type Certainty = 'seen' | 'assumed' | 'unknown';

/** One field of one object, or of the command line, that the answer rests on. */
export interface Evidence {
  /** `DaemonSet kube-system/kube-proxy`, `Node n1`, `flag`. */
  readonly object: string;
  readonly field: string;
  readonly value: string;
}

/** What the data plane does with hints at its version and with its settings. */
export interface Behaviour {
  readonly hints: 'zone' | 'zone-and-node' | 'none' | 'unknown';
  /** What of the Service makes it look at them. */
  readonly needs: string;
  /** What a client gets where no endpoint is hinted for it. */
  readonly unmatched: 'all' | 'none' | 'unknown';
  /** What it gets where only endpoints that are not ready are hinted for it: `all` are ready ones, or those that terminate. */
  readonly unready: 'all' | 'none' | 'unknown';
  /** Where a client may get none: the release from which it no longer does; null: not known. */
  readonly safeSince: string | null;
  /** Where that is read: source, release note, issue. */
  readonly source: string;
}

/** By which model, version and gates routes of a Node are found. */
export interface NodeRouting {
  readonly proxy: Proxy;
  readonly version: KubernetesVersion;
  readonly gates?: FeatureGates;
  readonly self?: NonNullable<RouteInput['self']>;
}

/** What the person who asks says, which counts more than objects. */
export interface Stated {
  readonly proxy?: Extract<Proxy, { kind: 'kube-proxy' | 'cilium' | 'linkerd' }>;
  /** Of Cilium, where it routes. */
  readonly cilium?: CiliumOptions;
  /** Of every kube-proxy, and of the control plane where it is asked about; default: from the snapshot, for each. */
  readonly version?: KubernetesVersion;
  readonly gates?: FeatureGates;
}
