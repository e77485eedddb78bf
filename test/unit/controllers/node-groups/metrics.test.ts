import { expect } from 'chai';
import { describe, it } from 'mocha';
import { createTouchCounter, showNodeGroups } from '../../../../pkg/controllers/node-groups/controller.ts';
import { createMetrics } from '../../../../pkg/telemetry/metrics.ts';

describe('metrics about NodeGroups', () => {
  it('are what is known at each scrape', async () => {
    const metrics = createMetrics({ defaultMetrics: false });
    let zones = [
      { group: 'north', state: 'Assigned', nodes: 2 },
      { group: 'north', state: 'ForeignZone', nodes: 1 },
    ];
    const touched = createTouchCounter(metrics);
    showNodeGroups(metrics, () => zones);
    touched('touched');
    touched('touched');
    touched('gaveUp');
    const lines = async (): Promise<string[]> =>
      (await metrics.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    expect(await lines()).to.deep.equal([
      'topology_aware_routing_node_group_touches_total{outcome="touched"} 2',
      'topology_aware_routing_node_group_touches_total{outcome="gaveUp"} 1',
      'topology_aware_routing_node_group_nodes{group="north",state="Assigned"} 2',
      'topology_aware_routing_node_group_nodes{group="north",state="ForeignZone"} 1',
    ]);
    zones = [];
    expect((await lines()).filter((line) => line.includes('_nodes'))).to.deep.equal([]);
  });
});
