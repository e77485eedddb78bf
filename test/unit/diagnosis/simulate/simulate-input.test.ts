// Simulations: demand, capacity, what-ifs, versions, and what is refused.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { SimulateOptions } from '../../../../pkg/diagnosis/simulate/types.ts';
import { parseVersion } from '../../../../pkg/routing/version.ts';
import { service } from '../../../fixtures/core.ts';
import { snapshotOf } from '../../../fixtures/snapshot.ts';
import { simulate } from '../../../../pkg/diagnosis/simulate/simulate.ts';
import { AUTO, EQUAL, ONE_EACH, UNEVEN, clusterOf, modeOf, outcomeOf, reportFor, simulateCluster } from './cases.ts';
import type { ClusterCase } from './cases.ts';

describe('simulate: what-ifs', () => {
  it('one more replica where the CPU is: Auto finds its shares', () => {
    const report = reportFor({ ...UNEVEN, service: AUTO }, { replicas: { a: 3 } });
    expect(report.whatIf).to.deep.equal({ replicas: { a: { before: 2, after: 3 } } });
    expect(report.endpoints).to.equal(6);
    expect(report.demand.zones['a']?.endpoints).to.equal(3);
    expect(outcomeOf(report, 'Auto').hinted).to.equal(6);
    // After a what-if now is what the Service's own settings would lead to.
    expect(report.now.hinted).to.equal(6);
  });
});

describe('simulate: demand and capacity', () => {
  it('shows cores where demand is given, and shares where it is not', () => {
    const given = reportFor(ONE_EACH, { demand: { a: 1, b: 0.5, c: 0.5 }, capacity: 1 });
    expect(given.demand).to.deep.include({ source: 'demand', cores: 2, note: '' });
    expect(given.demand.zones['a']).to.deep.equal({ share: 0.5, cores: 1, nodes: 1, endpoints: 1 });
    expect(given.capacity).to.deep.equal({ source: 'given', cores: 3, targetUtilization: 0.7 });
    expect(outcomeOf(given, 'PreferSameZone').maxUtilization).to.equal(1);
    expect(outcomeOf(given, 'none').maxUtilization).to.be.closeTo(2 / 3, 1e-12);
    const unknown = reportFor(ONE_EACH);
    expect(unknown.demand.cores).to.equal(null);
    expect(unknown.capacity).to.equal(null);
    expect(outcomeOf(unknown, 'none').maxUtilization).to.equal(null);
  });

  it('proportional goes by weights, not by the demand it cannot know', () => {
    const demand = { a: 1, b: 5, c: 1 };
    const byCpu = outcomeOf(reportFor(UNEVEN, { demand }), 'proportional');
    const told = outcomeOf(reportFor(UNEVEN, { demand, weights: demand }), 'proportional');
    expect(told.worstOverload).to.be.at.most(0.2 + 1e-9);
    expect(byCpu.worstOverload).to.be.above(0.2);
  });

  it('a limit of its own: what counts as overload, and what proportional keeps to', () => {
    const strict = reportFor(UNEVEN, { maxOverload: 0.05 });
    const loose = reportFor(UNEVEN, { maxOverload: 0.5 });
    expect([strict.maxOverload, loose.maxOverload, reportFor(UNEVEN).maxOverload]).to.deep.equal([0.05, 0.5, 0.2]);
    expect(outcomeOf(strict, 'proportional').worstOverload).to.be.at.most(0.05 + 1e-9);
    expect(modeOf(loose, 'PreferSameZone').verdict.reason).to.equal('KeepsAll');
    expect(loose.recommendation.mode).to.equal('PreferSameZone');
  });
});

describe('simulate: demand that a FlowPolicy observed', () => {
  const policy = (spec: object = {}, zones: Readonly<Record<string, string>> = { a: '2', b: '0.4', c: '400m' }) => ({
    apiVersion: 'topology.extensions.gardener.cloud/v1alpha1',
    kind: 'FlowPolicy',
    metadata: { namespace: 'default', name: 'server' },
    spec,
    status: {
      conditions: [{ type: 'Observed', status: 'True' }],
      zones: Object.entries(zones).map(([zone, demand]) => ({ zone, demand })),
    },
  });
  const six: ClusterCase = { zones: EQUAL, endpoints: ['a', 'a', 'b', 'b', 'c', 'c'] };
  const byPolicy = (other: ReturnType<typeof policy>, options: Partial<SimulateOptions> = {}) => {
    const result = simulateCluster({ ...clusterOf(six), others: [other] }, options);
    if (result.kind === 'refused') throw new Error(result.message);
    return result.report;
  };
  const VALUE = { capacity: { from: 'Value', value: '1' }, targetUtilizationPercent: 75 };

  it('is what clients are taken to need, with the capacity and the target of the policy', () => {
    const report = byPolicy(policy(VALUE));
    expect(report.demand).to.deep.include({ source: 'flowPolicy', cores: 2.8 });
    expect(report.capacity).to.deep.equal({ source: 'flowPolicy', cores: 6, targetUtilization: 0.75 });
    expect(modeOf(report, 'load-aware').outcome?.maxUtilization).to.be.at.most(0.75 + 1e-9);
    const given = reportFor(six, { demand: { a: 2, b: 0.4, c: 0.4 }, capacity: 1, targetUtilization: 0.75 });
    expect(report.modes).to.deep.equal(given.modes);
  });

  it('gives way to what is given', () => {
    expect(byPolicy(policy(VALUE), { demand: { a: 1 }, capacity: 2 }).demand.source).to.equal('demand');
    expect(byPolicy(policy(VALUE), { demand: { a: 1 } }).capacity).to.equal(null);
    expect(byPolicy(policy(VALUE), { weights: 'cpu' }).demand.source).to.equal('cpu');
    expect(byPolicy(policy(VALUE), { targetUtilization: 0.5 }).capacity?.targetUtilization).to.equal(0.5);
  });

  it('does not count where no Node is any more', () => {
    const gone = byPolicy(policy(VALUE, { a: '1', z: '5' }));
    expect(gone.demand).to.deep.include({ source: 'flowPolicy', cores: 1 });
    expect(byPolicy(policy(VALUE, { z: '5' })).demand.source).to.equal('cpu');
  });

  it('has no capacity where it would come from limits of Pods', () => {
    const report = byPolicy(policy({ capacity: { from: 'Limits' } }));
    expect(modeOf(report, 'load-aware').verdict.reason).to.equal('CapacityUnknown');
  });

  it('is another policy where it has another name', () => {
    const other = { ...policy(VALUE), metadata: { namespace: 'default', name: 'other' } };
    expect(byPolicy(other).demand.source).to.equal('cpu');
  });
});

describe('simulate: refusals', () => {
  const two = { zones: { 'eu-1a': 4, 'eu-1b': 4 }, endpoints: ['eu-1a'] };
  const mesh = { metadata: { labels: { 'service.kubernetes.io/service-proxy-name': 'mesh' } } };
  const noZone = { zones: EQUAL, endpoints: ['', ''] };
  const refusals: readonly [reason: string, message: RegExp, cluster: ClusterCase, Partial<SimulateOptions>?][] = [
    ['ExternalName', /server is an ExternalName/, { ...ONE_EACH, service: { spec: { type: 'ExternalName' } } }],
    ['Headless', /choose by DNS/, { ...ONE_EACH, service: { spec: { clusterIP: 'None' } } }],
    ['NoNodes', /no ready Node is known/, { zones: {}, endpoints: ['a'] }],
    ['NoReadyEndpoints', /server has no ready IPv4 endpoint for port https/, { zones: EQUAL, endpoints: [] }],
    ['NotProxied', /service-proxy-name: no proxy of the cluster routes it/, { ...ONE_EACH, service: mesh }],
    ['EndpointWithoutZone', /no ready IPv4 endpoint of Service default\/server has a zone/, noZone],
    ['NoReadyEndpoints', /no ready IPv4 endpoint/, { zones: EQUAL, endpoints: ['a'] }, { replicas: { a: 0 } }],
    ['UnknownZone', /no Node is in zone "eu-1d".*did you mean "eu-1[ab]"/, two, { replicas: { 'eu-1d': 1 } }],
    ['UnknownZone', /demand: no ready Node is in zone "z"/, ONE_EACH, { demand: { a: 1, z: 1 } }],
    ['UnknownZone', /weights: no ready Node is in zone "z"/, ONE_EACH, { weights: { z: 1 } }],
    ['NoDemand', /0 in every zone/, ONE_EACH, { demand: { a: 0 } }],
  ];
  for (const [reason, message, cluster, options] of refusals) {
    it(`${reason}: ${message.source}`, () => {
      const result = simulateCluster(clusterOf(cluster), options);
      if (result.kind !== 'refused') throw new Error(`simulated ${result.report.name}`);
      expect(result.reason).to.equal(reason);
      expect(result.message).to.match(message);
    });
  }

  it('RouterUnknown where every Node is virtual', () => {
    const { nodes, service: own, slice } = clusterOf(ONE_EACH);
    const virtual = nodes.map((node) => ({
      ...node,
      metadata: { ...node.metadata, labels: { ...node.metadata?.labels, type: 'virtual-kubelet' } },
    }));
    const result = simulate(snapshotOf(...virtual, own, slice), own, {});
    expect(result).to.include({ kind: 'refused', reason: 'RouterUnknown' });
    expect(result)
      .to.have.property('message')
      .that.matches(/not known on any Node.*--proxy/);
  });

  it('an unexpected error is not made a refusal', () => {
    const broken = snapshotOf(...clusterOf(ONE_EACH).nodes, clusterOf(ONE_EACH).slice);
    const failing = {
      ...service(),
      get spec(): never {
        throw new TypeError('broken');
      },
    };
    expect(() => simulate(broken, failing, { proxy: { kind: 'kube-proxy' } })).to.throw(TypeError, 'broken');
  });
});

describe('simulate: versions', () => {
  it('a version that is given counts for control plane and proxies', () => {
    const report = reportFor(ONE_EACH, { version: parseVersion('1.30') });
    expect(report.kubernetesVersion).to.equal('1.30');
    expect(modeOf(report, 'PreferClose').verdict.reason).to.equal('VersionTooOld');
    expect(modeOf(report, 'PreferClose').verdict.message).to.equal(
      'Kubernetes 1.30 does not know it; 1.31 and newer do.',
    );
  });
});
