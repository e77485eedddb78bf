// The settings of Services that etcd-druid makes: no other writer may write them, so they are set in druid's own write.
import { ANNOTATION_APPLIED, ETCD_CLIENT_SERVICES, LABEL_MANAGED_BY, MANAGED_BY_DRUID } from '../apis/names.ts';
import { appliedOf } from './keep.ts';
import { canonicalRecord, isSameDistribution } from './slots.ts';
import { planSettings, routingSettings, withOldProxies } from './plan.ts';
import type { KubernetesVersion, RoutingSettings, ServiceLike } from './types.ts';
import { atLeast } from './version.ts';

/** Whether a Service is etcd-druid's: its `etcdcomponents` webhook denies all other users the update. */
export const isMadeByDruid = ({ metadata }: Pick<ServiceLike, 'metadata'>): boolean =>
  metadata?.labels?.[LABEL_MANAGED_BY] === MANAGED_BY_DRUID;

/** Whether it is the client Service of an Etcd of Gardener's control planes. */
export const isEtcdClient = (service: Pick<ServiceLike, 'metadata'>): boolean =>
  isMadeByDruid(service) && ETCD_CLIENT_SERVICES.some((name) => name === service.metadata?.name);

/**
 * What the client Service of an Etcd is given. `PreferClose`, which means what `PreferSameZone` means: every API server from 1.31
 * on takes it, so that druid's write is never refused because of it. Below 1.34 some proxy may be as old as 1.30 (the version skew
 * policy allows three minors) and wants an annotation.
 */
export const etcdClientSettings = (version: KubernetesVersion): RoutingSettings => {
  const settings = routingSettings(version);
  if (!atLeast(version, 31)) return settings;
  const close = { ...settings, trafficDistribution: 'PreferClose' };
  return atLeast(version, 34) ? close : withOldProxies(close);
};

/** By the name that stands there already: it is accepted, and nothing changes. */
const inStoredWords = (want: RoutingSettings, stored: ServiceLike | undefined): RoutingSettings => {
  const before = stored?.spec?.trafficDistribution;
  return before !== undefined && isSameDistribution(before, want.trafficDistribution)
    ? { ...want, trafficDistribution: before }
    : want;
};

/**
 * The merge patch that a write of druid's needs; empty where there is nothing to change. `want` undefined reverts what is
 * recorded. Druid assigns all annotations, so the record is read from the stored Service where the written one lacks it.
 */
export const patchEtcdClient = (
  service: ServiceLike,
  stored: ServiceLike | undefined,
  want: RoutingSettings | undefined,
): Readonly<Record<string, unknown>> => {
  const text = appliedOf(service) ?? appliedOf(stored);
  const applied = text !== undefined && canonicalRecord(text) !== undefined ? { [ANNOTATION_APPLIED]: text } : {};
  const annotations = { ...service.metadata?.annotations, ...applied };
  const object = { ...service, metadata: { ...service.metadata, annotations } };
  const plan = planSettings({ object, want: want && inStoredWords(want, stored) });
  const patch = plan.kind === 'patch' ? plan.patch : {};
  const metadata = (patch['metadata'] ?? {}) as { readonly annotations?: object };
  // A record that the plan leaves as it is was dropped by druid's write nevertheless.
  return { ...patch, metadata: { ...metadata, annotations: { ...applied, ...metadata.annotations } } };
};
