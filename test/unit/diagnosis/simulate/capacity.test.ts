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
const addresses = new Set(['10.0.0.0', '10.0.0.1']);

describe('capacityOf', () => {
  it('is what was given, of each', () => {
    const capacity = capacityOf({ addresses, slices, pods: [pod('web-1', 250)], given: 2 });
    expect(capacity?.source).to.equal('given');
    expect([...(capacity?.byAddress ?? [])]).to.deep.equal([
      ['10.0.0.0', 2],
      ['10.0.0.1', 2],
    ]);
  });

  it('else what its Pod requests', () => {
    const capacity = capacityOf({ addresses, slices, pods: [pod('web-1', 250), pod('web-2', 1500)], given: undefined });
    expect(capacity?.source).to.equal('requests');
    expect([...(capacity?.byAddress ?? [])]).to.deep.equal([
      ['10.0.0.0', 0.25],
      ['10.0.0.1', 1.5],
    ]);
  });

  const unknown: readonly [name: string, pods: readonly PodSummary[]][] = [
    ['no Pods', []],
    ['a Pod that is not known', [pod('web-1', 250)]],
    ['a Pod without requests', [pod('web-1', 250), pod('web-2')]],
    ['a Pod that requests nothing', [pod('web-1', 250), pod('web-2', 0)]],
    ['a Pod of that name elsewhere', [pod('web-1', 250), pod('web-2', 250, 'other')]],
  ];
  for (const [name, pods] of unknown) {
    it(`is not known with ${name}`, () => {
      expect(capacityOf({ addresses, slices, pods, given: undefined })).to.equal(null);
    });
  }

  it('asks for ready endpoints only', () => {
    const capacity = capacityOf({
      addresses: new Set(['10.0.0.0']),
      slices,
      pods: [pod('web-1', 250)],
      given: undefined,
    });
    expect([...(capacity?.byAddress ?? [])]).to.deep.equal([['10.0.0.0', 0.25]]);
  });
});
