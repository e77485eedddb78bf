import { expect } from 'chai';
import { describe, it } from 'mocha';
import { showEffectiveness, showUnsafeRouters } from '../../../../pkg/controllers/effectiveness/controller.ts';
import { createResyncCounter, showPlanner, showRepair } from '../../../../pkg/controllers/hint-repair/controller.ts';
import { createWriteCounter, showSettings } from '../../../../pkg/controllers/settings/controller.ts';
import { clientsOf } from '../../../../pkg/diagnosis/models/routes.ts';
import { createMetrics } from '../../../../pkg/telemetry/metrics.ts';
import { node } from '../../../fixtures/core.ts';
import { CILIUM, configMap, daemonSet, routerObjects } from '../../../fixtures/data-planes.ts';

describe('metrics of the settings reconciler', () => {
  it('show what is so when they are scraped, and forget what is no longer', async () => {
    const metrics = createMetrics({ defaultMetrics: false });
    let reason = 'Enabled';
    let alive: boolean | undefined = true;
    let services = [
      { namespace: 'n', service: 's', figures: { hinted: 3, unhinted: 1, inZone: 0.5 } },
      { namespace: 'n', service: 't', figures: { hinted: 2, unhinted: 0, inZone: 1 } },
      { namespace: 'n', service: 'u', figures: { hinted: 0, unhinted: 4, inZone: undefined } },
    ];
    const wrote = createWriteCounter(metrics);
    const resynced = createResyncCounter(metrics);
    const counts = () => [{ owner: 'shoot-settings', reason, objects: 3 }];
    showSettings(metrics, { counts, foreignValues: () => 2, fights: () => 1 });
    showEffectiveness(metrics, { counts: () => [{ state: 'Effective', services: 4 }], figures: () => services });
    const cilium = daemonSet('cilium', 'cilium:v1.19.5', CILIUM);
    const nodes = ['a', 'b'].map((zone) => node({ zone }));
    const topology = configMap('cilium-config', { 'enable-service-topology': 'true' });
    showUnsafeRouters(metrics, () => clientsOf(nodes, routerObjects(cilium, topology)));
    showRepair(metrics, { unavailable: true });
    showPlanner(metrics, { alive: () => alive === true, known: () => alive !== undefined });
    wrote('repair');
    wrote('repair');
    resynced('hinted');
    const first = await metrics.text();
    for (const line of [
      'topology_aware_routing_settings_objects{owner="shoot-settings",reason="Enabled"} 3',
      'topology_aware_routing_settings_foreign_values 2',
      'topology_aware_routing_services{state="Effective"} 4',
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
    ]) {
      expect(first.split('\n')).to.include(line);
    }
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
      figures: { hinted: 1, unhinted: 0, inZone: 1 },
    }));
    const many = await metrics.text();
    expect(many.match(/^topology_aware_routing_service_predicted/gm)).to.have.length(50);
    expect(many).to.contain('services_without_series 10').and.to.contain('ready_endpoints{hint="present"} 60');
  });
});
