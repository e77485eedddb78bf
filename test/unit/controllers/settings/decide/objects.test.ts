import { expect } from 'chai';
import { describe, it } from 'mocha';
import {
  ANNOTATION_APPLIED,
  ANNOTATION_TOPOLOGY_MODE,
  GROUP,
  LABEL_MANAGED,
  LABEL_MANAGED_BY,
  LABEL_STRATEGY,
  MANAGED_BY_DRUID,
} from '../../../../../pkg/apis/names.ts';
import { decideObjects, planService } from '../../../../../pkg/controllers/settings/decide/objects.ts';
import type { ObjectsInput } from '../../../../../pkg/controllers/settings/decide/objects.ts';
import type { RoutingContext } from '../../../../../pkg/controllers/settings/context.ts';
import type { RoutingDecision } from '../../../../../pkg/gardener/types.ts';
import { clientsOf } from '../../../../../pkg/diagnosis/models/routes.ts';
import { kubeProxy, node, service } from '../../../../fixtures/core.ts';
import { BPF, CALICO, CILIUM, configMap, daemonSet, routerObjects } from '../../../../fixtures/data-planes.ts';
import { etcd } from '../../../../fixtures/gardener.ts';
import { ENABLED, NS, applied, context, etcdDecision, named, refusedFor } from '../support.ts';

/** `kind/name: result` of each object. */
const outcome = (input: Partial<ObjectsInput>): string[] =>
  decideObjects({ decision: ENABLED, scope: 'shoot', services: [], etcds: [], context: context(), ...input }).map(
    ({ kind, ref, decision }) => `${kind}/${ref.name}: ${decision.kind === 'enabled' ? 'Enabled' : decision.reason}`,
  );

describe('decideObjects', () => {
  const of = (...services: ReturnType<typeof named>[]) => ({ services });
  const asking = (name: string) => named(name, { [LABEL_MANAGED]: 'true' });
  const webhook = named('vpa-webhook');
  const active = () => ({ active: true, source: 'configuration' as const, message: '' });
  const LOAD_AWARE = { [LABEL_STRATEGY]: 'load-aware' };
  const byPlanner = {
    [ANNOTATION_TOPOLOGY_MODE]: `${GROUP}/load-aware`,
    [ANNOTATION_APPLIED]: JSON.stringify({ labels: LOAD_AWARE }),
  };
  const druid = named('own', { [LABEL_MANAGED]: 'true', [LABEL_MANAGED_BY]: MANAGED_BY_DRUID }, applied);
  const excluded = etcd({ metadata: { namespace: NS, labels: { [LABEL_MANAGED]: 'false' } } });
  const events = etcd({ metadata: { name: 'etcd-events', namespace: NS } });
  const L7 = 'LayerSevenLoadBalancing';
  const cases: readonly (readonly [name: string, input: Partial<ObjectsInput>, ...results: string[]])[] = [
    ['L7 counts where no object shows it', of(named('kube-apiserver')), `Service/kube-apiserver: ${L7}`],
    ['L7 concerns kube-apiserver alone', { ...of(webhook), layerSevenOf: active }, 'Service/vpa-webhook: Enabled'],
    ['"false" excludes', of(named('vpa-webhook', { [LABEL_MANAGED]: 'false' })), 'Service/vpa-webhook: Excluded'],
    [
      "the namespace's refusal goes for all",
      { decision: refusedFor('SingleZone'), ...of(webhook), etcds: [etcd()] },
      'Etcd/etcd-main: SingleZone',
      'Service/vpa-webhook: SingleZone',
    ],
    ['a label that the flow controller set is none of ours', of(named('planned', LOAD_AWARE, byPlanner))],
    ['what was labelled is reverted', of(named('mine', {}, applied)), 'Service/mine: NotInCatalogue'],
    [
      "an Etcd's client Service is never written, not to take settings back",
      of(named('etcd-main-client', {}, applied)),
    ],
    ['another Service of etcd-druid that asks for settings is not written either', of(druid)],
    [
      'one excluded Etcd excludes all of its namespace, as admission selects by namespace alone',
      { etcds: [excluded, events] },
      'Etcd/etcd-events: Excluded',
      'Etcd/etcd-main: Excluded',
    ],
    [
      'a labelled Service passes the same check for L7: one of the gateways, or with one beside it',
      of(...['kube-apiserver-mtls', 'own', 'own-mtls', 'free'].map(asking)),
      'Service/free: Enabled',
      `Service/kube-apiserver-mtls: ${L7}`,
      `Service/own: ${L7}`,
      `Service/own-mtls: ${L7}`,
    ],
    ['without scope only labels count', { scope: undefined, ...of(webhook), etcds: [etcd()] }],
  ];
  for (const [name, input, ...results] of cases) it(name, () => expect(outcome(input)).to.deep.equal(results));
});

describe('planService', () => {
  const plan = (
    of: ReturnType<typeof named>,
    decision: RoutingDecision = ENABLED,
    overrides: Partial<RoutingContext> = {},
  ) => planService(of, decision, context(overrides));

  for (const reason of [
    'SourceMissing',
    'VersionUnknown',
    'ConfigurationInvalid',
    'ShootIgnored',
    'ShootMigrating',
    'ShootHibernated',
    'ShootFailed',
  ] as const) {
    it(`holds everything as it is for ${reason}`, () => {
      const decided = plan(named('a', {}, applied), refusedFor(reason));
      expect(decided.plan.kind).to.equal('unchanged');
      expect(decided.want).to.equal(undefined);
    });
  }

  it('reverts everything while hints are switched off, whatever is known', () => {
    const of = service({
      metadata: { name: 'a', namespace: NS, annotations: applied },
      spec: { trafficDistribution: 'PreferSameZone' },
    });
    const decided = plan(of, ENABLED, { off: true, version: undefined });
    expect(decided.decision).to.include({ kind: 'refused', reason: 'SwitchedOff' });
    expect([decided.want, decided.plan.kind]).to.deep.equal([undefined, 'patch']);
    expect(etcdDecision(ENABLED, { off: true })).to.deep.include({ want: undefined });
  });

  it('refuses Auto beside a strategy', () => {
    const both = named('a', { [LABEL_STRATEGY]: 'same-zone' }, { [ANNOTATION_TOPOLOGY_MODE]: 'Auto' });
    const { decision, want } = plan(both);
    expect(decision).to.include({ kind: 'refused', reason: 'ConflictingMode' });
    expect(want).to.equal(undefined);
  });

  const DROPS = 'drops connections of clients for whose zone no ready endpoint is hinted';
  const annotated = { [ANNOTATION_TOPOLOGY_MODE]: 'Auto' };
  const sameNode = { [LABEL_STRATEGY]: 'same-node' };
  const calico = (version: string) => [daemonSet('calico-node', `calico/node:v${version}`, CALICO), BPF];
  const cilium = (version: string) => [
    daemonSet('cilium', `cilium:v${version}`, CILIUM),
    configMap('cilium-config', { 'enable-service-topology': 'true', 'kube-proxy-replacement': 'true' }),
  ];
  const droppers: {
    name: string;
    objects: readonly object[];
    annotations?: Record<string, string>;
    labels?: Record<string, string>;
    says?: string;
  }[] = [
    { name: 'Cilium 1.18.0', objects: cilium('1.18.0'), says: `Cilium 1.18.0 ${DROPS}; fixed in Cilium 1.18.1` },
    { name: 'Cilium 1.18.1', objects: cilium('1.18.1') },
    { name: 'Cilium 1.18.0 without service topology', objects: cilium('1.18.0').slice(0, 1) },
    { name: 'Calico eBPF 3.29.1 and nothing that it reads', objects: calico('3.29.1') },
    {
      name: 'Calico eBPF 3.29.1 and the annotation',
      objects: calico('3.29.1'),
      annotations: annotated,
      says: `Calico eBPF 3.29.1 ${DROPS}; fixed in Calico eBPF 3.31.5`,
    },
    { name: 'Calico eBPF 3.31.5 and the annotation', objects: calico('3.31.5'), annotations: annotated },
    { name: 'kube-proxy', objects: [kubeProxy()], annotations: annotated },
    { name: 'Cilium 1.20.1 and same-zone', objects: cilium('1.20.1') },
    {
      name: 'Cilium 1.20.1 and same-node',
      objects: cilium('1.20.1'),
      labels: sameNode,
      says: 'Cilium 1.20.1 drops connections of clients on whose Node the only endpoint is not ready; fixed in Cilium 1.20.2',
    },
    { name: 'Cilium 1.20.2 and same-node', objects: cilium('1.20.2'), labels: sameNode },
    { name: 'kube-proxy and same-node', objects: [kubeProxy()], labels: sameNode },
  ];
  for (const { name, objects, annotations = {}, labels = {}, says } of droppers) {
    it(`${name}: ${says === undefined ? 'switches it on' : 'switches nothing on'}`, () => {
      const clients = clientsOf([node()], routerObjects(...objects));
      const { decision, plan: found } = plan(named('a', labels, annotations), ENABLED, { clients, olderName: true });
      if (says === undefined) expect(decision).to.deep.equal(ENABLED);
      else expect(decision).to.deep.equal({ kind: 'refused', reason: 'RouterDropsTraffic', message: says });
      expect(found.kind).to.equal(says === undefined ? 'patch' : 'unchanged');
    });
  }

  const carrying = (value: string) => {
    const annotations = { [ANNOTATION_APPLIED]: JSON.stringify({ trafficDistribution: value }) };
    return { ...named('a', {}, annotations), spec: { trafficDistribution: value } };
  };
  const names = [
    ['ours, and the router knows it', 'PreferSameZone', false, []],
    ['ours, and a router knows the older', 'PreferSameZone', true, ['PreferClose']],
    ['ours, and no router needs the older', 'PreferClose', false, ['PreferSameZone']],
    ['ours, and the router was not read', 'PreferClose', undefined, []],
  ] as const;
  for (const [name, value, olderName, changes] of names) {
    it(`the name of the value, ${value}: ${name}`, () => {
      const { plan: found } = plan(carrying(value), ENABLED, { olderName });
      const fields = found.kind === 'patch' ? found.changes.filter(({ field }) => field.startsWith('spec.')) : [];
      expect(fields.map(({ after }) => after)).to.deep.equal(changes);
    });
  }
});

describe('the row of an Etcd', () => {
  const wanted: readonly (readonly [name: string, of: Partial<RoutingContext>, annotations: Record<string, string>])[] =
    [
      ['1.36: hints suffice', { version: { major: 1, minor: 36 } }, {}],
      ['1.31: hints suffice', { version: { major: 1, minor: 31 } }, {}],
      [
        '1.33 with an old kubelet: the annotation is needed',
        { version: { major: 1, minor: 33 }, mixedKubelets: true },
        { [ANNOTATION_TOPOLOGY_MODE]: `${GROUP}/same-zone` },
      ],
      ['1.30: the annotation is needed', { version: { major: 1, minor: 30 } }, { [ANNOTATION_TOPOLOGY_MODE]: 'auto' }],
    ];
  for (const [name, of, annotations] of wanted) {
    it(`on ${name}`, () => {
      const { decision, want, plan } = etcdDecision(ENABLED, of);
      expect(decision.kind).to.equal('enabled');
      expect(want?.annotations).to.deep.equal(annotations);
      expect(plan, 'never written').to.deep.equal({ kind: 'unchanged', foreign: [] });
    });
  }
});
