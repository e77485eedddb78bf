// Seeds and Shoots on a sandbox.
import { expect } from 'chai';
import { afterEach, beforeEach } from 'mocha';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import { NAMESPACES } from '../../pkg/apis/resources.ts';
import { node, service } from '../fixtures/core.ts';
import { cluster, etcd, namespace, seed, shoot } from '../fixtures/gardener.ts';
import { eventually } from './controller-bed.ts';
import { type Bed, openBed } from './settings-support.ts';

export const NS = 'shoot--foo--bar';

export const MODE = 'modes: {seed: {gardener: {version: v1.130.0}}}';

const landscape = (): KubernetesObject[] => [
  ...['eu-1a', 'eu-1b', 'eu-1c'].map((zone) => node({ zone })),
  namespace(),
  ...['kube-apiserver', 'gardener-resource-manager', 'vpa-webhook', 'other'].map((name) =>
    service({ metadata: { name, namespace: NS } }),
  ),
  etcd(),
  etcd({ metadata: { name: 'etcd-events', namespace: NS } }),
];

export const SHOOT_SERVICES = ['kube-apiserver', 'gardener-resource-manager', 'vpa-webhook'];

export const useShoots = () => {
  let bed: Bed;
  beforeEach(async () => {
    bed = await openBed();
    await bed.apply(...landscape());
  });
  afterEach(() => bed.close());
  const distribution = (name: string): string | undefined => bed.service(NS, name).spec?.trafficDistribution;
  const all = (): (string | undefined)[] => SHOOT_SERVICES.map(distribution);
  const labelOf = (key: string): string | undefined =>
    bed.sandbox.get(NAMESPACES, { name: NS })?.metadata?.labels?.[key];
  const expectAll = (value: string | undefined) =>
    eventually(() => expect(all(), 'trafficDistribution of Services').to.deep.equal(Array(3).fill(value)));
  const setSeed = (enabled: boolean, zones = ['eu-1a', 'eu-1b', 'eu-1c'], of = shoot()) =>
    bed.apply(cluster({ spec: { seed: seed({ enabled, zones }), shoot: of } }));
  return {
    get bed() {
      return bed;
    },
    distribution,
    all,
    labelOf,
    expectAll,
    setSeed,
  };
};
