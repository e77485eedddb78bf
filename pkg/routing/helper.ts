// The library helpers that Gardener extensions import: they make a Service or Etcd route by zone, or undo it.
import { defined } from '../apis/defined.ts';
import { ANNOTATION_TOPOLOGY_AWARE_HINTS, ANNOTATION_TOPOLOGY_MODE, LABEL_CONSIDER } from '../apis/names.ts';
import type { StringMap } from '../apis/meta.ts';
import { etcdSettings } from './etcd.ts';
import { routingSettings } from './mechanism.ts';
import type { ClientServiceSettings, EtcdFieldSupport, EtcdLike, RoutingSettings, ServiceLike } from './types.ts';
import { parseKubernetesVersion } from './version.ts';

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
const OWN_ANNOTATIONS = [ANNOTATION_TOPOLOGY_AWARE_HINTS, ANNOTATION_TOPOLOGY_MODE];

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

interface Maps {
  labels?: StringMap;
  annotations?: StringMap;
}

const resetMaps = <M extends Maps>(maps: M, settings: RoutingSettings): M => {
  const { labels: oldLabels, annotations: oldAnnotations, ...rest } = maps;
  const labels = resetMap(oldLabels, OWN_LABELS, settings.labels);
  const annotations = resetMap(oldAnnotations, OWN_ANNOTATIONS, settings.annotations);
  return {
    ...rest,
    ...defined({ labels, annotations }),
  } as M;
};

const resetField = <F extends { trafficDistribution?: string }>(
  fields: F,
  { trafficDistribution }: RoutingSettings,
): F => {
  const { trafficDistribution: _old, ...rest } = fields;
  return { ...rest, ...defined({ trafficDistribution }) } as F;
};

const hasSettings = ({ labels, annotations, trafficDistribution }: RoutingSettings): boolean =>
  trafficDistribution !== undefined || Object.keys({ ...labels, ...annotations }).length > 0;

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
  const settings = enabled ? routingSettings(version) : NOTHING;
  const { metadata, spec } = service;
  const needsMetadata =
    metadata !== undefined || Object.keys({ ...settings.labels, ...settings.annotations }).length > 0;
  const needsSpec = spec !== undefined || settings.trafficDistribution !== undefined;
  return {
    ...service,
    ...(needsMetadata ? { metadata: resetMaps(metadata ?? {}, settings) } : {}),
    ...(needsSpec ? { spec: resetField(spec ?? {}, settings) } : {}),
  };
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
  if (clientService === undefined && !hasSettings(settings)) return { ...etcd };
  const next = resetField(resetMaps(clientService ?? {}, settings), settings);
  return { ...etcd, spec: { ...etcd.spec, etcd: { ...etcd.spec?.etcd, clientService: next } } };
};
