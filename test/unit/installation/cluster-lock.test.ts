import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import type { OwnerReference } from '../../../pkg/apis/meta.ts';
import { ANNOTATION_INSTALLATION } from '../../../pkg/apis/names.ts';
import { LEASES } from '../../../pkg/apis/resources.ts';
import { LOCK_DURATION_MS, createClusterLock, soleInstallation } from '../../../pkg/installation/cluster-lock.ts';
import type { ClusterLock } from '../../../pkg/installation/cluster-lock.ts';
import { ApiError } from '../../../pkg/kubernetes/errors.ts';
import type { Lease } from '../../../pkg/apis/core.ts';
import { type FakeClock, createFakeClock } from '../../fixtures/fake-clock.ts';
import { type Before, type MemoryServer, createMemoryServer } from '../../fixtures/memory-client.ts';
import { recordingLogger } from '../../fixtures/recording-logger.ts';

const LEASE = { namespace: 'garden', name: 'admission' };
const ownerOf = (name: string): OwnerReference => ({ apiVersion: 'v1', kind: 'Namespace', name, uid: `u-${name}` });

interface Process {
  readonly claim: ClusterLock;
  readonly changes: boolean[];
  stop(): Promise<void>;
}

describe('the claim of one of several installations', () => {
  let server: MemoryServer;
  let clock: FakeClock;
  beforeEach(() => {
    server = createMemoryServer();
    clock = createFakeClock();
  });

  const start = (installation: string, watches = false, before?: Before): Process => {
    const claim = createClusterLock({
      client: server.client(before),
      lease: LEASE,
      installation,
      ...(watches ? {} : { owner: () => Promise.resolve(ownerOf(installation)) }),
      clock,
      random: () => 0,
      logger: recordingLogger(),
    });
    const changes: boolean[] = [];
    claim.onChange(() => changes.push(claim.held()));
    const stop = new AbortController();
    const running = claim.run(stop.signal);
    return {
      claim,
      changes,
      async stop() {
        stop.abort();
        await running;
      },
    };
  };
  const lease = (): Lease | undefined => server.read<Lease>(LEASES, LEASE);
  const holder = (): string | null | undefined => lease()?.spec?.holderIdentity;

  it('is the first one’s, which says who it is and what the Lease goes with', async () => {
    const seed = start('seed');
    expect([seed.claim.known(), seed.claim.held()]).to.deep.equal([false, false]);
    await seed.claim.settled(new AbortController().signal);
    expect([seed.claim.known(), seed.claim.held(), seed.changes]).to.deep.equal([true, true, [true]]);
    const { metadata, spec } = lease()!;
    expect(metadata?.annotations).to.deep.equal({ [ANNOTATION_INSTALLATION]: 'seed' });
    expect(metadata?.ownerReferences).to.deep.equal([ownerOf('seed')]);
    expect(spec).to.include({ holderIdentity: 'seed', leaseDurationSeconds: LOCK_DURATION_MS / 1_000 });
    await seed.stop();
    expect(clock.pending, 'timers after the end').to.equal(0);
  });

  it('stays with it while any of its processes renews it', async () => {
    const processes = [start('seed'), start('seed')];
    const runtime = start('runtime');
    await clock.advance(60_000);
    expect(processes.map(({ claim }) => claim.held())).to.deep.equal([true, true]);
    expect([runtime.claim.known(), runtime.claim.held()]).to.deep.equal([true, false]);
    await processes[0]!.stop();
    await clock.advance(60_000);
    expect([holder(), runtime.changes]).to.deep.equal(['seed', []]);
    await Promise.all([processes[1]!.stop(), runtime.stop()]);
  });

  it('is known to be held by each of its processes, also where they begin at the same moment', async () => {
    const processes = [start('seed'), start('seed'), start('seed')];
    const never = new AbortController().signal;
    await Promise.all(processes.map(({ claim }) => claim.settled(never)));
    expect(processes.map(({ claim }) => claim.held())).to.deep.equal([true, true, true]);
    await Promise.all(processes.map((one) => one.stop()));
  });

  it('is not taken for another one’s because the first try failed', async () => {
    const seed = start('seed');
    await clock.settle();
    let refusals = 1;
    const replica = start('seed', false, () => {
      refusals -= 1;
      if (refusals >= 0) throw new ApiError({ method: 'GET', path: '/x', status: 500 });
    });
    await clock.settle();
    expect([replica.claim.known(), replica.claim.held()]).to.deep.equal([false, false]);
    await clock.advance(1_000);
    expect([replica.claim.known(), replica.claim.held()]).to.deep.equal([true, true]);
    await Promise.all([seed.stop(), replica.stop()]);
  });

  it('is given up hope of by who is refused for as long as a claim lasts', async () => {
    const refused = start('seed', false, () => {
      throw new ApiError({ method: 'GET', path: '/x', status: 403 });
    });
    await clock.advance(LOCK_DURATION_MS - 2_000);
    expect(refused.claim.known()).to.equal(false);
    await clock.advance(4_000);
    expect([refused.claim.known(), refused.claim.held()]).to.deep.equal([true, false]);
    await refused.stop();
  });

  it('goes to the other installation when it is not renewed, with another owner', async () => {
    const seed = start('seed');
    await clock.settle();
    const runtime = start('runtime');
    await seed.stop();
    await clock.advance(LOCK_DURATION_MS - 1_000);
    expect(runtime.claim.held()).to.equal(false);
    await clock.advance(10_000);
    expect(runtime.claim.held()).to.equal(true);
    expect(lease()?.metadata?.ownerReferences).to.deep.equal([ownerOf('runtime')]);
    expect(lease()?.metadata?.annotations).to.deep.equal({ [ANNOTATION_INSTALLATION]: 'runtime' });
    const again = start('seed');
    await clock.advance(LOCK_DURATION_MS);
    expect(again.claim.held(), 'who comes back').to.equal(false);
    await Promise.all([runtime.stop(), again.stop()]);
  });

  it('goes at once when it is given up, or its Lease is collected with its owner', async () => {
    for (const end of ['release', 'collected'] as const) {
      server.remove(LEASES, LEASE);
      const seed = start('seed');
      await clock.settle();
      const runtime = start('runtime');
      await seed.stop();
      if (end === 'release') await seed.claim.release();
      else server.remove(LEASES, LEASE);
      await clock.advance(6_000);
      expect(runtime.claim.held(), end).to.equal(true);
      await runtime.stop();
    }
  });

  it('is lost by who was away for too long', async () => {
    let reachable = true;
    const seed = start('seed', false, () => {
      if (!reachable) throw new ApiError({ method: 'GET', path: '/x', status: 503 });
    });
    await clock.settle();
    const runtime = start('runtime');
    reachable = false;
    await clock.advance(2 * LOCK_DURATION_MS);
    expect([seed.claim.held(), runtime.claim.held()], 'while it cannot know').to.deep.equal([true, true]);
    reachable = true;
    await clock.advance(6_000);
    expect([seed.changes, runtime.changes]).to.deep.equal([[true, false], [true]]);
    await Promise.all([seed.stop(), runtime.stop()]);
  });

  it('is only watched without an owner for the Lease', async () => {
    const reconciler = start('seed', true);
    await clock.advance(12_000);
    expect([reconciler.claim.known(), reconciler.claim.held(), lease()]).to.deep.equal([true, false, undefined]);
    const webhook = start('seed');
    await clock.advance(6_000);
    expect(reconciler.claim.held(), 'held by another process of the installation').to.equal(true);
    await webhook.stop();
    await webhook.claim.release();
    await clock.advance(6_000);
    expect(reconciler.changes).to.deep.equal([true, false]);
    await reconciler.stop();
  });
});

describe('a claim that no one else can have', () => {
  it('is held from the start, without a request', async () => {
    const claim = soleInstallation();
    const { signal } = new AbortController();
    await Promise.all([claim.settled(signal), claim.run(signal), claim.release()]);
    claim.onChange(() => expect.fail('it never changes'));
    expect([claim.known(), claim.held()]).to.deep.equal([true, true]);
  });
});
