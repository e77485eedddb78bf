// What the flow controller does when it is told too little, or contradicted: conditions, events, and slices that stay safe.
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { ANNOTATION_PLAN, ANNOTATION_TOPOLOGY_MODE, GROUP, LABEL_STRATEGY } from '../../pkg/apis/names.ts';
import { hintSwitch } from '../fixtures/core.ts';
import { type FlowBed, NAMESPACE, flowNode, flowPod, flowPolicy, flowService, openFlowBed } from './flow-support.ts';
import { eventually } from './controller-bed.ts';

const ZONES = ['a', 'b'];
const LABELS = { [LABEL_STRATEGY]: 'load-aware' };
const OWN = { 'web-a': 'a', 'web-b': 'b' };
const SPREAD = { 'web-a': '', 'web-b': '' };
const LABELLED = 'namespaceSelector: {matchLabels: {loop: mine}}';
const QUICK = { upDwell: '1s', planInterval: '1s' };

describe('the flow controller in trouble', function onSandbox() {
  this.timeout(180_000);
  let bed: FlowBed;
  beforeEach(async () => {
    bed = await openFlowBed();
    await bed.apply(...ZONES.map((zone) => flowNode(zone)), ...ZONES.map((zone) => flowPod(`web-${zone}`, zone)));
    bed.plant.demand = { a: 0.3, b: 0.3 };
  });
  afterEach(() => bed.close());

  const until = (check: () => unknown, stepMs?: number): Promise<void> => bed.until(check, stepMs);
  const released = async (): Promise<void> => {
    await eventually(() => expect(bed.hints('web')).to.deep.equal(SPREAD));
    await eventually(() => expect(bed.policy('web'), 'our empty FlowPolicy').to.equal(undefined));
    expect(bed.service('web').metadata?.labels ?? {}).not.to.have.property(LABEL_STRATEGY);
  };
  const relabel = (labels: Record<string, string>): Promise<unknown> =>
    bed.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE, labels } });
  const patches = () => bed.writes().filter(({ resource }) => resource === 'endpointslices');
  const told = (reason: string): string[] => bed.events().filter((event) => event.startsWith(`${reason}: `));

  it('without CPU requests: own zones, NoCapacity, and a sentence that helps', async () => {
    await bed.apply(flowPod('web-b', 'b', { cpu: '' }), flowService({ labels: LABELS }));
    await bed.start();
    await eventually(() => expect(bed.conditions('web')['Observed']).to.equal('False/NoCapacity'));
    expect(bed.hints('web')).to.deep.equal(OWN);
    expect(told('NoCapacity')).to.have.length(1);
    expect(told('NoCapacity')[0]).to.contain('web-b').and.to.contain('capacity.value');
    await bed.apply(flowPolicy({ capacity: { from: 'Value', value: '1' } }));
    await until(() => expect(bed.conditions('web')['Observed']).to.equal('True/MetricsFresh'));
  });

  it('makes room while metrics are stale, spreads when they are lost, and comes back with them', async () => {
    await bed.apply(flowService({ labels: LABELS }));
    await bed.start();
    await until(() => expect(bed.conditions('web')['Observed']).to.equal('True/MetricsFresh'));
    bed.plant.silent = true;
    await until(() => expect(bed.conditions('web')['Observed']).to.equal('False/MetricsStale'), 30_000);
    await eventually(() => expect(bed.hints('web'), 'room for four times the demand').to.deep.equal(SPREAD));
    await until(() => expect(bed.conditions('web')['Observed']).to.equal('False/MetricsLost'), 60_000);
    await eventually(() => expect(bed.hints('web')).to.deep.equal(SPREAD));
    expect(told('MetricsStale')).to.have.length(1);
    expect(told('MetricsLost')).to.have.length(1);
    bed.plant.silent = false;
    await until(() => expect(bed.hints('web')).to.deep.equal(OWN));
    expect(bed.conditions('web')).to.include({ Observed: 'True/MetricsFresh', Effective: 'True/PlanInForce' });
  });

  it('makes no plan beside Auto, and reverts what was planned', async () => {
    await bed.apply(flowService({ labels: LABELS }), flowPolicy(QUICK));
    bed.plant.demand = { a: 1.1, b: 0.1 };
    await bed.start();
    await until(() => expect(bed.hints('web')['web-b']).to.contain('a'));
    await bed.apply(flowService({ labels: LABELS, annotations: { [ANNOTATION_TOPOLOGY_MODE]: 'Auto' } }));
    await eventually(() => expect(bed.conditions('web')['Effective']).to.equal('False/ConflictingMode'));
    await eventually(() => {
      for (const { metadata } of bed.slices('web'))
        expect(metadata?.annotations ?? {}).not.to.have.property(ANNOTATION_PLAN);
    });
    expect(told('ConflictingMode')).to.have.length(1);
  });

  it('leaves the policy of its author to a Service that opts out, and says so in it', async () => {
    await bed.apply(flowService({ labels: LABELS }), flowPolicy(QUICK));
    await bed.start();
    await until(() => expect(bed.conditions('web')['Effective']).to.equal('True/PlanInForce'));
    await bed.apply(flowService());
    await eventually(() => expect(bed.conditions('web')['Effective']).to.equal('False/NotRequested'));
    expect(bed.policy('web')?.spec).to.deep.equal(QUICK);
    expect(Object.keys(bed.policy('web')?.status ?? {}).sort(), 'no figures').to.deep.equal([
      'conditions',
      'endpoints',
      'observedGeneration',
    ]);
  });

  it('removes plans and makes none while hints are switched off, and plans again afterwards', async () => {
    bed.plant.demand = { a: 1.5, b: 0.1 };
    await bed.apply(flowPolicy(QUICK), flowService({ labels: LABELS }));
    await bed.start();
    const plans = () => bed.slices('web').map(({ metadata }) => metadata?.annotations?.[ANNOTATION_PLAN]);
    await until(() => expect(plans()).not.to.include(undefined));
    await bed.admission(false);
    await bed.apply(hintSwitch('off'));
    await eventually(() => expect([bed.hints('web'), plans()]).to.deep.equal([SPREAD, [undefined]]));
    await eventually(() => expect(bed.conditions('web')['Effective']).to.equal('False/SwitchedOff'));
    const written = patches().length;
    for (let turn = 0; turn < 5; turn += 1) {
      bed.clock.skip(60_000);
      await bed.quiet();
    }
    expect(patches().length).to.equal(written);
    await bed.admission(true);
    await bed.apply(hintSwitch());
    await until(() => expect(plans()).not.to.include(undefined));
  });

  it('plans and reports, and writes nothing to Service and slices, while the policy says Observe', async () => {
    await bed.apply(flowPolicy({ ...QUICK, mode: 'Observe' }));
    await bed.apply(
      flowService({ annotations: { [ANNOTATION_TOPOLOGY_MODE]: `${LABEL_STRATEGY.split('/')[0]}/load-aware` } }),
    );
    bed.plant.demand = { a: 0.3, b: 0.3 };
    await bed.start();
    await until(() =>
      expect(bed.conditions('web')).to.include({ Observed: 'True/MetricsFresh', Effective: 'False/ObserveOnly' }),
    );
    bed.plant.demand = { a: 1, b: 0.1 };
    await until(() => expect(bed.conditions('web')['Observed']).to.equal('True/MetricsFresh'));
    expect(bed.hints('web')).to.deep.equal(SPREAD);
    expect(bed.service('web').metadata?.labels ?? {}).not.to.have.property(LABEL_STRATEGY);
    expect(new Set(bed.writes().map(({ resource }) => resource))).to.deep.equal(new Set(['flowpolicies']));
    await bed.apply(flowPolicy(QUICK));
    await until(() => expect(Object.values(bed.hints('web'))).not.to.include(''));
  });

  it('without admission: asserts its plan less and less often, says so, and recovers at once', async () => {
    await bed.apply(flowService({ labels: LABELS }));
    await bed.start();
    await until(() => expect(bed.conditions('web')['Effective']).to.equal('True/PlanInForce'));
    await bed.admission(false);
    await bed.apply(flowPod('web-a', 'a', { ready: false }));
    await until(() => expect(bed.conditions('web')['Effective']).to.equal('False/WebhookUnavailable'), 2_000);
    expect(told('WebhookUnavailable')).to.have.length(1);
    // An hour later there were a dozen tries, not thousands.
    bed.sandbox.clearRequests();
    for (let minute = 0; minute < 60; minute += 1) {
      bed.clock.skip(60_000);
      await bed.quiet();
    }
    expect(patches().length / bed.slices('web').length).to.be.within(5, 40);
    await bed.admission(true);
    await bed.apply(flowPod('web-a', 'a'));
    await until(() => expect(bed.hints('web')).to.deep.equal(OWN), 60_000);
    await until(() => expect(bed.conditions('web')['Effective']).to.equal('True/PlanInForce'), 60_000);
  });

  /** A plan for demand that zone a cannot carry alone, from a process that ended: the hints that it left. */
  const leftBehind = async () => {
    await bed.apply(flowService({ labels: LABELS }), flowPolicy(QUICK));
    bed.plant.demand = { a: 1.1, b: 0.1 };
    const first = await bed.start();
    await until(() => expect(bed.hints('web')['web-b']).to.contain('a'));
    await until(() => expect(bed.conditions('web')['Effective']).to.equal('True/PlanInForce'));
    await until(() => expect(bed.policy('web')?.status?.plan?.endpoints).not.to.deep.equal([]));
    const planned = bed.hints('web');
    await first.stop();
    return planned;
  };

  it('goes on where the process before it ended, without a write', async () => {
    const planned = await leftBehind();
    bed.sandbox.clearRequests();
    await bed.start();
    for (let turn = 0; turn < 5; turn += 1) {
      bed.clock.skip(15_000);
      await bed.quiet();
    }
    expect(patches()).to.deep.equal([]);
    expect(bed.hints('web')).to.deep.equal(planned);
  });

  it('takes the plan from the status where the slices lost it while no controller ran', async () => {
    const planned = await leftBehind();
    await bed.admission(false);
    await bed.apply(flowService({ labels: { ...LABELS, touched: '1' } }));
    await bed.sandbox.settled();
    expect(bed.hints('web')).to.deep.equal(SPREAD);
    await bed.admission(true);
    await bed.start();
    await eventually(() => expect(bed.hints('web')).to.deep.equal(planned));
  });

  it('looks after the namespaces with its labels alone, from the moment they have them', async () => {
    await bed.apply(flowService({ labels: LABELS }));
    await bed.start(LABELLED);
    await bed.quiet();
    expect(bed.writes()).to.deep.equal([]);
    await relabel({ loop: 'mine' });
    await eventually(() => expect(bed.policy('web')?.status?.conditions).to.have.length(3));
  });

  const labelled = async () => {
    await relabel({ loop: 'mine' });
    await bed.apply(flowService({ annotations: { [ANNOTATION_TOPOLOGY_MODE]: `${GROUP}/load-aware` } }));
    const serving = await bed.start(LABELLED);
    await until(() => expect(bed.hints('web')).to.deep.equal(OWN));
    return serving;
  };

  it('releases a namespace that lost its labels, though the planner was killed meanwhile', async () => {
    const first = await labelled();
    await relabel({});
    await first.stop();
    await bed.start(LABELLED);
    bed.clock.skip(300_000);
    await released();
  });

  it('releases a namespace that loses its labels, unless they come back within five minutes', async () => {
    await labelled();
    for (const labels of [{}, { loop: 'mine' }, {}]) {
      await relabel(labels);
      await bed.quiet();
      bed.clock.skip(240_000);
      await bed.quiet();
      expect(bed.hints('web'), JSON.stringify(labels)).to.deep.equal(OWN);
    }
    bed.clock.skip(60_000);
    await released();
  });
});
