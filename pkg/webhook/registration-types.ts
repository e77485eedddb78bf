// What a webhook's entry in the registration is made of.
import type { MutatingWebhook } from '../apis/admission.ts';
import type { EndpointSliceWebhookConfiguration } from '../apis/config/endpointslice-webhook.ts';
import { LABEL_NAMESPACE_NAME } from '../apis/names.ts';
import type { Resource } from '../apis/resources.ts';
import type { KubernetesVersion } from '../routing/types.ts';

export type ServerAddress =
  | { readonly kind: 'service'; readonly namespace: string; readonly name: string; readonly port: number }
  /** `https://host:port`, without path. */
  | { readonly kind: 'url'; readonly url: string };

/** Without a `failurePolicy`, slices keep what the configuration in the cluster says; `strategyAnnotation` needs 1.28. */
export interface RegistrationOptions extends Readonly<
  Pick<
    EndpointSliceWebhookConfiguration['registration'],
    'name' | 'failurePolicy' | 'timeoutSeconds' | 'strategyAnnotation' | 'keepSettings'
  >
> {
  /** Version of the API server; before 1.28 nothing carries match conditions. */
  readonly version: KubernetesVersion;
  readonly address: ServerAddress;
  /** PEM of the authorities that signed the serving certificate; undefined: an injector fills it in. */
  readonly caBundle?: string | undefined;
  /** Never served: our own namespace, kube-system, default, and what was configured. */
  readonly excludedNamespaces: readonly string[];
  /** The user whose writes of settings are never changed. */
  readonly settingsReconcilerUser: string;
  /** Value of the namespace label by which this installation keeps settings. Default `true`. */
  readonly routingLabel?: string;
  /** False where another installation of the cluster changes slices and reads annotations. Default true. */
  readonly claimed?: boolean;
  /** Hints are switched off in the whole cluster: nothing is registered. Default false. */
  readonly off?: boolean;
  /** Zones are being evacuated: what is marked passes here, and what brings endpoints of these zones, which may be none. Default: nothing is evacuated. */
  readonly evacuating?: readonly string[] | undefined;
}

/** The part of an entry that its handler's folder decides; address, policy and timeout are common to all. */
export interface WebhookEntry extends Pick<
  MutatingWebhook,
  'name' | 'rules' | 'namespaceSelector' | 'objectSelector' | 'matchConditions'
> {
  readonly path: string;
}

export const ruleFor = ({ group, version, plural }: Resource, operations: string[]) => ({
  apiGroups: [group],
  apiVersions: [version],
  resources: [plural],
  operations,
  scope: 'Namespaced',
});

export const notIn = (key: string, values: readonly string[]) => ({
  key,
  operator: 'NotIn' as const,
  values: [...values],
});

export const notExcluded = (excludedNamespaces: readonly string[]) => ({
  matchExpressions: [notIn(LABEL_NAMESPACE_NAME, excludedNamespaces)],
});
