// SPDX-License-Identifier: Apache-2.0
// Two replicas of the settings-reconciler on a real API server: one is killed, one is frozen; nothing is written twice.
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import type { Lease } from '../../../pkg/apis/core.ts';
import { CLUSTERS, LEASES } from '../../../pkg/apis/resources.ts';
import { service } from '../../fixtures/core.ts';
import { cluster, namespace, seed } from '../../fixtures/gardener.ts';
import type { Component } from '../bed/component.ts';
import { useBed } from '../bed/mocha.ts';
import { waitFor } from '../bed/wait-for.ts';
import { NAMESPACE, RECONCILER } from '../chart.ts';
import { isAccepted, isBrokenOff, receivedAt, settingsWrites, subjectOf } from '../settings-audit.ts';
import type { AuditEvent } from '../settings-audit.ts';
import { COMMAND_USERS, credentialOf, openWorld, userOf } from '../settings-world.ts';
import type { World } from '../settings-world.ts';

const NS = 'shoot--foo--bar';
/** Nobody starts one again that lost its Lease because the machine stood still. */
const LEASE_SECONDS = 20;
const LEASE = { namespace: NAMESPACE, name: 'settings-reconciler-leader-election' };
/** As many as one replica sends at the same time. */
const WRITES_AT_ONCE = 4;
/** Enough that a flip takes long enough to die in the middle of it. */
const SERVICES = Array.from({ length: 200 }, (_, index) => `service-${String(index).padStart(3, '0')}`);

describe('replicas of the settings-reconciler', () => {
  const bed = useBed({ auditReadsOf: COMMAND_USERS });
  let world: World;
  let first: Component;
  let second: Component;
  /** How the audit log knows them. */
  let credentials: { readonly first: string; readonly second: string };

  const replica = (name: string, port: number, isSecond: boolean): Promise<Component> =>
    world.startReconciler({
      name,
      port,
      second: isSecond,
      config: {
        modes: { seed: { gardener: {}, extensionServices: true } },
        leaderElection: { leaseDurationSeconds: LEASE_SECONDS, renewDeadlineSeconds: 15, retryPeriodSeconds: 1 },
      },
    });
  /** Whether the setting is on. */
  let enabled = false;
  /** Returns where the audit log was before. */
  const flip = async (): Promise<number> => {
    const mark = world.audit.mark();
    enabled = !enabled;
    await world.client.patch(CLUSTERS, { name: NS }, 'merge', { spec: { seed: seed({ enabled }) } });
    return mark;
  };
  const wanted = (): string | undefined => (enabled ? 'PreferSameZone' : undefined);
  const lease = (): Promise<Lease> => world.client.get<Lease>(LEASES, LEASE);
  const holder = async (): Promise<string> => (await lease()).spec?.holderIdentity ?? '';
  const anotherThan = (leader: string): Promise<string> =>
    waitFor('another leader', holder, (now) => now !== leader && now !== '');
  const writesOf = (credential: string, since: number): AuditEvent[] =>
    world.audit
      .of(userOf(RECONCILER), since)
      .filter(({ user }) => user.extra?.['authentication.kubernetes.io/credential-id']?.includes(credential));
  const settled = (since: number, count: number): Promise<unknown> =>
    waitFor(
      `${count} writes`,
      () => world.writes(since).length,
      (length) => length >= count,
    );
  const allAsWanted = (): Promise<unknown> =>
    waitFor(
      'all as wanted',
      () => Promise.all(SERVICES.map((name) => world.service(NS, name))),
      (all) => all.every(({ spec }) => spec?.trafficDistribution === wanted()),
    );
  /**
   * Flips the setting and freezes the leader in the middle of it, again where the machine let it write everything before that.
   * Returns where the audit log was before the flip.
   */
  const freezeInTheMiddle = async (leader: Component): Promise<number> => {
    for (let flips = 1; ; flips += 1) {
      const mark = await flip();
      await settled(mark, 10);
      leader.signal('SIGSTOP');
      const written = world.writes(mark).length;
      if (written < SERVICES.length - WRITES_AT_ONCE) return mark;
      expect(flips, 'flips that were over before the leader froze').to.be.below(5);
      leader.signal('SIGCONT');
      await settled(mark, SERVICES.length);
      await world.quiet();
    }
  };
  /** From the last write of the old leader to the first of the new one, once everything is written. */
  const gapMs = (old: string, fresh: string, since: number): number => {
    const [earlier, later] = [old, fresh].map((of) => settingsWrites(writesOf(of, since)).map(receivedAt));
    return Math.min(...(later ?? [])) - Math.max(...(earlier ?? []));
  };

  before('a shoot with many Services, one replica that leads, and another', async () => {
    world = await openWorld(bed(), { where: 'seed' });
    await world.create(namespace(), cluster({ spec: { seed: seed({ enabled: false }) } }));
    const labels = { 'topology.extensions.gardener.cloud/managed': 'true' };
    await Promise.all(SERVICES.map((name) => world.create(service({ metadata: { name, namespace: NS, labels } }))));
    credentials = { first: await credentialOf(bed()), second: await credentialOf(bed(), true) };
    first = await replica('first', 18_081, false);
    await waitFor('a leader', holder, (name) => name !== '');
    second = await replica('second', 18_083, true);
  });
  after(() => world?.close());

  it('share the work when the leader is killed in the middle: each object is written once', async () => {
    const leader = await holder();
    const mark = await freezeInTheMiddle(first);
    await first.kill();
    const { spec } = await lease();
    await anotherThan(leader);
    await allAsWanted();
    await world.quiet();
    // The label of the Namespace is a write as well.
    const subjects = world
      .writes(mark)
      .map(subjectOf)
      .filter((subject) => subject.startsWith('services '));
    expect(new Set(subjects).size, 'none twice').to.equal(subjects.length);
    expect(SERVICES.map((name) => `services ${NS}/${name}`)).to.include.members(subjects);
    // What was under way at the kill may be stored without that anybody was told.
    expect(SERVICES.length - subjects.length).to.be.within(0, WRITES_AT_ONCE);

    const taken = (await lease()).spec;
    const waited = Date.parse(taken?.acquireTime ?? '') - Date.parse(spec?.renewTime ?? '');
    console.log(`      Lease of ${LEASE_SECONDS} s taken over ${waited} ms after its last renewal`);
    console.log(`      ${gapMs(credentials.first, credentials.second, mark)} ms between the writes of both`);
    expect(waited, 'no earlier than the Lease allows').to.be.at.least(LEASE_SECONDS * 1_000 - 1_000);
    // Candidates try every second, and up to 1.2 times as long at random; the rest is a busy machine.
    expect(waited, 'soon after the Lease ended').to.be.below(LEASE_SECONDS * 1_000 + 30_000);
    expect(taken?.leaseTransitions).to.equal((spec?.leaseTransitions ?? 0) + 1);
  });

  it('do nothing more when they wake up after their Lease has gone to another', async () => {
    first.start();
    const leader = await holder();
    await freezeInTheMiddle(second);
    await anotherThan(leader);
    // What was wanted when it froze is no longer wanted when it wakes up.
    await flip();
    await allAsWanted();
    await world.quiet();
    const awake = world.audit.mark();
    second.signal('SIGCONT');
    await waitFor(
      'end of the one that woke up',
      () => second.pid,
      (pid) => pid === undefined,
    );
    await world.quiet();
    const late = writesOf(credentials.second, awake).filter(({ verb }) => !['get', 'list', 'watch'].includes(verb));
    expect(late.filter(isAccepted).map(subjectOf), 'accepted writes after it woke up').to.deep.equal([]);
    // It may ask for the Lease, which is how it learns that another has it. What had passed its fence before it froze is sent
    // when it wakes up, and refused, as it carries the version that it was decided on; or broken off, as the process ends.
    const tried = late.filter(({ objectRef }) => objectRef?.resource !== 'leases');
    const strange = tried.filter((event) => event.responseStatus?.code !== 409 && !isBrokenOff(event));
    expect(
      strange.map((event) => `${subjectOf(event)}: ${JSON.stringify(event.responseStatus)}`),
      'writes that neither met a conflict nor were broken off',
    ).to.deep.equal([]);
    expect(tried.map(subjectOf), 'writes that were under way').to.have.lengthOf.at.most(WRITES_AT_ONCE);
    for (const name of SERVICES) {
      expect((await world.service(NS, name)).spec?.trafficDistribution, name).to.equal(wanted());
    }
  });
});
