// SPDX-License-Identifier: Apache-2.0
// The flow controller where a FlowPolicy names the clients: Pods of theirs count before any load shows what they ask for.
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { LABEL_STRATEGY } from '../../pkg/apis/names.ts';
import { flowNode, flowPod, flowPolicy, flowService, openFlowBed } from './flow-support.ts';
import type { FlowBed } from './flow-support.ts';

const ZONES = ['a', 'b', 'c'];

describe('the flow controller that knows the clients', function onSandbox() {
  this.timeout(180_000);
  let bed: FlowBed;
  const front = (name: string, zone: string) => flowPod(name, zone, { app: 'front' });
  before(async () => {
    bed = await openFlowBed();
    await bed.apply(...ZONES.map((zone) => flowNode(zone)), ...ZONES.map((zone) => flowPod(`web-${zone}`, zone)));
    await bed.apply(flowService({ name: 'front' }), front('front-1', 'a'), front('front-2', 'b'));
    await bed.apply(flowPolicy({ clients: ['front'] }), flowService({ labels: { [LABEL_STRATEGY]: 'load-aware' } }));
    bed.plant.demand = { a: 0.3, b: 0.3, c: 0.1 };
    await bed.start();
    await bed.until(() => expect(bed.conditions('web')['Observed']).to.equal('True/MetricsFresh'));
  });
  after(() => bed.close());

  it('makes room for a zone whose clients scale, while no load shows it', async () => {
    bed.plant.silent = true;
    await bed.apply(...[3, 4, 5].map((index) => front(`front-${index}`, 'a')));
    await bed.until(() => {
      const { 'web-b': b = '', 'web-c': c = '' } = bed.hints('web');
      expect(`${b} ${c}`).to.contain('a');
    });
    const [newest] = bed.policy('web')?.status?.lastChanges ?? [];
    expect(newest?.reason).to.equal('Overloaded');
    expect(bed.conditions('web')['Observed'], 'samples are old by less than two minutes').to.equal('True/MetricsFresh');
  });

  it('takes it back when load shows that the clients ask for no more than before', async () => {
    bed.plant.silent = false;
    await bed.until(() => expect(bed.hints('web')).to.deep.equal({ 'web-a': 'a', 'web-b': 'b', 'web-c': 'c' }), 60_000);
  });
});
