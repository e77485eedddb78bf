// SPDX-License-Identifier: Apache-2.0
// `kubectl topology evacuate --measured` with real meters: the check by the clients that they count, and new connections that still arrive.
// Needs: conntrack
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import type { SurvivalReport } from '../../../pkg/diagnosis/survival/types.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { runTopology } from '../../fixtures/topology-command.ts';
import type { Ran, World } from '../../fixtures/topology-command.ts';
import type { Component } from '../bed/component.ts';
import type { BedService } from '../bed/index.ts';
import { mastersGroup } from '../bed/kubeconfig.ts';
import { useBed } from '../bed/mocha.ts';
import { waitFor } from '../bed/wait-for.ts';
import { describeProxies, startWebhook } from '../commands.ts';
import { AS_INSTALLED, allReturned, defineEvacuations } from '../evacuations.ts';
import { startReconciler } from '../hints-commands.ts';
import { connectAs } from '../hints-support.ts';
import { startMeasured } from '../measured-world.ts';
import type { MeasuredBed } from '../measured-world.ts';
import { startPulse } from '../traffic-meter-world.ts';

const ZONES = ['a', 'b', 'c'];
/** Connections a second to the Service, by the zone of the client: not alike, which only a meter knows. */
const RATES: Readonly<Record<string, number>> = { a: 12, b: 3, c: 3 };
/** Connections a second to the address of the Pod in zone a. */
const DIRECT = 4;
/** Two thirds of the clients are in zone a: twice a fair share today, and half of all for each of the others afterwards. */
const isNear = (value: number, wanted: number): boolean => Math.abs(value / wanted - 1) < 0.1;

describe('evacuating a zone with meters', function () {
  this.timeout(180_000);
  let client: Client;
  // Registered before the bed's own, so that it runs before the bed is gone.
  after(() => client?.close());
  const bed = useBed();
  let world: MeasuredBed;
  let service: BedService;
  let reconciler: Component;
  let operator: string;

  const topology = (words: readonly string[], how: World = {}): Promise<Ran> =>
    runTopology([...words, '--kubeconfig', operator], { now: () => Date.now(), ...how });
  const EVACUATE = ['evacuate', 'a', '--for', '1h', '--measured', '-n', 'shop'];

  before('three zones with meters, a Service with clients in all of them, and both commands', async () => {
    client = await connectAs(bed(), 'helper');
    operator = await bed().kubeconfig({ user: 'operator', groups: [mastersGroup] });
    await describeProxies(bed());
    await defineEvacuations(client);
    world = await startMeasured(bed(), ZONES);
    service = await bed().service({ name: 'web', namespace: 'shop', trafficDistribution: 'PreferClose' });
    await waitFor(
      'three endpoints',
      () => service.endpoints(),
      ({ length }) => length === 3,
    );
    await startWebhook(bed());
    reconciler = await startReconciler(bed(), AS_INSTALLED);
    const [first] = world.pods;
    for (const node of world.nodes)
      startPulse(bed(), node, service.clusterIPs[0] ?? '', service.port, { perSecond: RATES[node.zone ?? ''] ?? 0 });
    startPulse(bed(), world.nodes[1]!, first?.addresses.ipv4 ?? '', 8080, { perSecond: DIRECT });
  });

  it('checks by the clients that the meters count', async () => {
    const found = await waitFor(
      'the load as the meters count clients',
      async () => {
        const { out, err } = await topology(['audit', '--without', 'a', '--measured', '-o', 'json']);
        if (out === '') throw new Error(err);
        return (JSON.parse(out) as SurvivalReport).services.find(({ name }) => name === 'web')?.load;
      },
      (load) => load?.clientsMeasured === true && isNear(load.now, 2) && isNear(load.after ?? 0, 1.5),
    );
    expect(found?.basis).to.equal('fairShare');
  });

  it('shows new connections that still arrive while it goes on, and at its end those alone that go past Services', async () => {
    let progress = '';
    // Nothing moves yet.
    reconciler.signal('SIGSTOP');
    const ran = topology([...EVACUATE, '--force'], { onErr: (text) => void (progress += text) });
    await waitFor(
      'connections through the Service and past it',
      () => progress,
      (text) => /new connections to a: [1-9][\d.]* a second through Services, [1-9][\d.]* past them/.test(text),
    );
    reconciler.signal('SIGCONT');
    const { code, out, err } = await ran;
    expect(code, `${out}${err}`).to.equal(0);
    const [line = ''] = /new connections to a: .*/.exec(out) ?? [];
    console.log(`      at its end: ${line}`);
    expect(line, out).to.match(/^new connections to a: 0 a second through Services, [1-9][\d.]* past them/);
    const [, past = '0'] = /Services, ([\d.]+) past/.exec(line) ?? [];
    expect(Number(past), 'past Services').to.be.within(DIRECT / 4, DIRECT * 4);
    expect((await topology(['return', 'a'])).code).to.equal(0);
    await allReturned(client);
  });
});
