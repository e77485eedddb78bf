// What an Etcd can carry: the served CRD decides which routing settings would be kept, refused or silently pruned.
import type { EtcdFieldSupport, RoutingSettings } from './types.ts';

const ALL_VALUES = ['PreferSameZone', 'PreferSameNode', 'PreferClose'] as const;

/** etcd-druid v0.36.0 and newer: labels, annotations and every value of the field. */
export const DRUID_FIELD_SUPPORT: EtcdFieldSupport = {
  trafficDistribution: ALL_VALUES,
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
 * Turns the settings of a Service into those of an Etcd. A value that the CRD's enum lacks becomes the next best one
 * (PreferSameZone becomes PreferClose). Without the field, or without the maps where there is no field to write, nothing
 * would have an effect: refused.
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

type Schema = Record<string, unknown>;

const asSchema = (value: unknown): Schema | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Schema) : undefined;

const own = (schema: Schema | undefined, key: string): unknown =>
  schema !== undefined && Object.hasOwn(schema, key) ? schema[key] : undefined;

/** A place in the schema: described, unknown but kept, or pruned. */
type Place =
  { readonly kind: 'described'; readonly schema: Schema } | { readonly kind: 'kept' } | { readonly kind: 'pruned' };

const step = (place: Place, property: string): Place => {
  if (place.kind !== 'described') return place;
  const child = asSchema(own(asSchema(own(place.schema, 'properties')), property));
  if (child !== undefined) return { kind: 'described', schema: child };
  return { kind: own(place.schema, 'x-kubernetes-preserve-unknown-fields') === true ? 'kept' : 'pruned' };
};

const rootOf = (crd: unknown, version: string): Place => {
  const versions = own(asSchema(own(asSchema(crd), 'spec')), 'versions');
  const found = (Array.isArray(versions) ? versions : [])
    .map(asSchema)
    .find((entry) => own(entry, 'name') === version && own(entry, 'served') !== false);
  const schema = asSchema(own(asSchema(own(found, 'schema')), 'openAPIV3Schema'));
  return schema === undefined ? { kind: 'pruned' } : { kind: 'described', schema };
};

const valuesOf = (place: Place): readonly string[] => {
  if (place.kind === 'pruned') return [];
  const allowed = place.kind === 'kept' ? undefined : own(place.schema, 'enum');
  // A plain string takes any value.
  return Array.isArray(allowed) ? allowed.filter((value) => typeof value === 'string') : ALL_VALUES;
};

/**
 * Reads from the CustomResourceDefinition `etcds.druid.gardener.cloud` what spec.etcd.clientService may hold.
 * Anything that cannot be read counts as a field that is not there: writing it would be pruned without a word.
 *
 * @param crd the CRD as raw JSON.
 * @param version the API version that is written, `v1alpha1` today.
 */
export const etcdFieldSupportFromCrd = (crd: unknown, version = 'v1alpha1'): EtcdFieldSupport => {
  const clientService = ['spec', 'etcd', 'clientService'].reduce(step, rootOf(crd, version));
  return {
    trafficDistribution: valuesOf(step(clientService, 'trafficDistribution')),
    labels: step(clientService, 'labels').kind !== 'pruned',
    annotations: step(clientService, 'annotations').kind !== 'pruned',
  };
};
