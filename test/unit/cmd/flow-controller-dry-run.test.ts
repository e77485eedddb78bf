// SPDX-License-Identifier: Apache-2.0
// Tests of how a dry run's plans are printed.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { renderPlans } from '../../../cmd/flow-controller/dry-run.ts';
import type { PlannedService } from '../../../cmd/flow-controller/dry-run.ts';

const plan = (more: Partial<PlannedService> = {}): PlannedService => ({
  namespace: 'shop',
  service: 'web',
  strategy: 'load-aware',
  reason: 'Planned',
  message: 'every endpoint serves its own zone',
  plan: { spread: false, endpoints: [] },
  endpoints: 3,
  demand: { a: 0.51234, b: 1 },
  inZoneShare: 0.876,
  writes: 2,
  fanOutBytes: 3_400_000,
  ...more,
});

describe('the plans of a dry run', () => {
  it('as a table have a line a Service, and what is not known as a dash', () => {
    const unknown = plan({ service: 'api', reason: 'NotInstalled', demand: null, inZoneShare: null, writes: 0 });
    const text = renderPlans([plan(), unknown], 'table');
    expect(text).to.match(
      /^shop +web +load-aware +3 +a 0\.512, b 1 +88 % +2 +3\.4 MB +Planned +every endpoint serves its own zone$/m,
    );
    expect(text).to.match(/^shop +api +load-aware +3 +- +- +0 +- +NotInstalled +/m);
    expect(text).to.match(
      /2 Service\(s\) request a plan; 2 EndpointSlice\(s\) would be written\. Nothing was written\.\n$/,
    );
  });

  it('say so where no Service asks', () => {
    expect(renderPlans([], 'table')).to.equal(
      '0 Service(s) request a plan; 0 EndpointSlice(s) would be written. Nothing was written.\n',
    );
  });

  it('as JSON are all that is known', () => expect(JSON.parse(renderPlans([plan()], 'json'))).to.deep.equal([plan()]));
});
