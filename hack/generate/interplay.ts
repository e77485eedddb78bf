// SPDX-License-Identifier: Apache-2.0
// What hints at admission cost the EndpointSlice controller, and what an outage does, from the last kept run of the e2e suites.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { formatCounts } from '../../test/e2e/hints-counts.ts';
import type { InterplayCount } from '../../test/e2e/hints-counts.ts';
import { formatOutages } from '../../test/e2e/hints-outages.ts';
import type { Outage } from '../../test/e2e/hints-outages.ts';
import type { Generator } from './types.ts';

const read = <T>(name: string): T =>
  JSON.parse(readFileSync(resolve(import.meta.dirname, '../../test/e2e/results', name), 'utf8')) as T;

/** What a Service without the label costs is what it costs without admission; the further sync says what every one does. */
const isTelling = ({ settings, event }: InterplayCount): boolean =>
  settings !== 'none' && event !== 'next sync without a change';

export const interplay: Generator = {
  path: 'docs/concepts/how-it-works.md',
  section: 'interplay counts',
  render() {
    const outages = read<readonly Outage[]>('outage.json');
    const { services = 0, pods = 0 } = outages[0] ?? {};
    return [
      'PUTs by the EndpointSlice controller / versions stored, by what gives the hints:',
      '',
      formatCounts(read<readonly InterplayCount[]>('interplay.json').filter(isTelling)),
      '',
      `The webhook killed while all ${pods} Pods of ${services} Services are replaced; the Services have only the label:`,
      '',
      formatOutages(outages),
    ].join('\n');
  },
};
