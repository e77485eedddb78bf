// SPDX-License-Identifier: Apache-2.0
// Context and decisions for the tests of the settings reconcilers.
import { planObject } from '../../../../pkg/controllers/settings/decide-objects.ts';
import type { NamespaceDecision, ObjectDecision, RoutingContext } from '../../../../pkg/controllers/settings/types.ts';
import type { RoutingDecision } from '../../../../pkg/gardener/types.ts';
import { DRUID_FIELD_SUPPORT } from '../../../../pkg/routing/etcd.ts';
import { service } from '../../../fixtures/core.ts';
import { etcd } from '../../../fixtures/gardener.ts';

export const NS = 'shoot--foo--bar';
export const ENABLED: RoutingDecision = { kind: 'enabled' };

export const refusedFor = (reason: Extract<RoutingDecision, { kind: 'refused' }>['reason']): RoutingDecision => ({
  kind: 'refused',
  reason,
  message: `because of ${reason}`,
});

export const context = (overrides: Partial<RoutingContext> = {}): RoutingContext => ({
  version: { major: 1, minor: 34 },
  mixedKubelets: false,
  etcdSupport: DRUID_FIELD_SUPPORT,
  prunedEtcds: new Set(),
  ...overrides,
});

export const serviceDecision = (
  name: string,
  decision: RoutingDecision = ENABLED,
  overrides: Parameters<typeof service>[0] = {},
): ObjectDecision => {
  const metadata = { name, namespace: NS, resourceVersion: '5', ...overrides.metadata };
  return planObject('Service', service({ ...overrides, metadata }), decision, context());
};

export const etcdDecision = (name: string, decision: RoutingDecision = ENABLED): ObjectDecision =>
  planObject('Etcd', etcd({ metadata: { name, namespace: NS, resourceVersion: '5' } }), decision, context());

export const namespaceDecision = (overrides: Partial<NamespaceDecision> = {}): NamespaceDecision => ({
  owner: 'shoot-settings',
  namespace: NS,
  decision: ENABLED,
  regarding: { apiVersion: 'extensions.gardener.cloud/v1alpha1', kind: 'Cluster', name: NS },
  source: 'Cluster',
  objects: [],
  ...overrides,
});
