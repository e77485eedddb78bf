// Services and clusters for the tests of survival.
import type { KubernetesObject } from '../../../../pkg/apis/meta.ts';
import { survival } from '../../../../pkg/diagnosis/survival/survival.ts';
import type { ServiceSurvival, SurvivalOptions, SurvivalReport } from '../../../../pkg/diagnosis/survival/survival.ts';
import { endpointsIn, kubeProxy, node, service, slice } from '../../../fixtures/core.ts';
import { snapshotOf } from '../../../fixtures/snapshot.ts';

export const [A, B, C] = ['eu-1a', 'eu-1b', 'eu-1c'] as const;

export const NODES = [A, B, C].map((zone) => node({ zone }));

export const web = (
  zones: readonly string[],
  spec: NonNullable<Parameters<typeof service>[0]>['spec'] = {},
  hinted = false,
): KubernetesObject[] => [
  service({ metadata: { name: 'web' }, spec }),
  slice({ service: 'web', endpoints: endpointsIn(zones, hinted) }),
];

export const named = (name: string, zones: readonly string[]): KubernetesObject[] => [
  service({ metadata: { name } }),
  slice({ service: name, metadata: { name: `${name}-x` }, endpoints: endpointsIn(zones) }),
];

export const ask = (objects: readonly KubernetesObject[], options: Partial<SurvivalOptions> = {}): SurvivalReport =>
  survival(snapshotOf(...objects), { now: 0, zones: [A], ...options });

export const answered = (
  objects: readonly KubernetesObject[],
  options: Partial<SurvivalOptions> = {},
): ServiceSurvival => {
  const [first] = ask([...NODES, kubeProxy(), ...objects], options).services;
  if (first === undefined) throw new Error('no Service');
  return first;
};

export const SAME_ZONE = { trafficDistribution: 'PreferSameZone' };
