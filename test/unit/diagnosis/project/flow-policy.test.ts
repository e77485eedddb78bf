import { expect } from 'chai';
import { describe, it } from 'mocha';
import { flowPolicyOf } from '../../../../pkg/diagnosis/project/policies.ts';

const observed = (zones: readonly object[], status = 'True') => ({
  conditions: [
    { type: 'Effective', status: 'True' },
    { type: 'Observed', status },
  ],
  zones,
});
const ZONES = [
  { zone: 'a', demand: '1.25', endpoints: 2 },
  { zone: 'b', demand: '250m', endpoints: 1 },
];
const policy = (spec: object, status?: object) =>
  flowPolicyOf({ spec, ...(status === undefined ? {} : { status }) }, { namespace: 'shop', name: 'web' });

describe('flowPolicyOf', () => {
  it('reads observed demand, capacity and target', () => {
    const spec = { targetUtilizationPercent: 60, capacity: { from: 'Value', value: '500m' } };
    expect(policy(spec, observed(ZONES))).to.deep.equal({
      namespace: 'shop',
      name: 'web',
      demand: { a: 1.25, b: 0.25 },
      capacityFrom: 'Value',
      capacity: 0.5,
      targetUtilization: 0.6,
      loop: {
        mode: 'Enforce',
        targetPercent: 60,
        zones: ZONES.map((zone) => ({ ...zone, utilizationPercent: 0, spillPercent: 0 })),
        conditions: [
          { type: 'Effective', status: 'True', reason: '', message: '' },
          { type: 'Observed', status: 'True', reason: '', message: '' },
        ],
      },
    });
  });

  it('has the defaults of the API, and no demand before the first status', () => {
    const loop = { mode: 'Enforce', targetPercent: 70, zones: [], conditions: [] };
    expect(policy({})).to.deep.equal({ namespace: 'shop', name: 'web', capacityFrom: 'Requests', loop });
  });

  const unknown: readonly [name: string, spec: object, status: object][] = [
    ['a status that is not observed any more', {}, observed(ZONES, 'False')],
    ['a status without conditions', {}, { zones: ZONES }],
    ['no zones', {}, observed([])],
    ['no load', {}, observed([{ zone: 'a', demand: '0' }])],
    ['demand that is no amount', {}, observed([{ zone: 'a', demand: 'much' }])],
    [
      'samples of a query in a unit of their own',
      { metrics: { query: 'q' }, capacity: { from: 'Value', value: '100' } },
      observed(ZONES),
    ],
  ];
  for (const [name, spec, status] of unknown) {
    it(`knows no demand with ${name}`, () => {
      expect(policy(spec, status)).not.to.have.property('demand');
    });
  }

  it('takes samples of a query for cores where capacity is in cores', () => {
    expect(policy({ metrics: { query: 'q' } }, observed(ZONES)).demand).to.deep.equal({ a: 1.25, b: 0.25 });
  });

  it('reads what the loop says of itself, of its changes the newest', () => {
    const status = {
      source: 'metrics.k8s.io',
      demand: '1.5',
      inZonePercent: 70,
      maxUtilizationPercent: 66,
      bounds: { lpPercent: 80, integralityPercent: 74 },
      plan: { spread: false, endpoints: [] },
      zones: [{ zone: 'a', demand: '1.5', endpoints: 2, utilizationPercent: 66, spillPercent: 30 }],
      conditions: [{ type: 'Stable', status: 'False', reason: 'PlanChanged', message: 'the plan changed' }],
      lastChanges: [
        { time: '2026-11-20T10:00:00Z', reason: 'Overloaded', message: 'new' },
        { time: '2026-11-20T09:00:00Z', reason: 'Returned', message: 'old' },
      ],
    };
    expect(policy({ mode: 'Observe' }, status).loop).to.deep.equal({
      mode: 'Observe',
      targetPercent: 70,
      source: 'metrics.k8s.io',
      demand: '1.5',
      inZonePercent: 70,
      maxUtilizationPercent: 66,
      boundPercent: 74,
      spread: false,
      zones: status.zones,
      conditions: status.conditions,
      lastChange: { time: '2026-11-20T10:00:00Z', reason: 'Overloaded', message: 'new' },
    });
  });
});
