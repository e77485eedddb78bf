// The public face of pkg/routing: which mechanism keeps traffic in its zone, by version, and the settings it needs.
export {
  InvalidVersionError,
  NEWEST_KNOWN_VERSION,
  OLDEST_SUPPORTED_VERSION,
  UnsupportedVersionError,
  atLeast,
  compareVersions,
  formatVersion,
  isNewerThanKnown,
  parseKubernetesVersion,
  parseVersion,
  proxyNeedsAnnotation,
} from './version.ts';
export { domainPrefixedMode, mechanismOf, routingSettings, strategySettings, withOldProxies } from './plan.ts';
export type { Mechanism } from './plan.ts';
export { FieldNotSupportedError, reconcileEtcdTopologyAwareRouting, reconcileTopologyAwareRouting } from './helper.ts';
export { DRUID_FIELD_SUPPORT, etcdFieldSupportFromCrd, etcdSettings } from './helper.ts';
export type { EtcdSettingsResult } from './helper.ts';
export { formatApplied, parseApplied } from './slots.ts';
export type { ParsedApplied } from './slots.ts';
export { planSettings } from './plan.ts';
export type { PlanOptions } from './plan.ts';
export {
  conflictingMode,
  planStrategyLabel,
  requestedStrategy,
  effectiveStrategy,
  strategyFromAnnotation,
  strategyFromLabels,
} from './strategy.ts';
export type * from './types.ts';
