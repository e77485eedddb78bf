// The helpers that Gardener extensions import: they make a Service or Etcd route by zone as far as the served CRD allows, or undo it.
import { type Fields, defined, isFields } from '../apis/values.ts';
import type { StringMap } from '../apis/meta.ts';
import { LABEL_CONSIDER, TOPOLOGY_ANNOTATIONS } from '../apis/names.ts';
import { routingSettings } from './plan.ts';
import type { ClientServiceSettings, EtcdFieldSupport, EtcdLike, RoutingSettings, ServiceLike } from './types.ts';
import { parseKubernetesVersion } from './version.ts';

/** etcd-druid v0.36.0 and newer: labels, annotations and every value of the field. */
export const DRUID_FIELD_SUPPORT: EtcdFieldSupport = {
  trafficDistribution: ['PreferClose', 'PreferSameZone', 'PreferSameNode'],
  labels: true,
  annotations: true,
};

/** Settings that the CRD will keep, or the field that it lacks. */
export type EtcdSettingsResult =
  | {
      readonly kind: 'settings';
      readonly settings: RoutingSettings;
      /** Fields left out because the CRD lacks them, though the rest suffices. */
      readonly dropped: readonly string[];
    }
  | {
      readonly kind: 'refused';
      readonly reason: 'FieldNotSupported';
      readonly field: string;
      readonly message: string;
    };

const CLIENT_SERVICE = 'spec.etcd.clientService';

// From the most to the least exact: each falls back on the next that the CRD's enum has.
const FALLBACKS: ReadonlyMap<string, readonly string[]> = new Map([
  ['PreferSameNode', ['PreferSameNode', 'PreferSameZone', 'PreferClose']],
  ['PreferSameZone', ['PreferSameZone', 'PreferClose']],
]);

const refused = (field: string): EtcdSettingsResult => ({
  kind: 'refused',
  reason: 'FieldNotSupported',
  field: `${CLIENT_SERVICE}.${field}`,
  message: `the served Etcd CRD has no usable field ${CLIENT_SERVICE}.${field}; update etcd-druid to v0.36.0 or newer`,
});

/**
 * Turns the settings of a Service into those of an Etcd. A value that the CRD's enum lacks becomes the next best one (PreferSameZone becomes
 * PreferClose). Without the field, or without the maps where there is no field to write, nothing would have an effect: refused.
 */
export const etcdSettings = (
  settings: RoutingSettings,
  support: EtcdFieldSupport = DRUID_FIELD_SUPPORT,
): EtcdSettingsResult => {
  const { trafficDistribution } = settings;
  const missing = (['labels', 'annotations'] as const).filter(
    (section) => Object.keys(settings[section]).length > 0 && !support[section],
  );
  const maps = {
    labels: support.labels ? settings.labels : {},
    annotations: support.annotations ? settings.annotations : {},
  };
  if (trafficDistribution === undefined) {
    const [first] = missing;
    return first === undefined ? { kind: 'settings', settings: maps, dropped: [] } : refused(first);
  }
  const candidates = FALLBACKS.get(trafficDistribution) ?? [trafficDistribution];
  const value = candidates.find((candidate) => support.trafficDistribution.includes(candidate));
  if (value === undefined) return refused('trafficDistribution');
  const dropped = missing.map((section) => `${CLIENT_SERVICE}.${section}`);
  return { kind: 'settings', settings: { ...maps, trafficDistribution: value }, dropped };
};

/** What a schema says of a field: described by its own schema, unknown but kept, or pruned. */
type Place = Fields | 'kept' | 'pruned';

const own = (schema: unknown, key: string): unknown =>
  isFields(schema) && Object.hasOwn(schema, key) ? schema[key] : undefined;

const step = (place: Place, property: string): Place => {
  if (typeof place === 'string') return place;
  const child = own(own(place, 'properties'), property);
  if (isFields(child)) return child;
  return own(place, 'x-kubernetes-preserve-unknown-fields') === true ? 'kept' : 'pruned';
};

const rootOf = (crd: unknown, version: string): Place => {
  const versions = own(own(crd, 'spec'), 'versions');
  const found = (Array.isArray(versions) ? (versions as unknown[]) : []).find(
    (entry) => own(entry, 'name') === version && own(entry, 'served') !== false,
  );
  const schema = own(own(found, 'schema'), 'openAPIV3Schema');
  return isFields(schema) ? schema : 'pruned';
};

const valuesOf = (place: Place): readonly string[] => {
  if (place === 'pruned') return [];
  const allowed = own(place, 'enum');
  // A plain string takes any value.
  return Array.isArray(allowed)
    ? allowed.filter((value) => typeof value === 'string')
    : DRUID_FIELD_SUPPORT.trafficDistribution;
};

/**
 * Reads from the CustomResourceDefinition `etcds.druid.gardener.cloud` what spec.etcd.clientService may hold.
 * Anything that cannot be read counts as a field that is not there: writing it would be pruned without a word.
 *
 * @param crd the CRD as raw JSON.
 * @param version the API version that is written, `v1alpha1` today.
 */
export const etcdFieldSupportFromCrd = (crd: unknown, version = 'v1alpha1'): EtcdFieldSupport => {
  const clientService = ['spec', 'etcd', 'clientService'].reduce<Place>(step, rootOf(crd, version));
  return {
    trafficDistribution: valuesOf(step(clientService, 'trafficDistribution')),
    labels: step(clientService, 'labels') !== 'pruned',
    annotations: step(clientService, 'annotations') !== 'pruned',
  };
};

/** The served Etcd CRD lacks what routing by zone needs on this Kubernetes version; `field` says what. */
export class FieldNotSupportedError extends Error {
  override readonly name = 'FieldNotSupportedError';
  readonly field: string;

  constructor(field: string, message: string) {
    super(message);
    this.field = field;
  }
}

const NOTHING: RoutingSettings = { labels: {}, annotations: {} };
const OWN_LABELS = [LABEL_CONSIDER];

/** The map without this project's keys, plus what is wanted; an absent map stays absent where nothing is added. */
const resetMap = (
  map: StringMap | undefined,
  ownKeys: readonly string[],
  wanted: Readonly<StringMap>,
): StringMap | undefined => {
  if (map === undefined && Object.keys(wanted).length === 0) return undefined;
  const foreign = Object.entries(map ?? {}).filter(([key]) => !ownKeys.includes(key));
  return Object.fromEntries([...foreign, ...Object.entries(wanted)]);
};

type Maps = Pick<ClientServiceSettings, 'labels' | 'annotations'>;

const resetMaps = <M extends Maps>(maps: M, settings: RoutingSettings): M => {
  const { labels: oldLabels, annotations: oldAnnotations, ...rest } = maps;
  const labels = resetMap(oldLabels, OWN_LABELS, settings.labels);
  const annotations = resetMap(oldAnnotations, TOPOLOGY_ANNOTATIONS, settings.annotations);
  return { ...rest, ...defined({ labels, annotations }) } as M;
};

const resetField = <F extends { trafficDistribution?: string }>(
  fields: F,
  { trafficDistribution }: RoutingSettings,
): F => {
  const { trafficDistribution: _old, ...rest } = fields;
  return { ...rest, ...defined({ trafficDistribution }) } as F;
};

/** Whether a part was there, or gets something. */
const isThere = (before: object | undefined, next: object): boolean =>
  before !== undefined || Object.keys(next).length > 0;

/** The object with these settings in place of all that it had; parts that get nothing and were not there stay absent. */
export const withRoutingSettings = <T extends ServiceLike>(service: T, settings: RoutingSettings): T => {
  const metadata = resetMaps(service.metadata ?? {}, settings);
  const spec = resetField(service.spec ?? {}, settings);
  return {
    ...service,
    ...(isThere(service.metadata, metadata) && { metadata }),
    ...(isThere(service.spec, spec) && { spec }),
  };
};

/**
 * Makes a Service route by zone with the mechanism of the cluster that runs it, or removes every such setting.
 *
 * First resets (both topology annotations, Gardener's consider label, `spec.trafficDistribution`, regardless of who set them), then
 * sets, as Gardener's ReconcileTopologyAwareRoutingSettings did: calling it again changes nothing, and it is right across
 * upgrades and downgrades. Everything else is kept.
 *
 * @param service any object with a Service's shape, client-node's V1Service included. Not mutated.
 * @param enabled whether the Service should route by zone.
 * @param kubernetesVersion version of the runtime cluster (seed or garden runtime, never the shoot), e.g. `v1.33.1`.
 * @returns a new object; parts that did not change are shared with the given one.
 * @throws InvalidVersionError, UnsupportedVersionError, also when `enabled` is false.
 */
export const reconcileTopologyAwareRouting = <T extends ServiceLike>(
  service: T,
  enabled: boolean,
  kubernetesVersion: string,
): T => {
  const version = parseKubernetesVersion(kubernetesVersion);
  return withRoutingSettings(service, enabled ? routingSettings(version) : NOTHING);
};

const settingsForEtcd = (
  kubernetesVersion: string,
  enabled: boolean,
  support: EtcdFieldSupport | undefined,
): RoutingSettings => {
  const version = parseKubernetesVersion(kubernetesVersion);
  if (!enabled) return NOTHING;
  const result = etcdSettings(routingSettings(version), support);
  if (result.kind === 'refused') throw new FieldNotSupportedError(result.field, result.message);
  return result.settings;
};

/**
 * The same for an Etcd: etcd-druid copies spec.etcd.clientService to the client Service, and nothing set on that Service
 * itself would last. Only what the served CRD accepts is written: PreferClose where its enum lacks PreferSameZone.
 *
 * @param etcd any object with an Etcd's shape. Not mutated; no operation annotation is added.
 * @param enabled whether the client Service should route by zone.
 * @param kubernetesVersion version of the runtime cluster.
 * @param support what the CRD accepts (see etcdFieldSupportFromCrd). Default: etcd-druid v0.36.0, which has everything.
 * @returns a new object; parts that did not change are shared with the given one.
 * @throws InvalidVersionError, UnsupportedVersionError; FieldNotSupportedError if the CRD lacks the field (never when `enabled` is false).
 */
export const reconcileEtcdTopologyAwareRouting = <T extends EtcdLike>(
  etcd: T,
  enabled: boolean,
  kubernetesVersion: string,
  support?: EtcdFieldSupport,
): T => {
  const settings = settingsForEtcd(kubernetesVersion, enabled, support);
  const clientService: ClientServiceSettings | undefined = etcd.spec?.etcd?.clientService;
  const next = resetField(resetMaps(clientService ?? {}, settings), settings);
  if (!isThere(clientService, next)) return { ...etcd };
  return { ...etcd, spec: { ...etcd.spec, etcd: { ...etcd.spec?.etcd, clientService: next } } };
};
