// What holds for every simulation: the matrix is the routes', adds up, does not depend on the order of the input, and money follows it.
import { expect } from 'chai';
import fc from 'fast-check';
import { upTo } from '../../../support/depth.ts';
import { describe, it } from 'mocha';
import { LABEL_ZONE } from '../../../../pkg/apis/names.ts';
import { createRouters } from '../../../../pkg/diagnosis/routers/routers.ts';
import { routesReport } from '../../../../pkg/diagnosis/models/routes.ts';
import { BUILT_IN_PRICES } from '../../../../pkg/diagnosis/prices.ts';
import { type Matrix, type Outcome, surplusOf } from '../../../../pkg/diagnosis/simulate/verdict.ts';
import type { SimulateOptions } from '../../../../pkg/diagnosis/simulate/types.ts';
import type { SimulationReport } from '../../../../pkg/diagnosis/simulate/simulate.ts';
import { type Cluster, type ClusterCase, clusterOf, reportFor, simulateCluster, sumOf } from './cases.ts';

const ZONES = ['a', 'b', 'c', 'd'];
const VERSIONS = ['v1.26.1', 'v1.29.3', 'v1.31.0', 'v1.33.2', 'v1.34.0', 'v1.36.0'];
const TOLERANCE = 1e-9;
const FAIR_SHARE = { of: 'fair share', most: 1.2 } as const;

const cores = fc.integer({ min: 1, max: 16 });
const zones: fc.Arbitrary<ClusterCase['zones']> = fc
  .tuple(
    fc.integer({ min: 2, max: 4 }),
    fc.array(fc.array(cores, { minLength: 1, maxLength: 3 }), { minLength: 4, maxLength: 4 }),
  )
  .map(([count, sizes]) => Object.fromEntries(ZONES.slice(0, count).map((zone, index) => [zone, sizes[index]!])));

/** Services in use: at least one ready endpoint with a zone, hints of any kind or none, of any mode. */
const clusters: fc.Arbitrary<ClusterCase> = fc
  .record({
    zones,
    endpoints: fc
      .array(fc.constantFrom(...ZONES, ''), { minLength: 1, maxLength: 8 })
      .filter((own) => own.some((zone) => zone !== '')),
    kubeletVersion: fc.constantFrom(...VERSIONS),
    hints: fc.array(fc.subarray(ZONES), { maxLength: 8 }),
    trafficDistribution: fc.constantFrom(undefined, 'PreferClose', 'PreferSameZone', 'PreferSameNode'),
  })
  .map(({ trafficDistribution, ...rest }) => ({
    ...rest,
    service: { spec: trafficDistribution === undefined ? {} : { trafficDistribution } },
  }));

const outcomesOf = (report: SimulationReport): readonly (readonly [string, Outcome])[] => [
  ['now', report.now] as const,
  ...report.modes.flatMap(({ mode, outcome }) => (outcome === null ? [] : [[mode, outcome] as const])),
];

const total = (matrix: Matrix): number => Object.values(matrix).reduce((sum, row) => sum + sumOf(row), 0);
const diagonal = (matrix: Matrix): number =>
  Object.entries(matrix).reduce((sum, [zone, row]) => sum + (zone === '' ? 0 : (row[zone] ?? 0)), 0);

const check = (runs: number, of: (cluster: ClusterCase) => void): void =>
  fc.assert(fc.property(clusters, of), { numRuns: upTo(runs) });

/** What the report of `route` leads to, worked out by hand: each Node's part divided evenly among what it uses. */
const byRoutes = ({ nodes, service, slice }: Cluster, weights: SimulationReport['demand']): Matrix => {
  const zoneOf = new Map(slice.endpoints!.map(({ addresses, zone = '' }) => [addresses[0]!, zone]));
  const { routes } = routesReport(createRouters({ objects: [], nodes }), { service, nodes, slices: [slice] });
  const matrix: Record<string, Record<string, number>> = {};
  for (const { zone, cluster } of routes) {
    const { share, nodes: count } = weights.zones[zone]!;
    const row = (matrix[zone] ??= {});
    for (const key of cluster ?? []) {
      const to = zoneOf.get(key.split(':')[0]!)!;
      row[to] = (row[to] ?? 0) + share / count / cluster!.length;
    }
  }
  return matrix;
};

const expectSame = (left: Matrix, right: Matrix): void => {
  const froms = new Set([...Object.keys(left), ...Object.keys(right)]);
  for (const from of froms) {
    for (const to of new Set([...Object.keys(left[from] ?? {}), ...Object.keys(right[from] ?? {})]))
      expect(left[from]?.[to] ?? 0, `${from} to ${to}`).to.be.closeTo(right[from]?.[to] ?? 0, TOLERANCE);
  }
};

describe('simulate, for any cluster', () => {
  it('now is what the routes of the stored state lead to', () => {
    check(150, (cluster) => {
      const report = reportFor(cluster);
      expectSame(report.now.matrix, byRoutes(clusterOf(cluster), report.demand));
    });
  });

  it('a mode that is in force and stored as it should be leads where now leads', () => {
    check(100, (cluster) => {
      const settled = { ...cluster, hints: cluster.endpoints.map((zone) => (zone === '' ? [] : [zone])) };
      const report = reportFor({
        ...settled,
        kubeletVersion: 'v1.34.0',
        service: { spec: { trafficDistribution: 'PreferSameZone' } },
      });
      const mode = report.modes.find(({ inForce }) => inForce)!;
      expect(mode.mode).to.equal('PreferSameZone');
      expectSame(report.now.matrix, mode.outcome!.matrix);
    });
  });

  it('rows add up to the demand of their zone, all of them to all traffic', () => {
    check(100, (cluster) => {
      const report = reportFor(cluster);
      for (const [mode, { matrix, lostShare }] of outcomesOf(report)) {
        expect(total(matrix) + lostShare, mode).to.be.closeTo(1, TOLERANCE);
        for (const [zone, { share }] of Object.entries(report.demand.zones))
          expect(sumOf(matrix[zone]), `${mode}, row ${zone}`).to.be.closeTo(share, TOLERANCE);
      }
    });
  });

  it('what stays in its zone is the diagonal', () => {
    check(100, (cluster) => {
      for (const [mode, { matrix, inZoneShare }] of outcomesOf(reportFor(cluster)))
        expect(inZoneShare, mode).to.be.closeTo(diagonal(matrix), TOLERANCE);
    });
  });

  it('is the same whatever order Nodes come in', () => {
    check(60, (cluster) => {
      const own = clusterOf(cluster);
      const turned = { ...own, nodes: [...own.nodes].reverse() };
      const options: Partial<SimulateOptions> = { gigabytesPerDay: 10 };
      expect(simulateCluster(turned, options)).to.deep.equal(simulateCluster(own, options));
    });
  });

  it('is the same whatever order endpoints have in their slice, but for Auto, which lends them in that order', () => {
    check(60, (cluster) => {
      const own = clusterOf(cluster);
      const turned = { ...own, slice: { ...own.slice, endpoints: [...own.slice.endpoints!].reverse() } };
      const [left, right] = [own, turned].map((each) => {
        const result = simulateCluster(each, { gigabytesPerDay: 10 });
        if (result.kind === 'refused') throw new Error(result.message);
        const { now, demand, modes } = result.report;
        const compared = modes.filter(({ mode }) => mode !== 'Auto');
        return { now, demand, modes: compared.map(({ mode, outcome, verdict }) => ({ mode, outcome, verdict })) };
      });
      expect(right).to.deep.equal(left);
    });
  });

  it('money follows what crosses, where every crossing costs the same', () => {
    check(60, (cluster) => {
      const outcomes = outcomesOf(reportFor(cluster, { gigabytesPerDay: 100 })).map(([, outcome]) => outcome);
      for (const outcome of outcomes) {
        const crossing = total(outcome.matrix) - diagonal(outcome.matrix);
        expect(outcome.costPerMonth).to.be.closeTo(crossing * 100 * 0.02 * (365 / 12), 1e-6);
      }
    });
  });

  it('money grows with the bytes and with every price, and never changes with neither', () => {
    fc.assert(
      fc.property(
        clusters,
        fc.double({ min: 0, max: 1e6, noNaN: true }),
        fc.double({ min: 1, max: 10, noNaN: true }),
        (cluster, gigabytes, factor) => {
          const cost = (options: Partial<SimulateOptions>): number[] =>
            // Plans look at prices; what is stored does not.
            [reportFor(cluster, options).now.costPerMonth!];
          const [base] = cost({ gigabytesPerDay: gigabytes });
          const [more] = cost({ gigabytesPerDay: gigabytes * factor });
          const { crossZone } = BUILT_IN_PRICES.aws;
          const dear = { ...BUILT_IN_PRICES.aws, crossZone: { out: crossZone.out * factor, in: crossZone.in } };
          const [dearer] = cost({ gigabytesPerDay: gigabytes, prices: dear });
          expect(more!).to.be.at.least(base! * (1 - TOLERANCE));
          expect(dearer!).to.be.at.least(base! * (1 - TOLERANCE));
        },
      ),
      { numRuns: 40 },
    );
  });

  it('says nothing of money without bytes', () => {
    check(20, (cluster) => {
      const report = reportFor(cluster, { prices: BUILT_IN_PRICES.gcp });
      expect(report).not.to.have.property('prices');
      expect(JSON.stringify(report)).not.to.contain('costPerMonth');
    });
  });

  it('recommends nothing above the limit where anything keeps to it, and nothing worse than no hints', () => {
    check(100, (cluster) => {
      const report = reportFor(cluster);
      const outcomes = new Map(outcomesOf(report));
      const chosen = outcomes.get(report.recommendation.mode)!;
      expect(surplusOf(chosen, FAIR_SHARE)).to.equal(0);
      expect(chosen.inZoneShare).to.be.at.least(outcomes.get('none')!.inZoneShare - TOLERANCE);
      expect(report.modes.filter(({ recommended }) => recommended)).to.have.lengthOf(1);
    });
  });

  it('proportional keeps its limit wherever every proxy follows hints', () => {
    check(60, (cluster) => {
      const report = reportFor({ ...cluster, kubeletVersion: 'v1.34.0' });
      const { outcome } = report.modes.find(({ mode }) => mode === 'proportional')!;
      expect(outcome!.worstOverload).to.be.at.most(0.2 + 1e-6);
    });
  });

  it('load-aware leaves no more above the target than no hints do', () => {
    const demands = fc.tuple(...ZONES.map(() => fc.double({ min: 0, max: 4, noNaN: true })));
    fc.assert(
      fc.property(clusters, demands, fc.double({ min: 0.25, max: 4, noNaN: true }), (cluster, amounts, capacity) => {
        const own = Object.keys(cluster.zones);
        const demand = Object.fromEntries(own.map((zone, index) => [zone, amounts[index]! + 0.01]));
        const report = reportFor({ ...cluster, kubeletVersion: 'v1.34.0' }, { demand, capacity });
        const outcomes = new Map(outcomesOf(report));
        const overload = (mode: string) => Math.max(0, outcomes.get(mode)!.maxUtilization! - 0.7);
        // No hints load all alike, which is the least that the busiest can have.
        if (overload('none') === 0) expect(overload('load-aware')).to.be.at.most(1e-6);
      }),
      { numRuns: 60 },
    );
  });

  it('a Node counts by its zone: relabelled clusters give relabelled results', () => {
    check(40, (cluster) => {
      const rename = (zone: string): string => (zone === '' ? '' : `x-${zone}`);
      const { nodes, service, slice } = clusterOf(cluster);
      const renamed: Cluster = {
        service,
        nodes: nodes.map((node) => ({
          ...node,
          metadata: { ...node.metadata, labels: { [LABEL_ZONE]: rename(node.metadata!.labels![LABEL_ZONE]!) } },
        })),
        slice: {
          ...slice,
          endpoints: slice.endpoints!.map((endpoint) => ({
            ...endpoint,
            ...(endpoint.zone === undefined ? {} : { zone: rename(endpoint.zone) }),
            ...(endpoint.hints === undefined
              ? {}
              : { hints: { forZones: endpoint.hints.forZones!.map(({ name }) => ({ name: rename(name) })) } }),
          })),
        },
      };
      const [left, right] = [simulateCluster({ nodes, service, slice }), simulateCluster(renamed)];
      if (left.kind === 'refused' || right.kind === 'refused') throw new Error('refused');
      const figures = (report: SimulationReport) =>
        outcomesOf(report).map(([mode, { hinted, inZoneShare }]) => [mode, hinted, inZoneShare.toFixed(9)]);
      expect(figures(right.report)).to.deep.equal(figures(left.report));
    });
  });
});
