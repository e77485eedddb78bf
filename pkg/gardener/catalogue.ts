// The Services that Gardener routes by zone, as data; and whether an object is selected for it.
import type { Service } from '../apis/core.ts';
import { defined, nameOf } from '../apis/values.ts';
import type { KubernetesObject, StringMap } from '../apis/meta.ts';
import { LABEL_MANAGED } from '../apis/names.ts';
import { isMadeByDruid } from '../routing/etcd-clients.ts';
import { atLeast, versionIn } from '../routing/version.ts';
import type { CatalogueEntry, Scope } from './types.ts';

const service = (scope: Scope, name: string, options: Partial<CatalogueEntry> = {}): CatalogueEntry => ({
  service: name,
  scope,
  source: { kind: 'Service', name },
  condition: 'none',
  mutableAtAdmission: true,
  ...options,
});

// Writing the Etcd would keep gardenlet waiting: druid acts only when its owner asks (EnableEtcdSpecAutoReconcile is false), and
// until then observedGeneration lags. Writing the Service is denied by druid's etcdcomponents webhook. So neither is written.
const etcd = (scope: Scope, name: string): CatalogueEntry =>
  service(scope, `${name}-client`, { source: { kind: 'Etcd', name } });

// Gardener's control-plane webhook contract expects no mutation of these at admission.
const apiServer = (scope: Scope, name: string): CatalogueEntry =>
  service(scope, name, { condition: 'notLayerSeven', mutableAtAdmission: false });

const SHOOT: readonly CatalogueEntry[] = [
  etcd('shoot', 'etcd-main'),
  etcd('shoot', 'etcd-events'),
  apiServer('shoot', 'kube-apiserver'),
  service('shoot', 'gardener-resource-manager'),
  service('shoot', 'vpa-webhook'),
];

const GARDEN: readonly CatalogueEntry[] = [
  etcd('garden', 'virtual-garden-etcd-main'),
  etcd('garden', 'virtual-garden-etcd-events'),
  apiServer('garden', 'virtual-garden-kube-apiserver'),
  service('garden', 'gardener-apiserver'),
  service('garden', 'gardener-admission-controller'),
  service('garden', 'terminal-controller-manager'),
];

/** Every row, shoot control planes first. */
export const CATALOGUE: readonly CatalogueEntry[] = [...SHOOT, ...GARDEN];

/** Services of the same namespaces that Gardener leaves out although their names look like it: they get settings only when labelled `managed`. */
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

export const catalogueEntriesOf = (scope: Scope): readonly CatalogueEntry[] => (scope === 'shoot' ? SHOOT : GARDEN);

export const entryOfService = (scope: Scope, name: string): CatalogueEntry | undefined =>
  catalogueEntriesOf(scope).find((entry) => entry.service === name);

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

// Whether a kube-apiserver is behind layer-7 load balancing (Gardener's IstioTLSTermination): routing by zone would then pin
// each gateway to one instance, so such a Service is left alone.

const ANNOTATION_DISABLE = 'shoot.gardener.cloud/disable-istio-tls-termination';
/** Gardener minor from which the feature gate is on by default (Beta). */
const GATE_DEFAULT_SINCE_MINOR = 144;

/** What is known, strongest first. Everything may be missing. */
export interface LayerSevenEvidence {
  /** Name of the kube-apiserver Service; messages and `<name>-mtls` are made from it. */
  readonly serviceName: string;
  /** Whether there is a Service `<name>-mtls` too: Gardener creates that only with L7. */
  readonly mtlsServicePresent: boolean;
  /** Annotations of the Shoot (none for a Garden); only the opt-out is read. */
  readonly shootAnnotations?: Readonly<StringMap>;
  /** Feature gate IstioTLSTermination as injected into the extension's chart. */
  readonly featureGate?: boolean;
  /** Version of gardenlet or gardener-operator, e.g. `v1.144.0`; a malformed one is passed over. */
  readonly gardenerVersion?: string;
  /** What the operator says in the configuration file, for where nothing is injected. */
  readonly configured?: boolean;
}

/**
 * What the configuration says about the Gardener that runs here. Not taken from the configuration's schema: extensions import this
 * file's declarations without the packages of the schema.
 */
export interface GardenerInformation {
  readonly version?: string;
  readonly featureGates?: Readonly<Record<string, boolean>>;
  readonly layerSevenDefault?: boolean;
}

/** `source` says what decided; `undecidable` counts as L7, because a wrong yes would overload an instance. */
export interface LayerSevenDecision {
  readonly active: boolean;
  readonly source:
    'mtlsService' | 'shootAnnotation' | 'featureGate' | 'gardenerVersion' | 'configuration' | 'undecidable';
  /** One sentence for a person. */
  readonly message: string;
}

export const mtlsServiceName = (serviceName: string): string => `${serviceName}-mtls`;

/** The words that Go's strconv.ParseBool takes for true: Gardener reads its annotations with it. */
export const isGoTrue = (value: string | undefined): boolean => /^(?:1|t|T|TRUE|true|True)$/.test(value ?? '');

/** Suffixes of the Services that Gardener puts beside a kube-apiserver's for its gateways (apiserverexposure, sni.go). */
const BESIDE = ['-mtls', '-connection-upgrade'];

/** Evidence about a Service that an extension labelled: one of the gateways' own, or with one of them beside it. */
export const layerSevenOfLabelled = (name: string, siblings: ReadonlySet<string>): LayerSevenDecision => {
  const own = BESIDE.find((suffix) => name.endsWith(suffix));
  if (own !== undefined) return { active: true, source: 'mtlsService', message: `its name ends with ${own}` };
  const beside = siblings.has(mtlsServiceName(name));
  const message = `Service ${mtlsServiceName(name)} ${beside ? 'exists' : 'does not exist'}`;
  return { active: beside, source: 'mtlsService', message };
};

/** Whether the Shoot opted out of L7 load balancing. */
export const isIstioTlsTerminationDisabled = (annotations: Readonly<StringMap> | undefined): boolean =>
  isGoTrue(annotations?.[ANNOTATION_DISABLE]);

/** Decides from the strongest evidence there is. */
export const decideLayerSeven = (evidence: LayerSevenEvidence): LayerSevenDecision => {
  const { serviceName, mtlsServicePresent, shootAnnotations, featureGate, gardenerVersion, configured } = evidence;
  const by = (source: LayerSevenDecision['source'], active: boolean, message: string) => ({ active, source, message });
  const onOrOff = (active: boolean): string => (active ? 'on' : 'off');
  if (mtlsServicePresent) return by('mtlsService', true, `Service ${mtlsServiceName(serviceName)} exists`);
  if (isIstioTlsTerminationDisabled(shootAnnotations))
    return by('shootAnnotation', false, `the Shoot is annotated with ${ANNOTATION_DISABLE}`);
  const gate = 'feature gate IstioTLSTermination is';
  if (featureGate !== undefined) return by('featureGate', featureGate, `${gate} ${onOrOff(featureGate)}`);
  const version = versionIn(gardenerVersion);
  if (version !== undefined) {
    const byDefault = atLeast(version, GATE_DEFAULT_SINCE_MINOR);
    return by('gardenerVersion', byDefault, `${gate} ${onOrOff(byDefault)} by default in Gardener ${gardenerVersion}`);
  }
  if (configured !== undefined)
    return by('configuration', configured, `the configuration sets L7 load balancing ${onOrOff(configured)}`);
  const message = `cannot determine whether ${serviceName} is behind L7 load balancing; set it in the configuration`;
  return by('undecidable', true, message);
};

/** The decision for each kube-apiserver Service of a namespace, from the Service beside it, the Shoot's opt-out, gate, version and configuration. */
export const layerSevenOf =
  (services: readonly Service[], gardener: GardenerInformation, shootAnnotations?: StringMap) =>
  (serviceName: string): LayerSevenDecision => {
    const beside = mtlsServiceName(serviceName);
    const featureGate = gardener.featureGates?.['IstioTLSTermination'];
    return decideLayerSeven({
      serviceName,
      mtlsServicePresent: services.some(({ metadata }) => metadata?.name === beside),
      ...defined({
        shootAnnotations,
        featureGate,
        gardenerVersion: gardener.version,
        configured: gardener.layerSevenDefault,
      }),
    });
  };
