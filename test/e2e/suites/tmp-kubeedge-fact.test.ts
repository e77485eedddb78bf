// SPDX-License-Identifier: Apache-2.0
import { before, describe, it } from 'mocha';
import { setTimeout as pause } from 'node:timers/promises';
import { useBed } from '../bed/mocha.ts';
import { waitFor } from '../bed/wait-for.ts';

describe('fact', function () {
  this.timeout(120_000);
  const bed = useBed();
  before(() => undefined);
  it('shows', async () => {
    const node = await bed().node({ name: 'n1', zone: 'a' });
    const other = await bed().node({ name: 'n2', zone: 'b' });
    await bed().pod({ node, app: 'web' });
    await bed().pod({ node: other, app: 'web' });
    const web = await bed().service({ name: 'web' });
    await waitFor('2', () => web.endpoints(), (e) => e.length === 2);
    await pause(5000);
    for (const zone of ['x', 'y', null, 'z']) {
      await bed().api.patch('/api/v1/nodes/n1', { metadata: { labels: { 'topology.kubernetes.io/zone': zone } } });
      for (let i = 0; i < 4; i += 1) {
        await pause(2000);
        console.log(zone, i, JSON.stringify((await web.endpoints()).map(({ nodeName, zone: at }) => [nodeName, at])));
      }
    }
  });
});
