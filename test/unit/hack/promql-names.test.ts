import { expect } from 'chai';
import { describe, it } from 'mocha';
import { metricsCatalogue } from '../../../hack/lib/metrics-catalogue.ts';
import { unknownNames } from '../../../hack/lib/promql-names.ts';

describe('names in PromQL', () => {
  const cases: readonly (readonly [name: string, expr: string, unknown: string[]])[] = [
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
  // In those of alerts and dashboard, which there are, it finds nothing.
  for (const [name, expr, unknown] of cases)
    it(`finds ${unknown.join()} in ${name}`, () =>
      expect(unknownNames(expr, metricsCatalogue())).to.deep.equal(unknown));
});
