import { expect } from 'chai';
import { describe, it } from 'mocha';
import { metricsCatalogue } from '../../../hack/lib/metrics-catalogue.ts';
import { unknownNames } from '../../../hack/lib/promql-names.ts';

describe('names in PromQL', () => {
  const cases: { name: string; expr: string; unknown: string[] }[] = [
    { name: 'a gauge with its label', expr: 'topology_aware_routing_services{state="Effective"}', unknown: [] },
    {
      name: 'parts of a histogram',
      expr: 'histogram_quantile(0.9, sum by (le, path) (rate(topology_aware_routing_admission_duration_seconds_bucket[5m])))',
      unknown: [],
    },
    {
      name: 'a join with what scrapers add',
      expr: 'process_cpu_seconds_total * on (job, instance) group_left (command) topology_aware_routing_build_info',
      unknown: [],
    },
    {
      name: 'a metric that is not there',
      expr: 'topology_aware_routing_gone > 0',
      unknown: ['topology_aware_routing_gone'],
    },
    {
      name: 'a histogram without its part',
      expr: 'topology_aware_routing_admission_duration_seconds',
      unknown: ['topology_aware_routing_admission_duration_seconds'],
    },
    {
      name: 'the part of a gauge',
      expr: 'topology_aware_routing_services_sum',
      unknown: ['topology_aware_routing_services_sum'],
    },
    { name: 'a label of another metric', expr: 'topology_aware_routing_services{zone=~"a"}', unknown: ['zone'] },
    {
      name: 'a label to sum by',
      expr: 'sum by (state, colour) (topology_aware_routing_services)',
      unknown: ['colour'],
    },
    { name: 'a metric of Node.js that is not asked for', expr: 'nodejs_gone', unknown: ['nodejs_gone'] },
  ];
  for (const { name, expr, unknown } of cases) {
    it(`finds ${unknown.length === 0 ? 'nothing' : unknown.join()} in ${name}`, () => {
      expect(unknownNames(expr, metricsCatalogue())).to.deep.equal(unknown);
    });
  }
});
