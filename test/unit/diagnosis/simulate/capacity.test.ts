import { expect } from 'chai';
import { describe, it } from 'mocha';
import { capacityOf } from '../../../../pkg/diagnosis/simulate/context.ts';
import type { PodSummary } from '../../../../pkg/diagnosis/snapshot.ts';
import { endpoint, slice } from '../../../fixtures/core.ts';

const pod = (name: string, requestMilliCpu?: number, namespace = 'default'): PodSummary => ({
  namespace,
  name,
  labels: {},
  serviceAccount: 'default',
  nodeName: '',
  phase: 'Running',
  creationTimestamp: '',
  ports: [],
  ready: true,
  ...(requestMilliCpu === undefined ? {} : { requestMilliCpu }),
});

const slices = [
  slice({
    endpoints: ['web-1', 'web-2'].map((name, index) =>
      endpoint({ addresses: [`10.0.0.${index}`], targetRef: { kind: 'Pod', name } }),
    ),
  }),
];
const BOTH = ['10.0.0.0', '10.0.0.1'];

describe('capacityOf', () => {
  const [first, second] = [pod('web-1', 250), pod('web-2', 1500)];
  const rows: readonly (readonly [
    name: string,
    ready: readonly string[],
    pods: readonly PodSummary[],
    given: number | undefined,
    cores: readonly number[],
  ])[] = [
    ['is what was given, of each', BOTH, [first], 2, [2, 2]],
    ['else what its Pod requests', BOTH, [first, second], undefined, [0.25, 1.5]],
    ['asks for ready endpoints only', BOTH.slice(0, 1), [first], undefined, [0.25]],
  ];
  for (const [name, ready, pods, given, cores] of rows) {
    it(name, () => {
      const { source, byAddress } = capacityOf({ addresses: new Set(ready), slices, pods, given }) ?? {};
      expect(source).to.equal(given === undefined ? 'requests' : 'given');
      expect([...(byAddress ?? [])]).to.deep.equal(ready.map((address, index) => [address, cores[index]]));
    });
  }

  const unknown: readonly [name: string, pods: readonly PodSummary[]][] = [
    ['no Pods', []],
    ['a Pod that is not known', [pod('web-1', 250)]],
    ['a Pod without requests', [pod('web-1', 250), pod('web-2')]],
    ['a Pod that requests nothing', [pod('web-1', 250), pod('web-2', 0)]],
    ['a Pod of that name elsewhere', [pod('web-1', 250), pod('web-2', 250, 'other')]],
  ];
  for (const [name, pods] of unknown) {
    it(`is not known with ${name}`, () => {
      expect(capacityOf({ addresses: new Set(BOTH), slices, pods, given: undefined })).to.equal(null);
    });
  }
});
