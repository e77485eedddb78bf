// What a status is judged by: objects of the chart as the cluster has them, and what was found out by asking.
import type { Lease, Namespace } from '../../apis/core.ts';
import type { KubernetesObject } from '../../apis/meta.ts';
import { EXTENSION_NAME, GROUP } from '../../apis/names.ts';
import { listIn, textIn } from '../project/fields.ts';
import { type ClusterSnapshot, type WebhookSummary, itemsOf } from '../snapshot.ts';

/** Selects everything that the chart renders. */
export const CHART_SELECTOR = `app.kubernetes.io/name=${EXTENSION_NAME}`;

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

export interface StatusEvidence {
  readonly snapshot: ClusterSnapshot;
  /** Those of the chart, as everything that follows. */
  readonly deployments: readonly KubernetesObject[];
  readonly pods: readonly KubernetesObject[];
  /** Of the namespaces of installations, and those that their configuration names elsewhere. */
  readonly leases: readonly Lease[];
  /** Configurations of components as their ConfigMaps have them, which nothing has checked. */
  readonly configs: readonly { readonly namespace: string; readonly component: string; readonly config: unknown }[];
  /** All. */
  readonly namespaces: readonly Namespace[];
  /** When everything was looked at, milliseconds since the epoch. */
  readonly now: number;
  /** gitVersion of the API server. */
  readonly serverVersion?: string;
  readonly probes: readonly ProbeResult[];
  /** What could not be seen, and why. */
  readonly unseen: readonly { readonly what: string; readonly why: string }[];
  /** The only namespace in which installations were looked for; undefined: in all. */
  readonly namespace?: string;
}

/** What labels of the chart say. */
export const identityOf = ({ metadata: { namespace = 'default', name = '', labels = {} } = {} }: KubernetesObject) => ({
  namespace,
  name,
  release: labels['app.kubernetes.io/instance'] ?? '',
  component: labels['app.kubernetes.io/component'] ?? name,
  version: labels['app.kubernetes.io/version'] ?? '',
});

/** Why a container of the Pod does not run: `CrashLoopBackOff`; empty where all do. */
export const waitingOf = (pod: KubernetesObject): string =>
  listIn(pod, 'status.containerStatuses')
    .map((container) => textIn(container, 'state.waiting.reason'))
    .find((reason) => reason !== '' && reason !== 'ContainerCreating') ?? '';

/** Entries of configurations that belong to this project, by their names. */
export const registrationsOf = ({ webhooks }: ClusterSnapshot): WebhookSummary[] =>
  itemsOf(webhooks).filter(({ name }) => name.endsWith(`.${GROUP}`));

export const isUnseen = ({ unseen }: StatusEvidence, what: string): boolean => unseen.some((own) => own.what === what);
