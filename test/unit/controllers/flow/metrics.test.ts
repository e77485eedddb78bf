import { expect } from 'chai';
import { describe, it } from 'mocha';
import { showFlow } from '../../../../pkg/controllers/flow/metrics.ts';
import type { ServiceFigures } from '../../../../pkg/controllers/flow/metrics.ts';
import type { TurnFigures } from '../../../../pkg/flow/assemble/job.ts';
import { createMetrics } from '../../../../pkg/telemetry/metrics.ts';

const figuresOf = (zones: number): TurnFigures => ({
  zones: Array.from({ length: zones }, (_, index) => ({
    zone: `z${index}`,
    demand: 1,
    capacity: 2,
    utilization: 0.5,
    spill: 0,
    endpoints: 1,
  })),
  demand: zones,
  capacity: 2 * zones,
  endpoints: zones,
  inZoneShare: 0.9,
  maxUtilization: 0.6,
});

const serviceIn = (namespace: string, index: number, zones: number): ServiceFigures => ({
  namespace,
  service: `s${index}`,
  strategy: 'load-aware',
  observed: 'MetricsFresh',
  effective: 'PlanInForce',
  stable: 'Steady',
  figures: figuresOf(zones),
  sampleAge: 3,
});

/** Lines of samples once these Services are planned for. */
const samplesOf = async (services: readonly ServiceFigures[]): Promise<string[]> => {
  const metrics = createMetrics({ defaultMetrics: false });
  showFlow(metrics, { services: () => services });
  return (await metrics.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
};

describe('metrics of the flow controller', () => {
  it('do not grow with the Services of a namespace: who may create Services cannot fill a Prometheus', async () => {
    const few = (await samplesOf(Array.from({ length: 50 }, (_, index) => serviceIn('hostile', index, 3)))).length;
    const many = await samplesOf(Array.from({ length: 5_000 }, (_, index) => serviceIn('hostile', index, 3)));
    expect(many).to.have.lengthOf(few);
    expect(many).to.include('topology_aware_routing_services_without_series 4950');
    const counted =
      'topology_aware_routing_flow_services{strategy="load-aware",condition="Stable",reason="Steady"} 5000';
    expect(many).to.include(counted);
  });

  it('have at most a thousand Services, of however many namespaces', async () => {
    const services = Array.from({ length: 5_000 }, (_, index) => serviceIn(`n${index}`, index, 3));
    const samples = await samplesOf(services);
    expect(samples.filter((line) => line.includes('flow_in_zone_ratio'))).to.have.lengthOf(1_000);
    expect(samples.length, 'series in all').to.be.below(13_000);
  });
});
