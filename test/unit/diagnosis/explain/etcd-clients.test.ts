// Client Services of Etcds in explanations: the namespace's label is what asks, and no command suggests a write that druid denies.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { LABEL_MANAGED_BY, MANAGED_BY_DRUID } from '../../../../pkg/apis/names.ts';
import { type Explanation, explain } from '../../../../pkg/diagnosis/explain/explain.ts';
import { endpointsIn, kubeProxy, node, service, slice } from '../../../fixtures/core.ts';
import { snapshotOf } from '../../../fixtures/snapshot.ts';

const NS = 'shoot--foo--bar';
const ZONES = ['a', 'b', 'c'];
const LABEL = `label topology.extensions.gardener.cloud/etcd-clients=true of namespace ${NS}`;

interface Case {
  readonly name?: string;
  readonly hinted: boolean;
  readonly spec?: object;
  readonly labels?: Record<string, string>;
  readonly kubelet?: string;
}

const explained = ({ name = 'etcd-main-client', hinted, spec, labels, kubelet = 'v1.36.1' }: Case): Explanation => {
  const own = service({
    metadata: { name, namespace: NS, labels: labels ?? { [LABEL_MANAGED_BY]: MANAGED_BY_DRUID } },
    ...(spec && { spec }),
  });
  const endpoints = endpointsIn(ZONES, hinted);
  const nodes = ZONES.map((zone) => node({ zone, kubeletVersion: kubelet }));
  const objects = [...nodes, own, slice({ service: name, metadata: { name: `${name}-x`, namespace: NS }, endpoints })];
  return explain(snapshotOf(...objects, kubeProxy(kubelet)), own, { now: 0 });
};

describe("diagnosis: an Etcd's client Service", () => {
  it("names the namespace's label as what asks where its slices have hints and it has no setting", () => {
    const { verdict, wanted, causes } = explained({ hinted: true });
    expect(wanted).to.deep.equal({ wanted: true, source: 'webhook', by: LABEL });
    expect(verdict).to.be.oneOf(['Effective', 'Assumed']);
    expect(causes.map(({ stage }) => stage)).to.not.include('wanted');
  });

  it('names its own field once etcd-druid has written it', () => {
    const { wanted } = explained({ hinted: true, spec: { trafficDistribution: 'PreferClose' } });
    expect(wanted.by).to.equal('spec.trafficDistribution=PreferClose');
  });

  it('is ineffective with its hints where a proxy reads the annotation too, and is not to be annotated by hand', () => {
    const { verdict, causes } = explained({ hinted: true, kubelet: 'v1.30.1' });
    expect(verdict).to.equal('Ineffective');
    expect(causes[0]?.fix).to.deep.equal([
      '# etcd-druid owns it and denies the change: switch topologyAwareRouting on in the Seed or Garden instead',
    ]);
  });

  it('names the missing label and the setting where nothing asks, and suggests no write of the Service', () => {
    const [first] = explained({ hinted: false }).causes;
    expect(first?.reason).to.equal('NotRequested');
    expect(first?.evidence).to.contain(`namespace ${NS} has the label topology.extensions.gardener.cloud/etcd-clients`);
    expect(first?.remedy).to.contain('Seed or Garden');
    expect(first?.fix?.join()).to.not.contain('kubectl');
  });

  const others: readonly (readonly [string, Case])[] = [
    ['of another name', { name: 'etcd-other-client', hinted: true }],
    ['that etcd-druid did not make', { labels: {}, hinted: true }],
  ];
  for (const [what, other] of others) {
    it(`is not meant: a Service ${what} asks for nothing by its hints`, () => {
      expect(explained(other).wanted).to.deep.equal({ wanted: false, source: 'none', by: '' });
    });
  }
});
