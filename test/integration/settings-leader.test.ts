// Two replicas on the sandbox: one writes, the other takes over, nothing is written twice, and a stolen Lease ends the process.
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { runCleanup, serve } from '../../cmd/settings-reconciler/app.ts';
import type { Lease } from '../../pkg/apis/core.ts';
import { LEASES, NAMESPACES, SERVICES } from '../../pkg/apis/resources.ts';
import { node, service } from '../fixtures/core.ts';
import { cluster, namespace, seed } from '../fixtures/gardener.ts';
import { eventually } from './controller-bed.ts';
import { type Bed, openBed } from './settings-support.ts';
import { LABEL_ROUTING } from '../../pkg/apis/names.ts';
import { MODE, NS, useShoots } from './settings-shoots-support.ts';

describe('replicas of the settings reconciler', () => {
  const QUICK_LEASE =
    'modes: {seed: {}}\nleaderElection: {leaseDurationSeconds: 60, renewDeadlineSeconds: 40, retryPeriodSeconds: 1}';

  let bed: Bed;
  beforeEach(async () => {
    bed = await openBed();
    await bed.apply(
      ...['eu-1a', 'eu-1b'].map((zone) => node({ zone })),
      namespace(),
      cluster({ spec: { seed: seed({ enabled: false }) } }),
      ...['vpa-webhook', 'gardener-resource-manager'].map((name) => service({ metadata: { name, namespace: NS } })),
    );
  });
  afterEach(() => bed.close());

  const holder = (): string =>
    bed.sandbox.get<Lease>(LEASES, { namespace: 'default', name: 'settings-reconciler' })?.spec?.holderIdentity ?? '';
  const patchesOf = (plural: string): string[] =>
    bed.writes().flatMap(({ verb, resource, name }) => (verb === 'patch' && resource === plural ? [name ?? ''] : []));
  const patches = (): string[] => patchesOf('services');
  const flip = (enabled: boolean) => bed.apply(cluster({ spec: { seed: seed({ enabled }) } }));

  it('write each change once, whichever replica leads', async () => {
    const first = await bed.start(QUICK_LEASE);
    await eventually(() => expect(holder()).to.equal('test-1'));
    await bed.start(QUICK_LEASE);
    await flip(true);
    await eventually(() => expect(patches()).to.have.members(['vpa-webhook', 'gardener-resource-manager']));
    await first.stop();
    await eventually(() => expect(holder()).to.equal('test-2'));
    expect(patches(), 'taking over writes nothing').to.have.length(2);
    expect(patchesOf('namespaces'), 'nor the label anew').to.have.length.at.most(1);
    await flip(false);
    await eventually(() => expect(patches()).to.have.length(4));
    expect(bed.service(NS, 'vpa-webhook').spec?.trafficDistribution).to.equal(undefined);
  });

  it('end when the Lease is stolen', async () => {
    const session = await bed.session(QUICK_LEASE);
    const stop = new AbortController();
    const ended = serve(session, stop.signal).catch((error: unknown) => error);
    await eventually(() => expect(holder()).to.equal(session.identity));
    const lease = bed.sandbox.get<Lease>(LEASES, { namespace: 'default', name: 'settings-reconciler' });
    await bed.apply({ ...lease, spec: { ...lease?.spec, holderIdentity: 'thief' } } as Lease);
    expect(await ended).to.be.instanceOf(Error);
    expect(bed.log.entries.map(({ message }) => message)).to.include('lost leadership');
    stop.abort();
  });

  it('are in the way of a cleanup, which says so and writes nothing', async () => {
    await bed.apply({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'settings-reconciler', namespace: 'default' },
      spec: { holderIdentity: 'a-replica', leaseDurationSeconds: 3_600, renewTime: '2026-01-01T00:00:00.000000Z' },
    } as Lease);
    const session = await bed.session(QUICK_LEASE);
    const ended = runCleanup(session, new AbortController().signal).catch((error: unknown) => error);
    await bed.quiet();
    bed.clock.skip(60_000);
    expect(String(await ended)).to.contain('another replica holds the Lease');
    expect(bed.writes()).to.deep.equal([]);
  });
});

describe('settings of shoots, released', () => {
  const bed = useShoots();
  const { expectAll, setSeed } = bed;

  describe('releases a namespace that lost its role, whichever replica leads, where a leader is killed', () => {
    const labelled = () => bed.bed.sandbox.get(NAMESPACES, { name: NS })?.metadata?.labels?.[LABEL_ROUTING];
    const loseRole = (): Promise<unknown> => {
      const stored = bed.bed.sandbox.get(NAMESPACES, { name: NS });
      const labels = { ...stored?.metadata?.labels, 'gardener.cloud/role': 'none' };
      return bed.bed.apply({ ...stored, metadata: { ...stored?.metadata, labels } });
    };
    const refuse = (resource: string, name?: string) =>
      bed.bed.sandbox.addFault({
        kind: 'status',
        match: { verb: 'patch', resource, ...(name === undefined ? {} : { name }) },
        code: 500,
      });
    /** Services in the order in which they are written; the last one is the last that is released. */
    const last = (): string => {
      const names = bed.bed.sandbox.list(SERVICES).map(({ metadata }) => metadata?.name ?? '');
      return names.sort().at(-1) ?? '';
    };

    const kills: { name: string; until: () => Promise<void> }[] = [
      { name: 'as soon as the role is gone', until: () => Promise.resolve() },
      {
        name: 'while it waits',
        async until() {
          await bed.bed.quiet();
          bed.bed.clock.skip(240_000);
        },
      },
      {
        name: 'between two Services',
        async until() {
          await bed.bed.quiet();
          const fault = refuse('services', last());
          bed.bed.clock.skip(300_000);
          await bed.bed.quiet();
          fault.remove();
        },
      },
      {
        name: 'between the Services and the label',
        async until() {
          await bed.bed.quiet();
          const fault = refuse('namespaces');
          bed.bed.clock.skip(300_000);
          await expectAll(undefined);
          await bed.bed.quiet();
          fault.remove();
        },
      },
    ];
    for (const { name, until } of kills)
      it(name, async () => {
        await setSeed(true);
        const first = await bed.bed.start(`${MODE}\nkeep: on`);
        await expectAll('PreferSameZone');
        await eventually(() => expect(labelled()).to.equal('true'));
        await loseRole();
        await until();
        await first.stop();
        await bed.bed.start(`${MODE}\nkeep: on`);
        bed.bed.clock.skip(300_000);
        await expectAll(undefined);
        await eventually(() => expect(labelled()).to.equal(undefined));
      });
  });
});
