// Restarts, kills and re-certifies the webhook under constant writes of slices with `failurePolicy: Fail`.
// Alone: it writes as fast as the machine can.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import type { MutatingWebhookConfiguration } from '../../../pkg/apis/admission.ts';
import type { EndpointSlice } from '../../../pkg/apis/core.ts';
import { EXTENSION_NAME } from '../../../pkg/apis/names.ts';
import { ENDPOINT_SLICES, MUTATING_WEBHOOK_CONFIGURATIONS } from '../../../pkg/apis/resources.ts';
import { useBed } from '../bed/index.ts';
import { is, waitFor } from '../bed/machine.ts';
import { commandReady } from '../commands.ts';
import { type Probes, type Writers, type Written, startProbes, startWriters } from '../faults-checks.ts';
import { type Installed, install } from '../faults-world.ts';
import { hasOwnZone, untilAdmission } from '../hints-support.ts';
import type { Replica } from '../kubelet.ts';
import { isLate } from '../settings-audit.ts';

const namespace = 'writes';
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
/** Longer than the machine stands still: the other replica takes over while this one still answers. */
const DRAIN_SECONDS = 15;
/** The API server waits 5 s for a webhook, the most that the command registers; a machine that stands still is slower. */
const PLAYS = 3;
const preload = fileURLToPath(new URL('../faults-clock-preload.ts', import.meta.url));

describe('webhook under writes that must not fail', function () {
  this.timeout(PLAYS * 3 * MINUTE);
  let installed: Installed;
  let probes: Probes;
  const bed = useBed();

  const setClocks = (offsetMs: number): void => writeFileSync(join(bed().directory, 'clock'), String(offsetMs));
  const writersOf = (asks: boolean, more: { endpoints?: number } = {}): Promise<Writers> =>
    startWriters({ client: installed.world.client, namespace, asks, ...more });
  const report = (what: string, { accepted, refused, perSecond }: Written): void =>
    console.log(`      ${what}: ${perSecond.toFixed(0)} writes/s, ${accepted} accepted, ${refused.length} refused`);
  const expectNothingLost = ({ accepted, refused, unhinted }: Written): void => {
    expect(refused.slice(0, 3), `${refused.length} refused writes`).to.deep.equal([]);
    expect(unhinted, 'writes stored without hints').to.equal(0);
    expect(accepted).to.be.above(50);
  };
  /** Plays again what met nothing but a time limit, three times in all: where it is the webhook that is slow, it is so again. */
  const playInTime = async (play: () => Promise<Written>): Promise<Written> => {
    for (let plays = 1; ; plays += 1) {
      const written = await play();
      const { refused, unhinted } = written;
      const late = refused.length > 0 && refused.every(isLate);
      if (!late || unhinted > 0 || plays === PLAYS) return written;
      console.log(`      played again: ${refused.length} writes met the time limit, e.g. ${refused[0]}`);
    }
  };
  const leave = async ({ component }: Replica): Promise<void> => {
    component.signal('SIGTERM');
    await waitFor(`end of ${component.name}`, () => component.pid, is(undefined));
  };
  /** Resolves when it is in the Service again. */
  const enter = async ({ component, healthPort }: Replica): Promise<void> => {
    component.start();
    await commandReady(component, healthPort);
    await pause(1_500);
  };

  before('two replicas whose clocks are three weeks late', async () => {
    setClocks(-22 * DAY);
    const environment = { NODE_OPTIONS: `--import=${preload}`, E2E_CLOCK_FILE: join(bed().directory, 'clock') };
    const webhook = { environment, server: { drainSeconds: DRAIN_SECONDS } };
    installed = await install(bed(), { webhook, reconcilers: 0 });
    await bed().api.create('/api/v1/namespaces', { metadata: { name: namespace } });
    await untilAdmission(installed.world.client, namespace, true);
    // Both are published before one of them is taken away.
    await pause(1_500);
    probes = startProbes(installed.webhooks);
  });

  it('rolling restart of both replicas: not one write is refused', async () => {
    const plain = await writersOf(false);
    await pause(4_000);
    report('without the webhook', await plain.stop());
    const from = performance.now();
    const written = await playInTime(async () => {
      const writers = await writersOf(true);
      await pause(1_000);
      // As a Deployment with maxUnavailable 1: the next one goes when this one is back.
      for (const replica of installed.webhooks) {
        await leave(replica);
        await enter(replica);
      }
      return writers.stop();
    });
    report('through the webhook, both replicas restarted', written);
    expectNothingLost(written);
    for (const { component } of installed.webhooks) {
      expect(probes.answers(component.name, '/readyz', from), 'not ready while it drains').to.include('no');
      expect(probes.answers(component.name, '/healthz', from), 'alive while it drains').not.to.include('no');
    }
  });

  it('authority and certificates rotated: not one write is refused or stored without hints', async () => {
    const { client } = installed.world;
    const bundle = async (): Promise<number> => {
      const registration = await client.list<MutatingWebhookConfiguration>(MUTATING_WEBHOOK_CONFIGURATIONS);
      const found = registration.items.find(({ metadata }) => metadata?.name?.startsWith(EXTENSION_NAME));
      const text = Buffer.from(found?.webhooks?.[0]?.clientConfig.caBundle ?? '', 'base64').toString('utf8');
      return text.split('BEGIN CERTIFICATE').length - 1;
    };
    /** End of the certificate that the replica took over last, in milliseconds since 1970. */
    const endOf = ({ component }: Replica): number =>
      Date.parse([...readFileSync(component.logFile, 'utf8').matchAll(/"notAfter":"([^"]+)"/g)].at(-1)?.[1] ?? '');
    const move = (offsetMs: number): void => {
      setClocks(offsetMs);
      for (const { component } of installed.webhooks) component.signal('SIGUSR2');
    };
    const authorities = (count: number): Promise<unknown> => waitFor(`${count} authorities`, bundle, is(count));
    const bothRenewed = (renewed: boolean): Promise<unknown> =>
      waitFor(
        `both serve a certificate of ${renewed ? 'the new' : 'an old'} authority`,
        () => installed.webhooks.map(endOf),
        (ends) => ends.every((end) => end > Date.now() + 20 * DAY === renewed),
      );
    const written = await playInTime(async () => {
      // After a play, its certificates are of the future and replaced; a day later its authority is dropped.
      move(-22 * DAY);
      await bothRenewed(false);
      move(-21 * DAY + 1 * MINUTE);
      await authorities(1);
      await untilAdmission(client, namespace, true);
      const writers = await writersOf(true);
      move(-2 * DAY + 1 * MINUTE);
      await authorities(2);
      move(-2 * DAY + 20 * MINUTE);
      await bothRenewed(true);
      // New connections meet the new certificate.
      await pause(2_000);
      move(-MINUTE * 60);
      await authorities(1);
      await pause(2_000);
      return writers.stop();
    });
    report('while everything was rotated', written);
    expectNothingLost(written);
  });

  it('SIGKILL in the middle of requests: what was under way fails, nothing is stored without hints, the other serves', async () => {
    const writers = await writersOf(true, { endpoints: 300 });
    const [other, victim] = installed.webhooks as [Replica, Replica];
    // While the other is away and this one frozen, every write comes to wait for the one that dies.
    await leave(other);
    victim.component.signal('SIGSTOP');
    await enter(other);
    await victim.component.kill();
    await pause(2_000);
    const during = writers.accepted;
    await waitFor(
      'writes that the other one serves',
      () => writers.accepted,
      (count) => count > during,
    );
    await enter(victim);
    const written = await writers.stop();
    report('with one replica killed', written);
    expect(written.unhinted, 'writes stored without hints').to.equal(0);
    expect(written.refused.length, 'writes that were under way').to.be.above(0);
    for (const text of written.refused) expect(text).to.match(/failed calling webhook/);
    const { items } = await installed.world.client.list<EndpointSlice>(ENDPOINT_SLICES, { namespace });
    const bare = items.filter(({ metadata }) => metadata?.name?.startsWith('asks-'));
    expect(
      bare.every(({ endpoints }) => (endpoints ?? []).every(hasOwnZone)),
      'stored slices are hinted',
    ).to.equal(true);
  });
});
