import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import { type Reporter, createReporter, summarize } from '../../../../pkg/controllers/settings/reporter.ts';
import type { EventInput } from '../../../../pkg/kubernetes/types.ts';
import { type RecordingLogger, recordingLogger } from '../../../fixtures/recording-logger.ts';
import { namespaceDecision, refusedFor, serviceDecision, ENABLED, etcdDecision } from './support.ts';
import {
  type LabelWish,
  type NamespaceLabels,
  NO_LABELS,
  labelsFor,
} from '../../../../pkg/controllers/settings/apply.ts';
import type { ObjectDecision } from '../../../../pkg/controllers/settings/context.ts';
import type { ServiceFigures } from '../../../../pkg/controllers/effectiveness/assess.ts';
import { showEffectiveness, showUnsafeRouters } from '../../../../pkg/controllers/effectiveness/controller.ts';
import { createRepairMetrics, showPlanner } from '../../../../pkg/controllers/hint-repair/controller.ts';
import { createWriteCounter, showSettings } from '../../../../pkg/controllers/settings/reporter.ts';
import { clientsOf } from '../../../../pkg/diagnosis/models/routes.ts';
import { LABEL_ETCD_CLIENTS, LABEL_ROUTING } from '../../../../pkg/apis/names.ts';
import { createMetrics } from '../../../../pkg/telemetry/metrics.ts';
import { node } from '../../../fixtures/core.ts';
import { CILIUM, configMap, daemonSet, routerObjects } from '../../../fixtures/data-planes.ts';

describe('reporter', () => {
  let events: EventInput[];
  let log: RecordingLogger;
  let reporter: Reporter;
  beforeEach(() => {
    events = [];
    log = recordingLogger();
    reporter = createReporter({ logger: log, events: { record: (event) => void events.push(event) } });
  });
  const on = (name = 'a') => namespaceDecision({ objects: [serviceDecision(name)] });
  const off = namespaceDecision({ decision: refusedFor('SettingDisabled') });
  const single = namespaceDecision({ decision: refusedFor('SingleZone') });
  const decided = (): unknown[] =>
    log.entries.filter(({ message }) => message === 'routing decided').map(({ fields }) => fields['reason']);
  const reasons = (): string[] => events.map(({ reason }) => reason);

  it('reports each change once', () => {
    for (const decision of [off, off, on(), on(), single, single, off]) reporter.report(decision, [], []);
    expect(decided()).to.deep.equal(['SettingDisabled', 'Enabled', 'SingleZone', 'SettingDisabled']);
    expect(reasons()).to.deep.equal(['RoutingEnabled', 'SingleZone', 'SettingDisabled']);
    expect(events.map(({ type }) => type)).to.deep.equal(['Normal', 'Warning', 'Normal']);
  });

  it('reports a fight when it begins, and again when it begins anew', () => {
    const { objects } = on();
    const fights = [[], objects, objects, [], objects].map((fighting) => {
      reporter.report(on(), [], fighting);
      return [...reporter.known()].filter((namespace) => namespace.fighting).length;
    });
    expect(fights).to.deep.equal([0, 1, 1, 0, 1]);
    expect(reasons().filter((reason) => reason === 'SettingsOverwritten')).to.have.length(2);
  });
});

describe('summarize', () => {
  it('groups what is on by its settings and names the source', () => {
    const { reason, message, faulty } = summarize(
      namespaceDecision({ objects: [etcdDecision(), serviceDecision('a'), serviceDecision('b')] }),
    );
    expect(reason).to.equal('Enabled');
    expect(faulty).to.equal(false);
    expect(message).to.equal(
      'routing by zone is on (setting read from Cluster); ' +
        "Etcd etcd-main: hints at once, trafficDistribution=PreferClose with etcd-druid's next write of the client Service; " +
        'Service a, Service b: trafficDistribution=PreferSameZone',
    );
  });

  it('names objects that are left out, and values of another writer', () => {
    const foreign = serviceDecision('f', ENABLED, { spec: { trafficDistribution: 'PreferSameNode' } });
    const { message } = summarize(
      namespaceDecision({ objects: [serviceDecision('a', refusedFor('Excluded')), foreign] }),
    );
    expect(message).to.contain('Service a is left out (Excluded: because of Excluded)');
    expect(message).to.contain(
      'Service f keeps a value of another writer: spec.trafficDistribution=PreferSameNode (ForeignValue)',
    );
  });

  it("carries Gardener's sentences with a refusal", () => {
    const decision = { ...refusedFor('SingleZone'), violations: [{ field: 'spec.x', detail: 'only multi-zone' }] };
    const summary = summarize(namespaceDecision({ decision }));
    expect(summary).to.include({
      reason: 'SingleZone',
      faulty: true,
      message: 'because of SingleZone; spec.x: only multi-zone',
    });
  });

  const faults = [
    [refusedFor('SettingDisabled'), false],
    [refusedFor('FailureToleranceNotZone'), false],
    [refusedFor('NotHighlyAvailable'), true],
  ] as const;
  for (const [decision, faulty] of faults) {
    it(`${decision.kind === 'refused' ? decision.reason : ''} is ${faulty ? 'a fault' : 'normal'}`, () =>
      expect(summarize(namespaceDecision({ decision })).faulty).to.equal(faulty));
  }
});

describe('labels of a namespace', () => {
  const own = { keep: 'auto', fighting: false, labelled: false, value: 'true' } as const;
  const rewritten = { ...serviceDecision('vpa-webhook'), rewritten: true };
  const quiet = [serviceDecision('quiet')];
  const wishes: { name: string; of?: Partial<LabelWish>; objects?: ObjectDecision[]; routing: boolean }[] = [
    { name: 'auto, nothing is known of an owner that rewrites', routing: false },
    { name: 'auto, the owner is known to rewrite', objects: [rewritten], routing: true },
    { name: 'auto, the owner was seen to rewrite', of: { fighting: true }, routing: true },
    { name: 'auto, the fight is over but the label remembers', of: { labelled: true }, routing: true },
    { name: 'auto, nothing managed any more', of: { labelled: true, fighting: true }, objects: [], routing: false },
    { name: 'on', of: { keep: 'on' }, routing: true },
    { name: 'on, nothing managed', of: { keep: 'on', labelled: true }, objects: [], routing: false },
    { name: 'off', of: { keep: 'off', labelled: true }, objects: [rewritten], routing: false },
  ];
  for (const { name, of = {}, objects = quiet, routing } of wishes)
    it(`${name}: ${routing}`, () =>
      expect(labelsFor(namespaceDecision({ objects }), { ...own, ...of })?.[LABEL_ROUTING] === 'true').to.equal(
        routing,
      ));

  const HINTED = { ...NO_LABELS, [LABEL_ETCD_CLIENTS]: 'true' };
  const decisions: readonly (readonly [
    name: string,
    of: Parameters<typeof namespaceDecision>[0],
    labels: NamespaceLabels | undefined,
  ])[] = [
    ['of nothing yet', {}, HINTED],
    ['without a catalogue', { scope: undefined }, NO_LABELS],
    ['that is no', { decision: refusedFor('SettingDisabled') }, NO_LABELS],
    ['of an Etcd', { objects: [etcdDecision()] }, HINTED],
    ['of an Etcd that is refused', { objects: [etcdDecision(refusedFor('SettingDisabled'))] }, NO_LABELS],
    [
      'that is held',
      { decision: refusedFor('ShootHibernated'), objects: [etcdDecision(refusedFor('ShootHibernated'))] },
      undefined,
    ],
    ['without a version', { objects: [etcdDecision(undefined, { version: undefined })] }, undefined],
  ];
  for (const [name, of, labels] of decisions)
    it(`follow from the decision ${name}`, () => expect(labelsFor(namespaceDecision(of), own)).to.deep.equal(labels));
});

describe('metrics of the settings reconciler', () => {
  it('show what is so when they are scraped, and forget what is no longer', async () => {
    const metrics = createMetrics({ defaultMetrics: false });
    let reason = 'Enabled';
    let alive: boolean | undefined = true;
    let services: { namespace: string; service: string; state: string; figures: ServiceFigures }[] = [
      { namespace: 'n', service: 's', state: 'Effective', figures: { hinted: 3, unhinted: 1, inZone: 0.5 } },
      { namespace: 'n', service: 't', state: 'Effective', figures: { hinted: 2, unhinted: 0, inZone: 1 } },
      { namespace: 'n', service: 'u', state: 'Effective', figures: { hinted: 0, unhinted: 4, inZone: undefined } },
    ];
    const wrote = createWriteCounter(metrics);
    const resynced = createRepairMetrics(metrics, () => true);
    const known = () => [{ owner: 'shoot-settings', reasons: [reason, reason, reason], foreign: 2, fighting: true }];
    showSettings(metrics, known);
    showEffectiveness(metrics, { services: () => services });
    const cilium = daemonSet('cilium', 'cilium:v1.19.5', CILIUM);
    const nodes = ['a', 'b'].map((zone) => node({ zone }));
    const topology = configMap('cilium-config', { 'enable-service-topology': 'true' });
    showUnsafeRouters(metrics, () => clientsOf(nodes, routerObjects(cilium, topology)));
    showPlanner(metrics, { alive: () => alive === true, known: () => alive !== undefined }, () => false);
    wrote('repair');
    wrote('repair');
    resynced('hinted');
    const first = await metrics.text();
    for (const line of [
      'topology_aware_routing_settings_objects{owner="shoot-settings",reason="Enabled"} 3',
      'topology_aware_routing_settings_foreign_values 2',
      'topology_aware_routing_services{state="Effective"} 3',
      'topology_aware_routing_data_plane_unsafe_nodes{data_plane="Cilium",version="1.19.5",safe_since="1.20.2"} 2',
      'topology_aware_routing_settings_fights 1',
      'topology_aware_routing_ready_endpoints{hint="present"} 5',
      'topology_aware_routing_ready_endpoints{hint="missing"} 5',
      'topology_aware_routing_predicted_in_zone_ratio 0.75',
      'topology_aware_routing_service_predicted_in_zone_ratio{service_namespace="n",service_name="s"} 0.5',
      'topology_aware_routing_service_predicted_in_zone_ratio{service_namespace="n",service_name="t"} 1',
      'topology_aware_routing_services_without_series 0',
      'topology_aware_routing_webhook_unavailable 1',
      'topology_aware_routing_planner_alive 1',
      'topology_aware_routing_settings_writes_total{kind="Service",cause="repair"} 2',
      'topology_aware_routing_slice_touches_total{outcome="hinted"} 1',
    ])
      expect(first.split('\n')).to.include(line);
    reason = 'SingleZone';
    const second = await metrics.text();
    expect(second).to.contain('reason="SingleZone"} 3').and.not.to.contain('reason="Enabled"');
    alive = undefined;
    expect(await metrics.text(), 'not found out yet').not.to.match(/^topology_aware_routing_planner_alive/m);
    services = [];
    const nothing = await metrics.text();
    expect(nothing, 'nothing to predict').not.to.match(/^topology_aware_routing_(?:service_)?predicted/m);
    expect(nothing).to.contain('ready_endpoints{hint="present"} 0');
    services = Array.from({ length: 60 }, (_, index) => ({
      namespace: 'n',
      service: `s${index}`,
      state: 'Effective',
      figures: { hinted: 1, unhinted: 0, inZone: 1 },
    }));
    const many = await metrics.text();
    expect(many.match(/^topology_aware_routing_service_predicted/gm)).to.have.length(50);
    expect(many).to.contain('services_without_series 10').and.to.contain('ready_endpoints{hint="present"} 60');
  });
});
