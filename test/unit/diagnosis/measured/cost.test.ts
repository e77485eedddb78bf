// Measured bytes in money: what crosses, what is saved already, what could be, and what no Service touches.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { audit, type AuditReport } from '../../../../pkg/diagnosis/audit/audit.ts';
import { measuredParts, measuredPast } from '../../../../pkg/diagnosis/measured.ts';
import { BUILT_IN_PRICES, DAYS_PER_MONTH, tariffOf } from '../../../../pkg/diagnosis/prices.ts';
import type { Measured, MeasuredFlow } from '../../../../pkg/traffic/measured.ts';
import { endpointsIn, node, service, slice } from '../../../fixtures/core.ts';
import { flow, GIGABYTE_A_DAY, measured } from '../../../fixtures/measured.ts';
import { snapshotOf } from '../../../fixtures/snapshot.ts';

const ZONES = ['a', 'b', 'c'];
const tariff = tariffOf(BUILT_IN_PRICES.aws, []);
/** Of a gigabyte that crosses each day: a cent out and a cent in. */
const MONTH = 0.02 * DAYS_PER_MONTH;

const cluster = (wanted: boolean) =>
  snapshotOf(
    ...ZONES.map((zone) => node({ zone, metadata: { name: `n-${zone}` } })),
    service({
      metadata: { namespace: 'shop', name: 'web' },
      ...(wanted ? { spec: { trafficDistribution: 'PreferClose' } } : {}),
    }),
    slice({
      service: 'web',
      metadata: { namespace: 'shop' },
      endpoints: endpointsIn(ZONES, wanted),
    }),
  );

const auditOf = (flows: readonly MeasuredFlow[], wanted = false): AuditReport =>
  audit(cluster(wanted), { now: 0, proxy: { kind: 'kube-proxy' }, bill: { tariff, measured: measured(flows) } });

describe('measured traffic in an audit', () => {
  it('costs what crossed, and routing by zone would save what the endpoints allow', () => {
    const { services, prices } = auditOf([
      flow('shop/web', 'a', 'a', 1 * GIGABYTE_A_DAY),
      flow('shop/web', 'a', 'b', 2 * GIGABYTE_A_DAY),
    ]);
    const [web] = services;
    expect(web?.measured?.gigabytesPerDay).to.be.closeTo(3, 1e-9);
    expect(web?.measured?.crossZoneShare).to.be.closeTo(2 / 3, 1e-9);
    expect(web?.monthlyCost?.current).to.be.closeTo(2 * MONTH, 1e-9);
    expect(web?.monthlyCost?.saving?.routing).to.be.closeTo(2 * MONTH, 1e-9);
    expect(web?.monthlyCost?.saved, 'nobody asks for routing by zone').to.equal(0);
    expect(prices).to.include({ basis: 'Measured', currency: 'USD' });
    expect(prices?.gigabytesPerDay).to.be.closeTo(3, 1e-9);
  });

  it('shows what routing by zone saves already beside an even spread, and by what it was asked for', () => {
    const { services, measured: report } = auditOf([flow('shop/web', 'a', 'a', 3 * GIGABYTE_A_DAY)], true);
    // Evenly over three zones two thirds would cross.
    expect(services[0]?.monthlyCost?.saved).to.be.closeTo(2 * MONTH, 1e-9);
    expect(report?.savedBy).to.have.all.keys('trafficDistribution');
    expect(report?.savedBy['trafficDistribution']).to.be.closeTo(2 * MONTH, 1e-9);
  });

  it('distinguishes Services that are looked at, flows that pass none, and others; external bytes have no price', () => {
    const { measured: report } = auditOf([
      flow('shop/web', 'a', 'b', GIGABYTE_A_DAY),
      flow('', 'a', 'b', 4 * GIGABYTE_A_DAY),
      flow('', 'a', 'external', 8 * GIGABYTE_A_DAY),
      flow('', 'unknown', 'b', 16 * GIGABYTE_A_DAY),
      flow('gone/api', 'b', 'c', 32 * GIGABYTE_A_DAY),
      flow('other', 'a', 'a', 64 * GIGABYTE_A_DAY),
    ]);
    const round = (part: object): object =>
      Object.fromEntries(Object.entries(part).map(([name, value]) => [name, Number((value as number).toFixed(6))]));
    const part = (all: number, crossing: number, external: number, unknown: number): object => ({
      gigabytesPerDay: all,
      crossZoneGigabytesPerDay: crossing,
      externalGigabytesPerDay: external,
      unknownGigabytesPerDay: unknown,
      monthlyCost: Number((crossing * MONTH).toFixed(6)),
    });
    expect(round(report?.services ?? {})).to.deep.equal(part(1, 1, 0, 0));
    expect(round(report?.withoutService ?? {})).to.deep.equal(part(28, 4, 8, 16));
    expect(round(report?.others ?? {})).to.deep.equal(part(96, 32, 0, 0));
  });

  it('a Service without a byte has a cost of nothing, and no share', () => {
    const [web] = auditOf([]).services;
    expect(web?.measured).to.deep.equal({ gigabytesPerDay: 0, crossZoneShare: null, connections: 0, matrix: {} });
    expect(web?.monthlyCost).to.deep.equal({ current: 0, saving: { routing: 0, endpoints: 0 }, saved: 0 });
  });

  it('any traffic: parts add up to everything, nothing costs less than nothing, and no saving exceeds the cost', () => {
    const zone = fc.constantFrom('a', 'b', 'c', 'd', 'unknown', 'external', '');
    const name = fc.constantFrom('shop/web', 'shop/gone', '', 'other', 'unknown');
    const flows = fc.array(
      fc.tuple(name, zone, zone, fc.double({ min: 0, max: 1e9, noNaN: true })).map((row) => flow(...row)),
      { maxLength: 12 },
    );
    fc.assert(
      fc.property(flows, fc.boolean(), (all, wanted) => {
        const report = auditOf(all, wanted);
        const parts = measuredParts(tariff, measured(all), new Set(['shop/web']));
        const total = Object.values(parts).reduce((sum, { gigabytesPerDay }) => sum + gigabytesPerDay, 0);
        const bytes = all.reduce((sum, { responseBytes }) => sum + responseBytes, 0);
        expect(total).to.be.closeTo(bytes / GIGABYTE_A_DAY, 1e-6 * Math.max(1, total));
        for (const { monthlyCost } of report.services) {
          const { current = 0, saved = 0, saving } = monthlyCost ?? {};
          const { routing, endpoints } = saving ?? { routing: 0, endpoints: 0 };
          expect(Math.min(current, saved, routing, endpoints)).to.be.at.least(0);
          expect(routing + endpoints).to.be.at.most(current * (1 + 1e-9) + 1e-9);
        }
      }),
    );
  });
});

describe('what was measured past a Service', () => {
  const web = flow('shop/web', 'a', 'b', 1, 3);
  const past = (connections: number, destination = 'b') => [
    { service: 'shop/web', source: 'a', destination, connections },
    { service: 'shop/api', source: 'a', destination: 'b', connections: 9 },
  ];
  const rows: readonly (readonly [
    name: string,
    through: readonly MeasuredFlow[],
    direct: Measured['direct'],
    expected: readonly [connections: number, crossing: number, share: number | null, settled: boolean] | undefined,
  ])[] = [
    ['nothing is known where nothing counts it', [web], undefined, undefined],
    [
      'nothing beside bytes whose connections are not counted',
      [{ ...web, connections: null }],
      { nodes: 3, seconds: 3600, flows: past(1) },
      undefined,
    ],
    ['a quarter of its connections', [web], { nodes: 3, seconds: 3600, flows: past(1) }, [1, 1, 0.25, false]],
    ['some that stay in their zone', [web], { nodes: 3, seconds: 3600, flows: past(1, 'a') }, [1, 0, 0.25, false]],
    ['some from outside', [web], { nodes: 3, seconds: 3600, flows: past(1, 'external') }, [1, 0, 0.25, false]],
    ['nothing, on all Nodes', [web], { nodes: 3, seconds: 600, flows: past(0) }, [0, 0, 0, true]],
    ['nothing, on two of three Nodes', [web], { nodes: 2, seconds: 3600, flows: [] }, [0, 0, 0, false]],
    ['nothing, for a minute', [web], { nodes: 3, seconds: 60, flows: [] }, [0, 0, 0, false]],
    ['nothing, while it has no connections', [], { nodes: 3, seconds: 3600, flows: [] }, [0, 0, null, false]],
  ];
  for (const [name, through, direct, expected] of rows) {
    it(name, () => {
      const found = measuredPast(measured(through, direct === undefined ? {} : { direct }), 'shop/web', 3);
      expect(found && [found.connections, found.crossing, found.share, found.settled]).to.deep.equal(expected);
    });
  }
});
