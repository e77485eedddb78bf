import { expect } from 'chai';
import { describe, it } from 'mocha';
import { metricsCatalogue } from '../../../hack/lib/metrics-catalogue.ts';
import { unknownNames } from '../../../hack/lib/promql-names.ts';

describe('names in PromQL', () => {
  const cases: readonly (readonly [name: string, expr: string, unknown: string[]])[] = [
    ['a gauge with its label', 'topology_aware_routing_services{state="Effective"}', []],
    [
      'parts of a histogram',
      'histogram_quantile(0.9, sum by (le, path) (rate(topology_aware_routing_admission_duration_seconds_bucket[5m])))',
      [],
    ],
    [
      'a join with what scrapers add',
      'process_cpu_seconds_total * on (job, instance) group_left (command) topology_aware_routing_build_info',
      [],
    ],
    ['a metric that is not there', 'topology_aware_routing_gone > 0', ['topology_aware_routing_gone']],
    [
      'a histogram without its part',
      'topology_aware_routing_admission_duration_seconds',
      ['topology_aware_routing_admission_duration_seconds'],
    ],
    ['the part of a gauge', 'topology_aware_routing_services_sum', ['topology_aware_routing_services_sum']],
    ['a label of another metric', 'topology_aware_routing_services{zone=~"a"}', ['zone']],
    ['a label to sum by', 'sum by (state, colour) (topology_aware_routing_services)', ['colour']],
    ['a metric of Node.js that is not asked for', 'nodejs_gone', ['nodejs_gone']],
  ];
  for (const [name, expr, unknown] of cases) {
    it(`finds ${unknown.length === 0 ? 'nothing' : unknown.join()} in ${name}`, () => {
      expect(unknownNames(expr, metricsCatalogue())).to.deep.equal(unknown);
    });
  }
});
