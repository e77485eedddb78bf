// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { showAdmission } from '../../../../pkg/controllers/admission-policies/metrics.ts';
import type { Backends } from '../../../../pkg/controllers/admission-policies/reconciler.ts';
import { showEffectiveness } from '../../../../pkg/controllers/effectiveness/metrics.ts';
import { createResyncCounter, showRepair } from '../../../../pkg/controllers/hint-repair/metrics.ts';
import { createWriteCounter, showSettings } from '../../../../pkg/controllers/settings/metrics.ts';
import { createMetrics } from '../../../../pkg/telemetry/metrics.ts';

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
    let backends: Backends | undefined = { acting: 'webhook', awaited: 'policy' };
    const wrote = createWriteCounter(metrics);
    const resynced = createResyncCounter(metrics);
    const counts = () => [{ owner: 'shoot-settings', reason, objects: 3 }];
    showSettings(metrics, { counts, foreignValues: () => 2, fights: () => 1 });
    showEffectiveness(metrics, { counts: () => [{ state: 'Effective', services: 4 }], figures: () => services });
    showRepair(metrics, { unavailable: true });
    const planner = { alive: () => alive === true, known: () => alive !== undefined };
    showAdmission(metrics, { planner, backends: () => backends });
    wrote('repair');
    wrote('repair');
    resynced('hinted');
    const first = await metrics.text();
    for (const line of [
      'topology_aware_routing_settings_objects{owner="shoot-settings",reason="Enabled"} 3',
      'topology_aware_routing_settings_foreign_values 2',
      'topology_aware_routing_services{state="Effective"} 4',
      'topology_aware_routing_settings_fights 1',
      'topology_aware_routing_ready_endpoints{hint="present"} 5',
      'topology_aware_routing_ready_endpoints{hint="missing"} 5',
      'topology_aware_routing_predicted_in_zone_ratio 0.75',
      'topology_aware_routing_service_predicted_in_zone_ratio{service_namespace="n",service_name="s"} 0.5',
      'topology_aware_routing_service_predicted_in_zone_ratio{service_namespace="n",service_name="t"} 1',
      'topology_aware_routing_services_without_series 0',
      'topology_aware_routing_webhook_unavailable 1',
      'topology_aware_routing_planner_alive 1',
      'topology_aware_routing_admission_carrier{carrier="webhook"} 1',
      'topology_aware_routing_admission_carrier{carrier="policy"} 0',
      'topology_aware_routing_admission_carrier_awaited{carrier="webhook"} 0',
      'topology_aware_routing_admission_carrier_awaited{carrier="policy"} 1',
      'topology_aware_routing_settings_writes_total{kind="Service",cause="repair"} 2',
      'topology_aware_routing_slice_touches_total{outcome="hinted"} 1',
    ]) {
      expect(first.split('\n')).to.include(line);
    }
    reason = 'SingleZone';
    backends = { acting: 'policy', awaited: undefined };
    const second = await metrics.text();
    expect(second).to.contain('reason="SingleZone"} 3').and.not.to.contain('reason="Enabled"');
    expect(second).to.contain('_carrier{carrier="webhook"} 0').and.to.contain('_carrier{carrier="policy"} 1');
    expect(second).to.contain('_carrier_awaited{carrier="policy"} 0');
    [backends, alive] = [undefined, undefined];
    expect(await metrics.text(), 'not found out yet').not.to.match(/^topology_aware_routing_planner_alive/m);
    expect(await metrics.text(), 'not found out yet').not.to.contain('carrier="');
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
