// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { createSettingsMetrics } from '../../../../pkg/controllers/settings/metrics.ts';
import type { CarrierFigures } from '../../../../pkg/controllers/settings/metrics.ts';
import { createMetrics } from '../../../../pkg/telemetry/metrics.ts';

describe('metrics of the settings reconciler', () => {
  it('show what is so when they are scraped, and forget what is no longer', async () => {
    const metrics = createMetrics({ defaultMetrics: false });
    let reason = 'Enabled';
    let carrier: CarrierFigures | undefined = { carrier: 'webhook', awaits: 'policy' };
    const settings = createSettingsMetrics(metrics, {
      decisions: () => [{ owner: 'shoot-settings', reason, objects: 3 }],
      foreignValues: () => 2,
      effectiveness: () => [{ state: 'Effective', services: 4 }],
      webhookUnavailable: () => true,
      carrier: () => carrier,
      staleness: () => [{ resource: 'services', milliseconds: 1_500 }],
    });
    settings.wrote('Etcd', 'repair');
    settings.wrote('Etcd', 'repair');
    settings.touched('hinted');
    settings.failed();
    const first = await metrics.text();
    for (const line of [
      'topology_aware_routing_settings_objects{owner="shoot-settings",reason="Enabled"} 3',
      'topology_aware_routing_settings_foreign_values 2',
      'topology_aware_routing_services{state="Effective"} 4',
      'topology_aware_routing_webhook_unavailable 1',
      'topology_aware_routing_admission_carrier{carrier="webhook"} 1',
      'topology_aware_routing_admission_carrier{carrier="policy"} 0',
      'topology_aware_routing_admission_carrier_awaited{carrier="webhook"} 0',
      'topology_aware_routing_admission_carrier_awaited{carrier="policy"} 1',
      'topology_aware_routing_informer_staleness_seconds{resource="services"} 1.5',
      'topology_aware_routing_settings_writes_total{kind="Etcd",cause="repair"} 2',
      'topology_aware_routing_slice_touches_total{outcome="hinted"} 1',
      'topology_aware_routing_list_watch_failures_total 1',
    ]) {
      expect(first.split('\n')).to.include(line);
    }
    reason = 'SingleZone';
    carrier = { carrier: 'policy', awaits: undefined };
    const second = await metrics.text();
    expect(second).to.contain('reason="SingleZone"} 3').and.not.to.contain('reason="Enabled"');
    expect(second).to.contain('_carrier{carrier="webhook"} 0').and.to.contain('_carrier{carrier="policy"} 1');
    expect(second).to.contain('_carrier_awaited{carrier="policy"} 0');
    carrier = undefined;
    expect(await metrics.text(), 'not found out yet').not.to.contain('carrier="');
  });
});
