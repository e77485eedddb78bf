// The flow controller against a sandbox with the real admission: opting in, planning by load, and opting out.
import { expect } from 'chai';
import { after, before, describe, it, afterEach, beforeEach } from 'mocha';
import {
  ANNOTATION_APPLIED,
  ANNOTATION_TOPOLOGY_MODE,
  GROUP,
  LABEL_STRATEGY,
  ANNOTATION_PLAN,
  PLAN_SPREAD,
} from '../../pkg/apis/names.ts';
import { type FlowBed, NAMESPACE, flowNode, flowPod, flowPolicy, flowService, openFlowBed } from './flow-support.ts';
import { eventually } from './controller-bed.ts';
import type { Node } from '../../pkg/apis/core.ts';
import { NODES, PODS } from '../../pkg/apis/resources.ts';

const ZONES = ['a', 'b', 'c'];
const LOAD_AWARE = { [ANNOTATION_TOPOLOGY_MODE]: `${GROUP}/load-aware` };
const OWN = { 'web-a': 'a', 'web-b': 'b', 'web-c': 'c' };

describe('the flow controller', function onSandbox() {
  this.timeout(180_000);
  let bed: FlowBed;
  before(async () => {
    bed = await openFlowBed();
    await bed.apply(...ZONES.map((zone) => flowNode(zone)), ...ZONES.map((zone) => flowPod(`web-${zone}`, zone)));
    await bed.apply(flowService());
    await bed.sandbox.settled();
    await bed.start();
  });
  after(() => bed.close());

  it('leaves a Service alone that asks for nothing', async () => {
    await bed.quiet();
    expect(bed.writes()).to.deep.equal([]);
  });

  it('labels a Service that asks by annotation, and every endpoint serves its own zone', async () => {
    bed.plant.demand = { a: 0.3, b: 0.3, c: 0.3 };
    await bed.apply(flowService({ annotations: LOAD_AWARE }));
    await eventually(() => expect(bed.hints('web')).to.deep.equal(OWN));
    const { labels, annotations } = bed.service('web').metadata ?? {};
    expect(labels?.[LABEL_STRATEGY]).to.equal('load-aware');
    expect(JSON.parse(annotations?.[ANNOTATION_APPLIED] ?? '')).to.deep.equal({
      labels: { [LABEL_STRATEGY]: 'load-aware' },
    });
  });

  it('creates an empty FlowPolicy that the Service owns, and says what it sees', async () => {
    await bed.until(() => {
      expect(bed.conditions('web')).to.deep.equal({
        Observed: 'True/MetricsFresh',
        Effective: 'True/PlanInForce',
        Stable: 'True/Steady',
      });
    }, 15_000);
    const { metadata, spec, status } = bed.policy('web') ?? {};
    expect(spec).to.deep.equal({});
    expect(metadata?.ownerReferences).to.deep.equal([
      { apiVersion: 'v1', kind: 'Service', name: 'web', uid: bed.service('web').metadata?.uid },
    ]);
    expect(status).to.deep.include({ source: 'metrics.k8s.io', endpoints: 3, inZonePercent: 100 });
    expect(status?.zones?.map(({ zone, endpoints }) => [zone, endpoints])).to.deep.equal(
      ZONES.map((zone) => [zone, 1]),
    );
  });

  it('spills from a zone whose endpoint is overloaded, and writes each slice once', async () => {
    await bed.quiet();
    bed.sandbox.clearRequests();
    bed.plant.demand = { a: 1.1, b: 0.2, c: 0.2 };
    await bed.until(() => {
      expect(bed.hints('web')['web-b']).to.contain('a');
    });
    await bed.quiet();
    const writes = bed.writes().filter(({ resource }) => resource === 'endpointslices');
    expect(writes.map(({ method, status }) => `${method} ${status}`)).to.deep.equal(['PATCH 200']);
  });

  it('returns when the demand does, and not before the dwell time', async () => {
    bed.plant.demand = { a: 0.3, b: 0.2, c: 0.2 };
    await bed.until(() => {
      expect(bed.hints('web')).to.deep.equal(OWN);
    }, 15_000);
  });

  it('has kept book of the changes', () => {
    const changes = bed.policy('web')?.status?.lastChanges ?? [];
    expect(changes.at(0)).to.deep.include({ reason: 'Returned', message: 'every endpoint serves its own zone' });
    expect(changes.at(-1)).to.deep.include({ reason: 'Saturated' });
    expect(bed.events().filter((event) => event.startsWith('PlanChanged'))).to.have.length(changes.length);
  });

  it('reverts label and hints when the annotation goes', async () => {
    await bed.apply(flowService());
    await eventually(() => expect(bed.hints('web')).to.deep.equal({ 'web-a': '', 'web-b': '', 'web-c': '' }));
    await eventually(() => {
      expect(bed.service('web').metadata?.labels ?? {}).not.to.have.property(LABEL_STRATEGY);
      for (const { metadata } of bed.slices('web')) expect(metadata?.annotations ?? {}).to.deep.equal({});
      expect(bed.policy('web'), 'FlowPolicy').to.equal(undefined);
    });
  });
});

const LABELS = { [LABEL_STRATEGY]: 'load-aware' };
const STEP_MS = 5_000;

describe('a planned Service', function onSandbox() {
  this.timeout(180_000);
  let bed: FlowBed;
  beforeEach(async () => {
    bed = await openFlowBed();
  });
  afterEach(() => bed.close());

  /** Nodes of these zones, and so many Pods in each. */
  const open = async (pods: Record<string, number>, nodes = Object.keys(pods)): Promise<void> => {
    await bed.apply(...nodes.map((zone) => flowNode(zone)));
    for (const [zone, count] of Object.entries(pods))
      for (let index = 1; index <= count; index += 1) await bed.apply(flowPod(`web-${zone}${index}`, zone));
    await bed.apply(flowPolicy({ upDwell: '1s', planInterval: '1s' }), flowService({ labels: LABELS }));
    await bed.sandbox.settled();
    await bed.start();
  };
  /** Lets time pass until `check` holds. */
  const until = (check: () => unknown): Promise<void> => bed.until(check, STEP_MS);
  const helpers = (zone: string): string[] =>
    Object.entries(bed.hints('web')).flatMap(([pod, zones]) =>
      !pod.startsWith(`web-${zone}`) && zones.split(',').includes(zone) ? [pod] : [],
    );
  const unready = async (zone: string): Promise<void> => {
    const node = bed.sandbox.get<Node>(NODES, { name: `node-${zone}` });
    await bed.apply({ ...node, status: { ...node?.status, conditions: [{ type: 'Ready', status: 'False' }] } } as Node);
  };

  it('under an HPA: new Pods of the hot zone take over at once, without a dwell time', async () => {
    await open({ a: 1, b: 1, c: 1 });
    bed.plant.demand = { a: 1.2, b: 0.2, c: 0.2 };
    await until(() => expect(helpers('a')).not.to.deep.equal([]));
    await bed.apply(flowPod('web-a2', 'a'), flowPod('web-a3', 'a'));
    await eventually(() => expect(helpers('a')).to.deep.equal([]));
    expect(bed.hints('web')).to.include({ 'web-a2': 'a', 'web-a3': 'a' });
  });

  it('in a rolling update: no ready endpoint is ever without hints, and the plan goes on with the new Pods', async () => {
    await open({ a: 1, b: 2, c: 1 });
    bed.plant.demand = { a: 1.1, b: 0.2, c: 0.2 };
    await until(() => expect(helpers('a')).not.to.deep.equal([]));
    for (const [old, zone] of Object.entries({ 'web-a1': 'a', 'web-b1': 'b', 'web-b2': 'b', 'web-c1': 'c' })) {
      await bed.apply(flowPod(`${old}-new`, zone));
      await bed.sandbox.settled();
      expect(Object.values(bed.hints('web')), `beside ${old}`).not.to.include('');
      await bed.sandbox.remove(PODS, { namespace: NAMESPACE, name: old });
      await bed.sandbox.settled();
      expect(Object.values(bed.hints('web')), `without ${old}`).not.to.include('');
    }
    await until(() => expect(helpers('a')).not.to.deep.equal([]));
    expect(Object.keys(bed.hints('web'))).to.deep.equal(['web-a1-new', 'web-b1-new', 'web-b2-new', 'web-c1-new']);
  });

  it('in a zone outage: the others go on, and the dead zone has no part in the plan', async () => {
    await open({ a: 1, b: 1, c: 1 });
    bed.plant.demand = { a: 0.9, b: 0.2, c: 0.2 };
    await until(() => expect(helpers('a')).not.to.deep.equal([]));
    bed.plant.demand = { b: 0.2, c: 0.2 };
    await unready('a');
    await bed.apply(flowPod('web-a1', 'a', { ready: false }));
    // Hints for clients that are not there cost nothing, and help the first ones that come back.
    await until(() => {
      expect(Object.keys(bed.hints('web'))).to.deep.equal(['web-b1', 'web-c1']);
      expect(bed.hints('web')['web-b1']?.split(',')).to.include('b');
      expect(bed.hints('web')['web-c1']?.split(',')).to.include('c');
    });
    await until(() => expect(bed.policy('web')?.status?.zones?.map(({ zone }) => zone)).to.deep.equal(['b', 'c']));
  });

  it('with more demand than capacity: says so, and others help', async () => {
    await open({ a: 1, b: 1, c: 1 });
    bed.plant.demand = { a: 2.5, b: 0.4, c: 0.4 };
    const spread = (): boolean => Object.values(bed.hints('web')).every((zones) => zones === '');
    await until(() => expect(spread() || helpers('a').length > 0, JSON.stringify(bed.hints('web'))).to.equal(true));
    await until(() =>
      expect(bed.conditions('web')['Stable']).to.be.oneOf(['False/DemandAboveCapacity', 'False/Overloaded']),
    );
  });

  it('writes the plan to the slices of both families, and the mark where it spreads', async () => {
    await open({ a: 1, b: 1 });
    await bed.apply(
      flowPolicy({ upDwell: '1s', planInterval: '1s', staleness: { holdAfter: '20s', safeModeAfter: '40s' } }),
    );
    bed.plant.demand = { a: 0.2, b: 0.2 };
    await until(() => expect(bed.conditions('web')['Observed']).to.equal('True/MetricsFresh'));
    bed.plant.silent = true;
    await until(() => expect(bed.hints('web')).to.deep.equal({ 'web-a1': '', 'web-b1': '' }));
    for (const { metadata, endpoints, addressType } of bed.slices('web')) {
      expect(metadata?.annotations?.[ANNOTATION_PLAN], addressType).to.equal(PLAN_SPREAD);
      for (const { hints } of endpoints ?? []) expect(hints, addressType).to.equal(undefined);
    }
  });
});
