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
} from './decide.ts';
export type { ZoneAssessment } from './decide.ts';
export { decideLayerSeven, isIstioTlsTerminationDisabled, mtlsServiceName } from './catalogue.ts';
export type { LayerSevenDecision, LayerSevenEvidence } from './catalogue.ts';
export { classifyNamespace } from './types.ts';
export type { NamespaceClass } from './types.ts';
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
export { assessReading, describeProblems } from './extension/select.ts';
export { extensionClassOf, governingExtension, isResponsible } from './extension/select.ts';
export { configuredEtcdSelection, configuredSelection, heldByConfiguration } from './extension/select.ts';
export type { ConfiguredSelection } from './extension/select.ts';
export type { Governing, ReadExtension } from './extension/select.ts';
export type * from './types.ts';
