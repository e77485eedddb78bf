// Context and decisions for the tests of the settings reconcilers.
import { ANNOTATION_APPLIED } from '../../../../pkg/apis/names.ts';
import { decideObjects, planService } from '../../../../pkg/controllers/settings/decide/objects.ts';
import type {
  NamespaceDecision,
  ObjectDecision,
  RoutingContext,
} from '../../../../pkg/controllers/settings/context.ts';
import type { RoutingDecision } from '../../../../pkg/gardener/types.ts';
import { service } from '../../../fixtures/core.ts';
import { etcd } from '../../../fixtures/gardener.ts';

export const NS = 'shoot--foo--bar';
export const ENABLED: RoutingDecision = { kind: 'enabled' };
export const applied = { [ANNOTATION_APPLIED]: '{"trafficDistribution":"PreferSameZone"}' };

export const named = (name: string, labels: Record<string, string> = {}, annotations: Record<string, string> = {}) =>
  service({ metadata: { name, namespace: NS, labels, annotations } });

export const refusedFor = (reason: Extract<RoutingDecision, { kind: 'refused' }>['reason']): RoutingDecision => ({
  kind: 'refused',
  reason,
  message: `because of ${reason}`,
});

export const context = (overrides: Partial<RoutingContext> = {}): RoutingContext => ({
  version: { major: 1, minor: 34 },
  mixedKubelets: false,
  olderName: false,
  clients: [],
  ...overrides,
});

export const serviceDecision = (
  name: string,
  decision: RoutingDecision = ENABLED,
  overrides: Parameters<typeof service>[0] = {},
): ObjectDecision => {
  const metadata = { name, namespace: NS, resourceVersion: '5', ...overrides.metadata };
  return planService(service({ ...overrides, metadata }), decision, context());
};

export const etcdDecision = (decision: RoutingDecision = ENABLED, of: Partial<RoutingContext> = {}): ObjectDecision => {
  const etcds = [etcd({ metadata: { namespace: NS } })];
  const [row] = decideObjects({ decision, scope: 'shoot', services: [], etcds, context: context(of) });
  if (row === undefined) throw new Error('an Etcd of the catalogue has no row');
  return row;
};

export const namespaceDecision = (overrides: Partial<NamespaceDecision> = {}): NamespaceDecision => ({
  owner: 'shoot-settings',
  namespace: NS,
  scope: 'shoot',
  decision: ENABLED,
  regarding: { apiVersion: 'extensions.gardener.cloud/v1alpha1', kind: 'Cluster', name: NS },
  source: 'Cluster',
  objects: [],
  ...overrides,
});
