// The Services that Gardener routes by zone, as data; and whether an object is selected for it.
import type { KubernetesObject } from '../apis/meta.ts';
import { LABEL_MANAGED } from '../apis/names.ts';
import { nameOf } from '../apis/object.ts';
import { isMadeByDruid } from '../routing/etcd-clients.ts';
import type { CatalogueEntry, Scope } from './types.ts';

type EntryOptions = Pick<CatalogueEntry, 'owner' | 'consumers'> & Partial<CatalogueEntry>;

const service = (scope: Scope, name: string, options: EntryOptions): CatalogueEntry => ({
  service: name,
  scope,
  source: { kind: 'Service', name },
  condition: 'none',
  mutableAtAdmission: true,
  ...options,
});

// Writing the Etcd would keep gardenlet waiting: druid acts only when its owner asks (EnableEtcdSpecAutoReconcile is false), and
// until then observedGeneration lags. Writing the Service is denied by druid's etcdcomponents webhook. So neither is written.
const etcd = (scope: Scope, name: string, consumers: readonly string[]): CatalogueEntry =>
  service(scope, `${name}-client`, { source: { kind: 'Etcd', name }, owner: 'etcd-druid', consumers });

// Gardener's control-plane webhook contract expects no mutation of these at admission.
const apiServer = (scope: Scope, name: string, options: EntryOptions): CatalogueEntry =>
  service(scope, name, { condition: 'notLayerSeven', mutableAtAdmission: false, ...options });

const SHOOT: readonly CatalogueEntry[] = [
  etcd('shoot', 'etcd-main', ['kube-apiserver']),
  etcd('shoot', 'etcd-events', ['kube-apiserver']),
  apiServer('shoot', 'kube-apiserver', {
    owner: 'gardenlet',
    consumers: [
      'kube-controller-manager',
      'kube-scheduler',
      'cloud-controller-manager',
      'gardener-resource-manager',
      'machine-controller-manager',
    ],
  }),
  service('shoot', 'gardener-resource-manager', { owner: 'gardenlet', consumers: ['kube-apiserver'] }),
  service('shoot', 'vpa-webhook', { owner: 'gardenlet', consumers: ['kube-apiserver'] }),
];

const GARDEN: readonly CatalogueEntry[] = [
  etcd('garden', 'virtual-garden-etcd-main', ['virtual-garden-kube-apiserver', 'gardener-apiserver']),
  etcd('garden', 'virtual-garden-etcd-events', ['virtual-garden-kube-apiserver']),
  apiServer('garden', 'virtual-garden-kube-apiserver', {
    owner: 'gardener-operator',
    consumers: [
      'virtual-garden-kube-controller-manager',
      'gardener-controller-manager',
      'gardener-scheduler',
      'gardener-admission-controller',
      'gardener-dashboard',
    ],
  }),
  service('garden', 'gardener-apiserver', {
    owner: 'gardener-resource-manager',
    consumers: ['virtual-garden-kube-apiserver'],
  }),
  service('garden', 'gardener-admission-controller', {
    owner: 'gardener-resource-manager',
    consumers: ['virtual-garden-kube-apiserver', 'gardener-apiserver'],
  }),
  service('garden', 'terminal-controller-manager', {
    owner: 'gardener-resource-manager',
    consumers: ['virtual-garden-kube-apiserver'],
  }),
];

/** Every row, shoot control planes first. */
export const CATALOGUE: readonly CatalogueEntry[] = [...SHOOT, ...GARDEN];

/**
 * Services of the same namespaces that Gardener leaves out although their names look like it: they get settings only when
 * labelled `managed`.
 */
export const NOT_TOPOLOGY_AWARE: Readonly<Record<Scope, readonly string[]>> = {
  shoot: ['kube-apiserver-mtls', 'kube-apiserver-connection-upgrade'],
  garden: [
    'gardener-resource-manager',
    'vpa-webhook',
    'virtual-garden-gardener-resource-manager',
    'gardener-dashboard',
    'gardener-discovery-server',
  ],
};

/** The rows of one scope. */
export const catalogueEntriesOf = (scope: Scope): readonly CatalogueEntry[] => (scope === 'shoot' ? SHOOT : GARDEN);

/** The row of a Service name. */
export const entryOfService = (scope: Scope, name: string): CatalogueEntry | undefined =>
  catalogueEntriesOf(scope).find((entry) => entry.service === name);

/** The row of an Etcd. */
export const entryOfEtcd = (scope: Scope, name: string): CatalogueEntry | undefined =>
  catalogueEntriesOf(scope).find(({ source }) => source.kind === 'Etcd' && source.name === name);

/**
 * Whether an object is selected.
 *
 * - `catalogue`: under the conditions of the row.
 * - `labelled`: an extension's own Service that asks for it with the label `managed: "true"`.
 * - `writtenByDruid`: never write this Service; only etcd-druid may. The Etcd's row reports it.
 * - `excluded`: the label `managed: "false"` keeps us off.
 * - `configured`, `excludedBy`: the configuration of an Extension asks for it, or keeps us off (see extension/select.ts).
 * - `none`: not requested.
 */
export type Selection =
  | { readonly kind: 'catalogue'; readonly entry: CatalogueEntry }
  | { readonly kind: 'labelled' }
  | { readonly kind: 'writtenByDruid' }
  | { readonly kind: 'excluded' }
  | { readonly kind: 'configured' | 'excludedBy'; readonly extension: string; readonly field: string }
  | { readonly kind: 'none' };

const managedLabel = (object: KubernetesObject): string | undefined => object.metadata?.labels?.[LABEL_MANAGED];

/** Selects a Service of a shoot or garden namespace; without a scope (extension namespaces) only the label counts. */
export const selectService = (object: KubernetesObject, scope: Scope | undefined): Selection => {
  const entry = scope === undefined ? undefined : entryOfService(scope, nameOf(object));
  if (entry?.source.kind === 'Etcd' || isMadeByDruid(object)) return { kind: 'writtenByDruid' };
  const managed = managedLabel(object);
  if (managed === 'false') return { kind: 'excluded' };
  if (entry !== undefined) return { kind: 'catalogue', entry };
  return managed === 'true' ? { kind: 'labelled' } : { kind: 'none' };
};

/** Selects an Etcd; only those of the catalogue count, since others have no known consumers. */
export const selectEtcd = (object: KubernetesObject, scope: Scope): Selection => {
  const entry = entryOfEtcd(scope, nameOf(object));
  if (entry === undefined) return { kind: 'none' };
  return managedLabel(object) === 'false' ? { kind: 'excluded' } : { kind: 'catalogue', entry };
};
