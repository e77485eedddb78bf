// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import { describe, it } from 'mocha';
import {
  ANNOTATION_APPLIED,
  ANNOTATION_TOPOLOGY_MODE,
  GROUP,
  LABEL_CONSIDER,
  LABEL_MANAGED,
  LABEL_STRATEGY,
} from '../../../../pkg/apis/names.ts';
import { decideObjects, planObject } from '../../../../pkg/controllers/settings/decide-objects.ts';
import type { ObjectsInput } from '../../../../pkg/controllers/settings/decide-objects.ts';
import type { RoutingContext } from '../../../../pkg/controllers/settings/types.ts';
import type { RoutingDecision } from '../../../../pkg/gardener/types.ts';
import { service } from '../../../fixtures/core.ts';
import { etcd } from '../../../fixtures/gardener.ts';
import { ENABLED, NS, context, refusedFor } from './support.ts';

const named = (name: string, labels: Record<string, string> = {}, annotations: Record<string, string> = {}) =>
  service({ metadata: { name, namespace: NS, labels, annotations } });
const applied = { [ANNOTATION_APPLIED]: '{"trafficDistribution":"PreferSameZone"}' };

const outcome = (input: Partial<ObjectsInput>): Record<string, string> =>
  Object.fromEntries(
    decideObjects({ decision: ENABLED, scope: 'shoot', services: [], etcds: [], context: context(), ...input }).map(
      ({ kind, ref, decision }) => [`${kind}/${ref.name}`, decision.kind === 'enabled' ? 'Enabled' : decision.reason],
    ),
  );

const notLayerSeven = () => ({ active: false, source: 'configuration' as const, message: '' });

describe('decideObjects', () => {
  it('takes the catalogue and what is labelled, in a fixed order, and nothing else', () => {
    const services = ['vpa-webhook', 'other', 'kube-apiserver', 'etcd-main-client'].map((name) => named(name));
    const etcds = [etcd(), etcd({ metadata: { name: 'etcd-other', namespace: NS } })];
    const labelled = named('mine', { [LABEL_MANAGED]: 'true' });
    expect(
      Object.entries(outcome({ services: [...services, labelled], etcds, layerSevenOf: notLayerSeven })),
    ).to.deep.equal([
      ['Etcd/etcd-main', 'Enabled'],
      ['Service/kube-apiserver', 'Enabled'],
      ['Service/mine', 'Enabled'],
      ['Service/vpa-webhook', 'Enabled'],
    ]);
  });

  const cases: { name: string; input: Partial<ObjectsInput>; result: Record<string, string> }[] = [
    {
      name: 'L7 counts where nothing tells',
      input: { services: [named('kube-apiserver')] },
      result: { 'Service/kube-apiserver': 'LayerSevenLoadBalancing' },
    },
    {
      name: 'L7 concerns kube-apiserver alone',
      input: { services: [named('vpa-webhook')], layerSevenOf: () => ({ ...notLayerSeven(), active: true }) },
      result: { 'Service/vpa-webhook': 'Enabled' },
    },
    {
      name: 'managed: "false" excludes',
      input: { services: [named('vpa-webhook', { [LABEL_MANAGED]: 'false' })] },
      result: { 'Service/vpa-webhook': 'Excluded' },
    },
    {
      name: "the namespace's refusal goes for all",
      input: { decision: refusedFor('SingleZone'), services: [named('vpa-webhook')], etcds: [etcd()] },
      result: { 'Etcd/etcd-main': 'SingleZone', 'Service/vpa-webhook': 'SingleZone' },
    },
    {
      name: 'a label that the flow controller set is none of ours',
      input: {
        services: [
          named(
            'planned',
            { [LABEL_STRATEGY]: 'load-aware' },
            {
              [ANNOTATION_TOPOLOGY_MODE]: `${GROUP}/load-aware`,
              [ANNOTATION_APPLIED]: JSON.stringify({ labels: { [LABEL_STRATEGY]: 'load-aware' } }),
            },
          ),
        ],
      },
      result: {},
    },
    {
      name: 'what was labelled is taken back',
      input: { services: [named('mine', {}, applied)] },
      result: { 'Service/mine': 'NotInCatalogue' },
    },
    {
      name: "settings on an Etcd's Service are taken back",
      input: { services: [named('etcd-main-client', {}, applied)] },
      result: { 'Service/etcd-main-client': 'WrittenThroughEtcd' },
    },
    {
      name: 'without scope only labels count',
      input: { scope: undefined, services: [named('vpa-webhook')], etcds: [etcd()] },
      result: {},
    },
  ];
  for (const { name, input, result } of cases) it(name, () => expect(outcome(input)).to.deep.equal(result));
});

describe('planObject', () => {
  const plan = (
    of: ReturnType<typeof named>,
    decision: RoutingDecision = ENABLED,
    overrides: Partial<RoutingContext> = {},
  ) => planObject('Service', of, decision, context(overrides));

  it('wants what the version needs', () => {
    expect(plan(named('a')).want).to.deep.equal({ labels: {}, annotations: {}, trafficDistribution: 'PreferSameZone' });
    expect(plan(named('a'), ENABLED, { version: { major: 1, minor: 27 } }).want?.labels).to.deep.equal({
      [LABEL_CONSIDER]: 'true',
    });
  });

  it('wants the strategy that is asked for', () => {
    const asked = named('a', {}, { [ANNOTATION_TOPOLOGY_MODE]: `${GROUP}/same-node` });
    expect(plan(asked).want).to.deep.include({
      labels: { [LABEL_STRATEGY]: 'same-node' },
      trafficDistribution: 'PreferSameNode',
    });
  });

  for (const reason of ['SourceMissing', 'VersionUnknown'] as const) {
    it(`holds everything as it is for ${reason}`, () => {
      const decided = plan(named('a', {}, applied), refusedFor(reason));
      expect(decided.plan.kind).to.equal('unchanged');
      expect(decided.want).to.equal(undefined);
    });
  }

  it('holds everything as it is while the version is not known', () => {
    const decided = plan(named('a', {}, applied), ENABLED, { version: undefined });
    expect(decided.decision).to.include({ kind: 'refused', reason: 'VersionUnknown' });
    expect(decided.plan.kind).to.equal('unchanged');
  });

  it('takes back what is refused', () => {
    const of = service({
      metadata: { name: 'a', namespace: NS, annotations: applied },
      spec: { trafficDistribution: 'PreferSameZone' },
    });
    const { plan: found } = plan(of, refusedFor('SingleZone'));
    expect(found).to.deep.include({
      kind: 'patch',
      patch: { spec: { trafficDistribution: null }, metadata: { annotations: { [ANNOTATION_APPLIED]: null } } },
    });
  });

  it('refuses Auto beside a strategy', () => {
    const both = named('a', { [LABEL_STRATEGY]: 'same-zone' }, { [ANNOTATION_TOPOLOGY_MODE]: 'Auto' });
    const { decision, want } = plan(both);
    expect(decision).to.include({ kind: 'refused', reason: 'ConflictingMode' });
    expect(want).to.equal(undefined);
  });

  it('adds the annotation for old kubelets', () => {
    const { plan: found, want } = plan(named('a'), ENABLED, { mixedKubelets: true });
    expect(found.kind === 'patch' && found.changes.map(({ after }) => after)).to.include(`${GROUP}/same-zone`);
    expect(want?.annotations, 'a wish of its own, which no repair holds back').to.deep.equal({
      [ANNOTATION_TOPOLOGY_MODE]: `${GROUP}/same-zone`,
    });
  });

  it('keeps the annotation for old kubelets where no Node is known, and adds none', () => {
    const fresh = plan(named('a'), ENABLED, { mixedKubelets: undefined });
    expect(fresh.want?.annotations).to.deep.equal({});
    const mode = { [ANNOTATION_TOPOLOGY_MODE]: `${GROUP}/same-zone` };
    const record = JSON.stringify({ annotations: mode, trafficDistribution: 'PreferSameZone' });
    const carrying = named('a', {}, { ...mode, [ANNOTATION_APPLIED]: record });
    expect(plan(carrying, ENABLED, { mixedKubelets: undefined }).want?.annotations).to.deep.equal(mode);
    expect(plan(carrying, ENABLED, { mixedKubelets: false }).want?.annotations).to.deep.equal({});
  });

  describe('of an Etcd', () => {
    const none = { trafficDistribution: [], labels: true, annotations: true };
    const cases: { name: string; overrides: Partial<RoutingContext>; reason: string; field?: string }[] = [
      {
        name: 'the CRD lacks the field',
        overrides: { etcdSupport: none },
        reason: 'FieldNotSupported',
        field: 'spec.etcd.clientService.trafficDistribution',
      },
      {
        name: 'a write was pruned',
        overrides: { prunedEtcds: new Set([`${NS}/etcd-main`]) },
        reason: 'FieldNotSupported',
        field: 'spec.etcd.clientService',
      },
    ];
    for (const { name, overrides, reason, field } of cases) {
      it(`refuses when ${name}`, () => {
        const decided = planObject('Etcd', etcd(), ENABLED, context(overrides));
        expect(decided.decision).to.include({ kind: 'refused', reason, field });
        expect(decided.plan.kind).to.equal('unchanged');
      });
    }

    it('falls back on the value that the CRD has', () => {
      const etcdSupport = { ...none, trafficDistribution: ['PreferClose'] };
      expect(planObject('Etcd', etcd(), ENABLED, context({ etcdSupport })).want?.trafficDistribution).to.equal(
        'PreferClose',
      );
    });
  });
});
