// The public face of pkg/gardener: what Seed, Garden, Shoot and namespaces mean for routing by zone, and which Services it concerns.
export {
  assessZones,
  controlPlaneNamespace,
  distinctZones,
  failureToleranceType,
  gardenTopologyAwareRoutingEnabled,
  isGardenHighAvailabilityEnabled,
  isHighAvailabilityConfigured,
  isMultiZonalShootControlPlane,
  isSelfHostedShoot,
  isTopologyAwareRoutingEnabled,
  isTopologyAwareRoutingForShootControlPlaneEnabled,
  seedTopologyAwareRoutingEnabled,
} from './spec.ts';
export type { ZoneAssessment } from './spec.ts';
export { decideLayerSeven, isIstioTlsTerminationDisabled, mtlsServiceName } from './layer-seven.ts';
export type { LayerSevenDecision, LayerSevenEvidence } from './layer-seven.ts';
export { classifyNamespace } from './namespaces.ts';
export type { NamespaceClass } from './namespaces.ts';
export {
  CATALOGUE,
  NOT_TOPOLOGY_AWARE,
  catalogueEntriesOf,
  entryOfEtcd,
  entryOfService,
  selectEtcd,
  selectService,
} from './catalogue.ts';
export type { Selection } from './catalogue.ts';
export {
  decideClusterRouting,
  decideGardenRouting,
  decideObjectRouting,
  decideSeedExtensionRouting,
  decideShootRouting,
} from './decide.ts';
export type { ObjectRoutingInput, ShootRoutingInput } from './decide.ts';
export { assessReading, describeProblems } from './extension/assess.ts';
export { extensionClassOf, governingExtension, isResponsible } from './extension/governing.ts';
export { configuredEtcdSelection, configuredSelection, heldByConfiguration } from './extension/select.ts';
export type { ConfiguredSelection } from './extension/select.ts';
export type { Governing, ReadExtension } from './extension/types.ts';
export type * from './types.ts';
