// Simulations: modes side by side, and what is in force.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { ANNOTATION_TOPOLOGY_MODE, LABEL_CONSIDER, LABEL_STRATEGY } from '../../../../pkg/apis/names.ts';
import { MODE_NAMES, type ModeName, type SimulateOptions } from '../../../../pkg/diagnosis/simulate/types.ts';
import { AUTO, EQUAL, ONE_EACH, UNEVEN, clusterOf, modeOf, outcomeOf, reportFor, simulateCluster } from './cases.ts';
import type { ClusterCase } from './cases.ts';

describe('simulate: modes side by side', () => {
  const FIELDS = 'PreferClose=KeepsAll PreferSameZone=KeepsAll PreferSameNode=KeepsAll';
  const STRATEGIES = 'same-zone=KeepsAll same-node=KeepsAll proportional=KeepsAll';
  /** `best`: mode and reason; `verdicts`: of the modes that are looked at. */
  const cases: readonly [
    name: string,
    best: string,
    cluster: ClusterCase,
    verdicts: string,
    options?: Partial<SimulateOptions>,
  ][] = [
    [
      'one endpoint a zone, equal zones: everything works, the field is simplest',
      'PreferSameZone MostInZone',
      ONE_EACH,
      `none=Spread Auto=KeepsAll ${FIELDS} ${STRATEGIES} load-aware=DemandUnknown`,
    ],
    [
      'the field on 1.30 behind its gate',
      'PreferClose MostInZone',
      { ...ONE_EACH, kubeletVersion: 'v1.30.4' },
      'PreferClose=KeepsAll PreferSameZone=VersionTooOld',
      { gates: { ServiceTrafficDistribution: true } },
    ],
    [
      'Kubernetes before 1.24: no strategy of this project, and no gate for hints',
      'none NothingToGain',
      { ...ONE_EACH, kubeletVersion: 'v1.23.9' },
      'Auto=HintsControllerGateOff same-zone=VersionTooOld proportional=VersionTooOld',
    ],
    [
      'an endpoint without zone: no hints for any, but plans hint it for whom it may serve',
      'proportional MostInZone',
      { zones: EQUAL, endpoints: ['a', 'b', ''] },
      'Auto=EndpointWithoutZone PreferSameZone=EndpointWithoutHint same-zone=EndpointWithoutHint proportional=KeepsMost',
    ],
    [
      'traffic policy Local: no mode has any effect, and Nodes without endpoint lose connections',
      'none NothingToGain',
      { zones: EQUAL, endpoints: ['a', 'b'], service: { spec: { internalTrafficPolicy: 'Local' } } },
      'none=ConnectionsFail PreferSameZone=ConnectionsFail proportional=ConnectionsFail',
    ],
    [
      'traffic policy Local with an endpoint on every Node',
      'none NothingToGain',
      { ...ONE_EACH, service: { spec: { internalTrafficPolicy: 'Local' } } },
      'none=InternalTrafficPolicyLocal PreferSameZone=InternalTrafficPolicyLocal',
    ],
    [
      'no selector: the control plane looks away, the webhook does not',
      'same-zone MostInZone',
      { ...ONE_EACH, service: { spec: { selector: {} } } },
      'none=NotManaged Auto=NotManaged PreferSameZone=NotManaged same-zone=KeepsAll',
    ],
    [
      'Cilium without service topology: hints are given and nobody looks',
      'none NothingToGain',
      ONE_EACH,
      'PreferClose=CiliumServiceTopologyOff same-zone=CiliumServiceTopologyOff',
      { proxy: { kind: 'cilium', serviceTopology: false } },
    ],
    [
      'demand that hardly differs: load-aware is no better than the field',
      'PreferSameZone MostInZone',
      ONE_EACH,
      'load-aware=KeepsAll PreferSameZone=KeepsAll',
      { demand: { a: 1, b: 1, c: 1 }, capacity: 2 },
    ],
    [
      'demand above all capacity: the least overload wins',
      'PreferSameZone LeastOverload',
      { zones: EQUAL, endpoints: ['a', 'b', 'c'] },
      'none=Overloads PreferSameZone=Overloads load-aware=Overloads',
      { demand: { a: 3, b: 3, c: 3 }, capacity: 1 },
    ],
  ];
  for (const [name, best, cluster, verdicts, options] of cases) {
    it(name, () => {
      const { modes, recommendation } = reportFor(cluster, options);
      const found = modes.map(({ mode, verdict }) => `${mode}=${verdict.reason}`);
      expect(found).to.include.members(verdicts.split(' '));
      expect(`${recommendation.mode} ${recommendation.reason}`).to.equal(best);
      expect(modes.filter((mode) => mode.recommended).map(({ mode }) => mode)).to.deep.equal([recommendation.mode]);
    });
  }

  it('gives figures by hand: shares 4 : 2 : 1, five endpoints', () => {
    const report = reportFor(UNEVEN, { gigabytesPerDay: 100 });
    const none = outcomeOf(report, 'none');
    expect(none.inZoneShare).to.be.closeTo((4 / 7) * 0.4 + (2 / 7) * 0.4 + (1 / 7) * 0.2, 1e-12);
    expect(none.costPerMonth).to.be.closeTo((1 - none.inZoneShare) * 100 * 0.02 * (365 / 12), 1e-9);
    const sameZone = outcomeOf(report, 'PreferSameZone');
    expect(sameZone.inZoneShare).to.equal(1);
    expect(sameZone.worstOverload).to.be.closeTo((4 / 7 / 2) * 5 - 1, 1e-12);
    expect(sameZone.busiestZone).to.equal('a');
    expect(sameZone.costPerMonth).to.equal(0);
    expect(outcomeOf(report, 'proportional').worstOverload).to.be.at.most(0.2 + 1e-9);
    expect(report.recommendation.reason).to.equal('LeastCost');
    expect(report.recommendation.message).to.contain('with PreferSameZone it would be 100 %');
  });
});

describe('simulate: now, and what is in force', () => {
  const inForce: readonly [name: string, service: ClusterCase['service'], mode: ModeName][] = [
    ['nothing', {}, 'none'],
    ['the annotation', AUTO, 'Auto'],
    ['the field', { spec: { trafficDistribution: 'PreferClose' } }, 'PreferClose'],
    ['the field for nodes', { spec: { trafficDistribution: 'PreferSameNode' } }, 'PreferSameNode'],
    ['the annotation before the field', { ...AUTO, spec: { trafficDistribution: 'PreferClose' } }, 'Auto'],
    ['a word nobody knows', { spec: { trafficDistribution: 'PreferNear' } }, 'none'],
    [
      'the label before all',
      { metadata: { ...AUTO.metadata, labels: { [LABEL_STRATEGY]: 'load-aware' } } },
      'load-aware',
    ],
    ["Gardener's label", { metadata: { labels: { [LABEL_CONSIDER]: 'true' } } }, 'same-zone'],
  ];
  for (const [name, own, mode] of inForce) {
    it(`${name}: ${mode}`, () => {
      const report = reportFor({ ...ONE_EACH, service: own });
      expect(report.now.mode).to.equal(mode);
      expect(report.modes.filter((entry) => entry.inForce).map((entry) => entry.mode)).to.deep.equal([mode]);
    });
  }

  it('now is what is stored, a mode what would be stored: hints that were lost show', () => {
    const report = reportFor({ ...ONE_EACH, service: AUTO });
    expect(report.now.hinted).to.equal(0);
    expect(outcomeOf(report, 'Auto').hinted).to.equal(3);
    expect(report.recommendation.improves).to.equal(true);
  });

  it('leaves no trace of the mode in force in the others', () => {
    const plain = reportFor(UNEVEN);
    const others: readonly ClusterCase['service'][] = [
      { spec: { trafficDistribution: 'PreferSameZone' } },
      { metadata: { labels: { [LABEL_STRATEGY]: 'same-node' } } },
      AUTO,
    ];
    for (const own of others) {
      const report = reportFor({ ...UNEVEN, service: own });
      for (const mode of MODE_NAMES)
        expect(modeOf(report, mode).outcome, mode).to.deep.equal(modeOf(plain, mode).outcome);
    }
  });
});

describe('simulate: what each mode is set by', () => {
  const settings = (kubeletVersion: string) =>
    Object.fromEntries(
      reportFor({ ...ONE_EACH, kubeletVersion }).modes.map(({ mode, settings: own, neededComponent, since }) => [
        mode,
        `${since} ${neededComponent}: ${own.join(' ')}`,
      ]),
    );

  it('Kubernetes 1.34', () => {
    const strategy = `metadata.labels[${LABEL_STRATEGY}]`;
    expect(settings('v1.34.0')).to.deep.equal({
      none: '1.24 controlPlane: ',
      Auto: `1.24 controlPlane: metadata.annotations[${ANNOTATION_TOPOLOGY_MODE}]=Auto`,
      PreferClose: '1.31 controlPlane: spec.trafficDistribution=PreferClose',
      PreferSameZone: '1.34 controlPlane: spec.trafficDistribution=PreferSameZone',
      PreferSameNode: '1.34 controlPlane: spec.trafficDistribution=PreferSameNode',
      'same-zone': `1.24 controlPlane: ${strategy}=same-zone spec.trafficDistribution=PreferSameZone`,
      'same-node': `1.24 controlPlane: ${strategy}=same-node spec.trafficDistribution=PreferSameNode`,
      proportional: `1.24 planner: ${strategy}=proportional`,
      'load-aware': '1.24 planner: ',
    });
  });

  it('Kubernetes 1.30: an annotation for the proxies, of our own domain so that the control plane looks away', () => {
    const own = settings('v1.30.0');
    expect(own['same-zone']).to.contain('1.24 webhook: ').and.to.contain('/same-zone');
    expect(own['PreferClose']).to.equal('1.31 controlPlane: ');
  });

  it('the control plane on 1.34 with a proxy of 1.30: strategies take it along, the field does not', () => {
    const cluster = clusterOf(ONE_EACH);
    const [first, ...rest] = cluster.nodes;
    const old = { ...first!, status: { ...first!.status, nodeInfo: { kubeletVersion: 'v1.30.1' } } };
    const result = simulateCluster({ ...cluster, nodes: [old, ...rest] });
    if (result.kind === 'refused') throw new Error(result.message);
    const { report } = result;
    expect(modeOf(report, 'PreferSameZone').verdict.reason).to.equal('ProxyNeedsAnnotation');
    expect(modeOf(report, 'PreferSameZone').verdict.message).to.contain('On 1 of 3 Nodes with clients');
    expect(modeOf(report, 'same-zone').verdict.reason).to.equal('KeepsAll');
  });
});
