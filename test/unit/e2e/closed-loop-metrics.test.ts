// SPDX-License-Identifier: Apache-2.0
// What the flow controller is told of the suite's Pods, and what the suite is told of its changes.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { FlowPolicy } from '../../../pkg/apis/flow-policy.ts';
import { changesBetween } from '../../e2e/closed-loop-controller.ts';
import { countersOf, readingsOf } from '../../e2e/closed-loop-metrics.ts';
import type { TrafficReport } from '../../e2e/closed-loop-protocol.ts';
import { createRecorder } from '../../e2e/closed-loop-recorder.ts';
import { POD } from '../../e2e/closed-loop-scenarios.ts';

const second = (at: number, served: number): TrafficReport => ({
  zone: 'a',
  second: at,
  lateMs: 0,
  clients: {},
  pods: { 'load-aware-1': { service: 'load-aware', served, refused: 0, filled: 0 } },
});

describe('metrics of the closed-loop suite', () => {
  const pods = [
    { name: 'load-aware-1', zone: 'a' },
    { name: 'load-aware-2', zone: 'b' },
  ];

  it('give a Pod that serves all it can one core, and none of a Pod without a report', () => {
    const recorder = createRecorder();
    for (let at = 0; at < 31; at += 1) recorder.add(second(at, at < 15 ? POD.requestsPerSecond : 0));
    expect(readingsOf({ pods, recorder }, 14), 'before the first window').to.deep.equal([]);
    const readings = readingsOf({ pods, recorder }, 31);
    expect(readings.map(({ pod, cores }) => [pod, cores])).to.deep.equal([['load-aware-1', 1]]);
    expect(readings[0]).to.include({ sampledAt: 15, window: 15 });
    expect(readings[0]?.labels).to.deep.equal({ app: 'load-aware' });
  });

  it('count what a Pod has served since it began', () => {
    const recorder = createRecorder();
    recorder.count({ zone: 'a', served: { 'load-aware-1': 7, 'spread-1': 9 } });
    expect(countersOf({ pods, recorder })).to.deep.equal([
      { name: 'shop_requests_served_total', labels: { namespace: 'shop', pod: 'load-aware-1' }, value: 7 },
    ]);
  });
});

describe('changes that a FlowPolicy lists', () => {
  const at = (time: number): string => new Date(time * 1000).toISOString();
  const policy = (lastChanges: NonNullable<FlowPolicy['status']>['lastChanges']): FlowPolicy => ({
    apiVersion: 'topology.extensions.gardener.cloud/v1alpha1',
    kind: 'FlowPolicy',
    metadata: { name: 'web' },
    status: lastChanges === undefined ? {} : { lastChanges },
  });

  it('are those of the time asked for, the oldest first, in seconds since its begin', () => {
    const listed = policy([
      { time: at(1_030), reason: 'Returned', message: '' },
      { time: at(1_012.4), reason: 'Saturated', message: '' },
      { time: at(990), reason: 'Returned', message: '' },
    ]);
    expect(changesBetween(listed, 1_000, 1_030)).to.deep.equal([{ at: 12, reason: 'Saturated' }]);
  });

  it('are none where nothing was changed yet', () => {
    expect(changesBetween(policy(undefined), 0, 10)).to.deep.equal([]);
  });
});
