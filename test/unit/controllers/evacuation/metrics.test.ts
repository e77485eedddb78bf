import { expect } from 'chai';
import { describe, it } from 'mocha';
import { showEvacuation } from '../../../../pkg/controllers/evacuation/controller.ts';
import { createMetrics } from '../../../../pkg/telemetry/metrics.ts';

describe('metrics of evacuations', () => {
  it('zones in marks that owners of slices wrote: 20 by name, the others together', async () => {
    const metrics = createMetrics({ defaultMetrics: false });
    const zones = Array.from({ length: 1_000 }, (_, index) => [`zone-${1_000 + index}`, 1] as const);
    showEvacuation(metrics, { counts: () => [], overdue: () => new Map(zones) });
    const lines = (await metrics.text()).split('\n').filter((line) => line.includes('slices_overdue{'));
    expect(lines).to.have.lengthOf(21);
    expect(lines).to.include('topology_aware_routing_evacuation_slices_overdue{zone="other"} 980');
  });
});
