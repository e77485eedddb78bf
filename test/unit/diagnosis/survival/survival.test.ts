// Whether Services survive the loss of a zone: answers and figures.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { KubernetesObject } from '../../../../pkg/apis/meta.ts';
import type { ServiceSurvival, SurvivalOptions } from '../../../../pkg/diagnosis/survival/survival.ts';
import { endpoint, endpointsIn, service, slice } from '../../../fixtures/core.ts';
import { A, B, C, SAME_ZONE, answered, web } from './survival-support.ts';

describe('survival: the answer for one Service', () => {
  const cases: readonly (readonly [
    name: string,
    zones: readonly string[],
    options: Partial<SurvivalOptions>,
    expected: Partial<ServiceSurvival>,
  ])[] = [
    ['survives with one of three gone', [A, B, C], {}, { answer: 'Survives', endpoints: { count: 1, of: 3 } }],
    ['is overloaded where a third is left of four', [A, A, A, C], {}, { answer: 'Overloaded', replicas: { [B]: 1 } }],
    ['is down where all are there', [A, A], {}, { answer: 'NoEndpointElsewhere', replicas: { [B]: 1 } }],
    ['has nothing there', [B, C], {}, { answer: 'NoEndpointThere', endpoints: { count: 0, of: 2 } }],
    ['is down where both zones go', [A, B], { zones: [A, B] }, { answer: 'NoEndpointElsewhere', replicas: { [C]: 1 } }],
    [
      'is overloaded by a stricter limit',
      [A, B, C],
      { maxOverload: 0.2 },
      { answer: 'Overloaded', replicas: { [B]: 1 } },
    ],
    ['counts endpoints without zone as elsewhere', [A, ''], {}, { answer: 'Survives', zoneless: 1 }],
  ];
  for (const [name, zones, options, expected] of cases)
    it(name, () => expect(answered(web(zones), options)).to.deep.include(expected));

  const shares: readonly (readonly [percent: number, rounding: 'Up' | 'Down', leaving: number, answer: string])[] = [
    [100, 'Down', 3, 'Survives'],
    [50, 'Up', 2, 'Survives'],
    [50, 'Down', 1, 'Survives'],
    [67, 'Down', 2, 'Survives'],
    [1, 'Up', 1, 'Survives'],
    [33, 'Down', 0, 'LessThanOne'],
  ];
  for (const [percent, rounding, leaving, answer] of shares) {
    it(`${percent} % of three, rounded ${rounding.toLowerCase()}, are ${leaving}`, () => {
      const found = answered(web([A, A, A, B, B, C]), { requestsOf: () => [{ zone: A, percent, rounding }] });
      expect([found.endpoints, found.answer]).to.deep.equal([{ count: leaving, of: 6 }, answer]);
    });
  }

  it('two evacuations of one zone take what the larger of them takes', () => {
    const requests = [25, 50].map((percent) => ({ zone: A, percent, rounding: 'Up' }) as const);
    expect(answered(web([A, A, A, A, B]), { requestsOf: () => requests }).endpoints).to.deep.equal({ count: 2, of: 5 });
  });

  it('clients of the zone that keep to it go to the endpoints that stay there', () => {
    const objects = web([A, A, B, C], SAME_ZONE, true);
    const { load } = answered(objects, { requestsOf: () => [{ zone: A, percent: 50, rounding: 'Up' }] });
    expect([load?.now.toFixed(6), load?.after?.toFixed(6)]).to.deep.equal([(4 / 3).toFixed(6), (4 / 3).toFixed(6)]);
  });

  it('keeps clients at home where they are kept now, and spreads those of the lost zone', () => {
    const { load } = answered(web([A, B, C, C], SAME_ZONE, true));
    // A third of the clients in b, and a ninth of all from a, on the one endpoint there: 4/9 of 4 endpoints' fair share.
    expect(load).to.deep.include({ basis: 'fairShare', zone: B, limit: 2 });
    expect([load?.now, load?.after].map((own) => own?.toFixed(6))).to.deep.equal(['1.333333', (16 / 9).toFixed(6)]);
  });

  it('judges the port that is worst off', () => {
    const other = slice({
      service: 'web',
      metadata: { name: 'web-admin' },
      ports: [{ name: 'admin', protocol: 'TCP', port: 9000 }],
      endpoints: endpointsIn([A]),
    });
    const { answer, message } = answered([...web([A, B, C]), other]);
    expect([answer, message]).to.deep.equal([
      'NoEndpointElsewhere',
      `All of 1 ready endpoint (port admin) are in ${A}.`,
    ]);
  });

  it('judges the address family that is worst off', () => {
    const six = slice({ service: 'web', metadata: { name: 'web-6' }, addressType: 'IPv6' });
    six.endpoints = [endpoint({ zone: A, addresses: ['fd00::1'] })];
    expect(answered([...web([A, B, C], { ipFamilies: ['IPv4', 'IPv6'] }), six]).answer).to.equal('NoEndpointElsewhere');
  });

  it('ignores endpoints that are not ready', () => {
    const own = slice({ service: 'web', endpoints: endpointsIn([A, B]) });
    for (const each of own.endpoints ?? []) if (each.zone === B) each.conditions = { ready: false };
    expect(answered([service({ metadata: { name: 'web' } }), own]).answer).to.equal('NoEndpointElsewhere');
  });

  const untouched: readonly (readonly [string, readonly KubernetesObject[], string])[] = [
    [
      'the Service of the API server',
      [service({ metadata: { name: 'kubernetes' } }), slice({ service: 'kubernetes' })],
      'API server',
    ],
    ['a name in DNS', web([A], { type: 'ExternalName' }), 'DNS'],
    ['a Service without ready endpoints', web([]), 'No endpoint is ready'],
  ];
  for (const [name, objects, text] of untouched) {
    it(`touches not ${name}`, () => {
      const { answer, message, load } = answered(objects);
      expect([answer, load]).to.deep.equal(['NotTouched', null]);
      expect(message).to.contain(text);
    });
  }
});

const policy = (zones: Record<string, string>, spec: object, observed = 'True'): KubernetesObject =>
  ({
    apiVersion: 'topology.extensions.gardener.cloud/v1alpha1',
    kind: 'FlowPolicy',
    metadata: { name: 'web', namespace: 'default' },
    spec,
    status: {
      conditions: [{ type: 'Observed', status: observed, reason: 'x', message: '', lastTransitionTime: '' }],
      zones: Object.entries(zones).map(([zone, demand]) => ({ zone, demand })),
    },
  }) as KubernetesObject;

describe('survival: measured load', () => {
  const value = { capacity: { from: 'Value', value: '1' } };

  it('is a fraction of the capacity, and the limit is all of it', () => {
    const demand = { [A]: '1', [B]: '0.5', [C]: '0.7' };
    const { answer, load, replicas } = answered([...web([A, B, C]), policy(demand, value)]);
    expect(load).to.deep.include({ basis: 'measured', limit: 1, zone: B });
    expect([load?.now, load?.after].map((own) => own?.toFixed(4))).to.deep.equal(['0.7333', '1.1000']);
    expect([answer, replicas]).to.deep.equal(['Overloaded', { [B]: 1 }]);
  });

  it('has a limit of its own', () => {
    const objects = [...web([A, B, C]), policy({ [A]: '1.2' }, value)];
    expect(answered(objects).answer).to.equal('Survives');
    expect(answered(objects, { maxUtilization: 0.5 })).to.deep.include({ answer: 'Overloaded', replicas: { [B]: 1 } });
  });

  const unknown: readonly (readonly [string, KubernetesObject])[] = [
    ['nothing was observed', policy({ [A]: '1' }, value, 'False')],
    ['what a Pod requests is not known', policy({ [A]: '1' }, {})],
  ];
  for (const [name, own] of unknown) {
    it(`is not known where ${name}: fair shares stand in`, () => {
      expect(answered([...web([A, B, C]), own]).load?.basis).to.equal('fairShare');
    });
  }
});

describe('survival: measured clients', () => {
  const flow = (source: string, connections: number | null, bytes = 0) => ({
    service: 'default/web',
    source,
    destination: B,
    connections,
    requestBytes: bytes,
    responseBytes: 0,
  });
  const askWith = (...flows: ReturnType<typeof flow>[]): ServiceSurvival =>
    answered(web([A, B, C], SAME_ZONE, true), { measured: { by: 'test', seconds: 60, flows, notes: [] } });

  it('are where connections began: what the CPU of the Nodes says of them does not count', () => {
    const { load } = askWith(flow(A, 1), flow(B, 7), flow(B, 1), flow(C, 1));
    expect([load?.basis, load?.clientsMeasured, load?.zone]).to.deep.equal(['fairShare', true, B]);
    // 8 of 10 stay in b, and half of one from a: 8.5 on one of three endpoints.
    expect([load?.now.toFixed(6), load?.after?.toFixed(6)]).to.deep.equal([(2.4).toFixed(6), (2.55).toFixed(6)]);
  });

  it('are where bytes began, where one source counts no connections', () => {
    expect(askWith(flow(A, null, 1), flow(B, 5, 9)).load?.now).to.be.closeTo(2.7, 1e-9);
  });

  it('are assumed where nothing of the Service was measured', () => {
    const { load } = askWith({ ...flow(A, 5), service: 'default/other' });
    expect([load?.clientsMeasured, load?.now]).to.deep.equal([false, 1]);
  });
});
