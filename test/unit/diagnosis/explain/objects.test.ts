// Services whose endpoints are no ordinary Pods: of the API server, on Nodes without zones, and of ports that only some Pods have.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { audit } from '../../../../pkg/diagnosis/audit/audit.ts';
import { explain } from '../../../../pkg/diagnosis/explain/explain.ts';
import type { KubernetesObject } from '../../../../pkg/apis/meta.ts';
import { configMap } from '../../../fixtures/data-planes.ts';
import { endpoint, endpointsIn, node, service, slice } from '../../../fixtures/core.ts';
import { snapshotOf } from '../../../fixtures/snapshot.ts';

const NOW = { now: Date.UTC(2026, 10, 20) };
const nodes = (...zones: string[]) => zones.map((zone, index) => node({ zone, metadata: { name: `node-${index}` } }));

/** The Service of the API server, with endpoints as API servers write them: no zone, no Node, no Pod. */
const apiServer = (zones: readonly string[], addresses = ['10.0.0.1', '10.0.1.1'], ...more: KubernetesObject[]) => {
  const metadata = { name: 'kubernetes', namespace: 'default' };
  const own = service({ metadata, spec: { selector: undefined } as never });
  const endpoints = addresses.map((address) => ({ addresses: [address], conditions: { ready: true } }));
  const labels = { 'kubernetes.io/service-name': 'kubernetes' };
  const objects = [...nodes(...zones), own, slice({ metadata: { ...metadata, labels }, endpoints }), ...more];
  return { own, snapshot: snapshotOf(...objects) };
};

const apiServerPod = (name: string, status: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace: 'kube-system', name, labels: { component: 'kube-apiserver' } },
  status: { phase: 'Running', conditions: [{ type: 'Ready', status }] },
});

describe('explain: the Service of the API server', () => {
  for (const zones of [['a', 'b'], ['a']]) {
    it(`offers no setting that could help, and does not say that nothing crosses, with Nodes in ${zones.join(' and ')}`, () => {
      const { own, snapshot } = apiServer(zones);
      const { causes, effective } = explain(snapshot, own, NOW);
      expect(causes.map(({ reason, fix }) => [reason, fix])).to.deep.equal([['ApiServer', undefined]]);
      expect(effective.inZoneShare).to.equal(null);
    });
  }

  const ipvs = configMap('kube-proxy', { 'config.conf': 'mode: ipvs\n' });
  const master = (name: string) =>
    node({ metadata: { name, labels: { 'node-role.kubernetes.io/control-plane': '' } } });
  const THREADS = [
    [
      'Azure/aks-engine#2948',
      ['10.0.0.9'],
      [master('m-1'), master('m-2')],
      /one for 2 Nodes .*/,
      /^Start each API server/,
    ],
    [
      'kubernetes/kubernetes#121591',
      undefined,
      [ipvs],
      /in turn, from the same one on each Node/,
      /iptables or nftables mode\.$/,
    ],
    [
      'kubernetes/kubernetes#119535',
      undefined,
      [apiServerPod('cp-0', 'True'), apiServerPod('cp-2', 'False')],
      /cp-2 is not ready, and its endpoint stays/,
      /^Mend that API server or stop it/,
    ],
  ] as const;
  for (const [thread, addresses, more, evidence, remedy] of THREADS)
    it(`names what makes its load uneven: ${thread}`, () => {
      const { own, snapshot } = apiServer(['a'], addresses && [...addresses], ...more);
      const [first] = explain(snapshot, own, NOW).causes;
      expect(first?.evidence).to.match(evidence);
      expect(first?.remedy).to.match(remedy);
    });

  it('has an address that no Node has, beside others: lf-edge/eve#5927', () => {
    const host = node({ metadata: { name: 'm' }, status: { addresses: [{ address: '10.0.0.1' }] } });
    const { own, snapshot } = apiServer(['a'], undefined, host);
    const [first] = explain(snapshot, own, NOW).causes;
    expect(first?.evidence).to.match(/no Node has 10\.0\.1\.1/);
    expect(first?.remedy).to.match(/masterleases/);
  });

  it('leaves --goaway-chance out where nobody can set it, as on AKS', () => {
    const managed = node({ metadata: { name: 'm', labels: { 'kubernetes.azure.com/cluster': 'c' } } });
    const flags = [[], [managed]].map((more) => {
      const { own, snapshot } = apiServer(['a'], undefined, ...more);
      return explain(snapshot, own, NOW).causes[0]?.remedy.includes('--goaway-chance');
    });
    expect(flags).to.deep.equal([true, false]);
  });

  it('is what routing by zone cannot save', () => {
    const { services } = audit(apiServer(['a', 'b']).snapshot, NOW);
    expect(services.map(({ group, cause }) => [group, cause?.reason])).to.deep.equal([['NotSavable', 'ApiServer']]);
  });
});

describe('explain: a cluster without zone labels', () => {
  for (const trafficDistribution of ['PreferClose', 'Unheard'])
    it(`says so of all Nodes, what to do where it spans zones, and gives no share, with ${trafficDistribution}`, () => {
      const web = service({ spec: { trafficDistribution } });
      const objects = [...nodes('', ''), web, slice({ endpoints: [endpoint({ zone: '' })] })];
      const { causes, effective, used } = explain(snapshotOf(...objects), web, NOW);
      const own = causes.find(({ reason }) => reason === 'EndpointWithoutZone');
      expect(own?.evidence).to.match(/^No Node of the cluster has the label/);
      expect(own?.remedy).to.match(/If the cluster spans zones.*In one place nothing can cross/);
      expect([effective.inZoneShare, used[0]?.inZone]).to.deep.equal([null, null]);
    });
});

describe('explain: a provider without zones', () => {
  it('offers nothing to set', () => {
    const web = service({ spec: { trafficDistribution: 'PreferClose' } });
    const pool = node({ zone: '', metadata: { name: 'a', labels: { 'doks.digitalocean.com/node-pool': 'a' } } });
    const objects = [pool, web, slice({ endpoints: [endpoint({ zone: '' })] })];
    const { causes } = explain(snapshotOf(...objects), web, { ...NOW, proxy: { kind: 'cilium' } });
    expect(causes.map(({ reason }) => reason)).to.deep.equal(['EndpointWithoutZone']);
    expect(causes[0]?.remedy).to.match(/nothing can cross, and nothing is to set/);
    expect(causes[0]).not.to.have.property('fix');
  });
});

describe('a port that only some Pods have', () => {
  const web = service({
    spec: {
      trafficDistribution: 'PreferClose',
      ports: [
        { name: 'http', port: 80 },
        { name: 'metrics', port: 90 },
      ],
    },
  });
  const ofPort = (name: string, ...zones: string[]) =>
    slice({
      metadata: { name: `server-${name}` },
      ports: [{ name, port: 8080 }],
      endpoints: endpointsIn(zones, true),
    });
  const snapshot = snapshotOf(...nodes('a', 'b', 'c'), web, ofPort('http', 'a', 'b', 'c'), ofPort('metrics', 'a'));

  it('is the cause, by port, and no uneven load', () => {
    const { causes } = explain(snapshot, web, NOW);
    expect(causes[0]?.reason).to.equal('PortOfSomePods');
    expect(causes[0]?.evidence).to.match(/port metrics: 1 of 3 ready endpoints, none in b and c\.$/);
    expect(causes.map(({ reason }) => reason)).not.to.include('UnevenLoad');
  });

  it('needs endpoints: routing by zone promises nothing of it', () => {
    const [found] = audit(snapshot, NOW).services;
    expect(found?.worstOverload).to.equal(0);
    expect(found?.saving?.routing).to.equal(0);
    expect(found?.saving?.endpoints).to.be.closeTo(1 / 3, 1e-9);
  });
});
