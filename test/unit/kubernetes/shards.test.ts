// SPDX-License-Identifier: Apache-2.0
// Shards on a fake clock: never two replicas for one namespace, and none for long without one, while replicas join, die or are cut off.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { ANNOTATION_SHARDS } from '../../../pkg/apis/names.ts';
import { LEASES } from '../../../pkg/apis/resources.ts';
import { aborted } from '../../../pkg/kubernetes/abortable.ts';
import { runLeaderElection } from '../../../pkg/kubernetes/leader-election.ts';
import { holderOf } from '../../../pkg/kubernetes/lease.ts';
import type { Lease } from '../../../pkg/kubernetes/lease.ts';
import { MAX_SHARDS, createShards, shardLease, shardOf } from '../../../pkg/kubernetes/shards.ts';
import type { Shards } from '../../../pkg/kubernetes/shards.ts';
import { createFakeClock } from '../../fixtures/fake-clock.ts';
import { createMemoryServer } from '../../fixtures/memory-client.ts';
import { recordingLogger } from '../../fixtures/recording-logger.ts';

const LEADER = 'flow-controller';
const NAMESPACES = Array.from({ length: 12 }, (_, index) => `shop-${index}`);
/** Lease duration of the default configuration. */
const LEASE_MS = 15_000;
const RETRY_MS = 2_000;

interface Replica {
  readonly identity: string;
  readonly shards: Shards;
  cutOff: boolean;
  /** Crashed: nothing of it runs any more, and nothing is released. */
  dead: boolean;
  readonly stop: AbortController;
  readonly done: Promise<unknown>;
  works(namespace: string): boolean;
}

const createWorld = () => {
  const clock = createFakeClock();
  const server = createMemoryServer();
  const replicas: Replica[] = [];

  const start = (count: number, installation = 'seed'): Replica => {
    const identity = `replica-${replicas.length}`;
    const stop = new AbortController();
    const logger = recordingLogger();
    const client = server.client(() => {
      if (replica.cutOff || replica.dead) throw new Error('connection refused');
    });
    const election = {
      namespace: 'garden',
      name: LEADER,
      marks: () => Promise.resolve({ shards: count, installation }),
    };
    const common = { client, clock, random: () => 0.5, logger, identity };
    const shards = createShards({ ...common, election, count, installation });
    let leads = (): boolean => false;
    let alone = false;
    const replica: Replica = {
      identity,
      shards,
      cutOff: false,
      dead: false,
      stop,
      works: (namespace) =>
        count === 1 ? alone && leads() : shards.holds(namespace) && (shardOf(namespace, count) !== 0 || leads()),
      done: Promise.resolve(),
    };
    const leading = runLeaderElection(
      {
        ...common,
        ...election,
        async onStartedLeading(signal, holds) {
          leads = holds;
          if (count > 1) return shards.lead(signal);
          await shards.undivided(signal).then(
            () => (alone = true),
            () => undefined,
          );
          await aborted(signal);
          alone = false;
        },
        onStoppedLeading: () => undefined,
      },
      stop.signal,
      // A process ends when it loses the leader's Lease.
    ).finally(() => stop.abort());
    const done = Promise.all([leading, count > 1 ? shards.run(stop.signal) : undefined]);
    replicas.push(Object.assign(replica, { done }));
    return replica;
  };

  const alive = (): Replica[] => replicas.filter(({ dead }) => !dead);
  const workers = (namespace: string): string[] =>
    alive()
      .filter((replica) => replica.works(namespace))
      .map(({ identity }) => identity);
  const die = (replica: Replica): void => {
    replica.dead = true;
    replica.stop.abort();
  };
  const lease = (shard: number): Lease | undefined =>
    server.read<Lease>(LEASES, { namespace: 'garden', name: shardLease(LEADER, shard) });
  /** Names of the Leases that anyone has read. */
  const looks = (): string[] => [...new Set(server.calls.filter(({ verb }) => verb === 'get').map(({ name }) => name))];
  const end = async (): Promise<void> => {
    for (const { stop } of replicas) stop.abort();
    await clock.advance(2 * LEASE_MS);
    await Promise.all(replicas.map(({ done }) => done));
    expect(clock.pending, 'timers left behind').to.equal(0);
  };
  return { clock, replicas, start, alive, workers, die, lease, looks, end };
};

type World = ReturnType<typeof createWorld>;

/** Moves on in steps, and looks at each namespace after each; `unheld`: longest time without a replica, milliseconds. */
const watchFor = async (world: World, ms: number, unheld: Map<string, number>): Promise<void> => {
  for (let passed = 0; passed < ms; passed += 500) {
    await world.clock.advance(500);
    for (const namespace of NAMESPACES) {
      const working = world.workers(namespace);
      if (working.length > 1) throw new Error(`${namespace} has ${working.join(' and ')}`);
      unheld.set(namespace, working.length === 1 ? 0 : (unheld.get(namespace) ?? 0) + 500);
    }
  }
};

const heldBy = ({ alive }: World): number[] =>
  alive()
    .map(({ shards }) => shards.held().length)
    .sort((left, right) => left - right);

describe('the shard of a namespace', () => {
  it('is the same everywhere and always', () => {
    expect(['default', 'kube-system', 'shoot--core--prod', ''].map((name) => shardOf(name, 8))).to.deep.equal([
      5, 3, 7, 1,
    ]);
  });

  it('divides names that differ at their end into parts of about the same size', () => {
    for (let count = 2; count <= MAX_SHARDS; count += 1) {
      const sizes = Array.from({ length: count }, () => 0);
      for (let index = 0; index < 8_000; index += 1) {
        const shard = shardOf(`shoot--project--cluster-${index}`, count);
        sizes[shard] = (sizes[shard] ?? 0) + 1;
      }
      for (const size of sizes) expect(size / (8_000 / count), `of ${count}`).to.be.within(0.9, 1.1);
    }
  });
});

describe('shards of replicas', () => {
  it('are all held by one that is alone, and by each a part once there are more', async () => {
    const world = createWorld();
    world.start(4);
    await world.clock.advance(20_000);
    expect(heldBy(world)).to.deep.equal([4]);
    world.start(4);
    const unheld = new Map<string, number>();
    await watchFor(world, 30_000, unheld);
    expect(heldBy(world)).to.deep.equal([2, 2]);
    world.start(4);
    world.start(4);
    await watchFor(world, 40_000, unheld);
    expect(heldBy(world)).to.deep.equal([1, 1, 1, 1]);
    await world.end();
  });

  it('are taken over within a Lease duration from one that crashed, and at once from one that stopped', async () => {
    const world = createWorld();
    for (let index = 0; index < 3; index += 1) world.start(2);
    await world.clock.advance(20_000);
    expect(heldBy(world)).to.deep.equal([0, 1, 1]);
    const first = world.replicas.find(({ shards }) => shards.held().includes(1));
    world.die(first!);
    await world.clock.advance(LEASE_MS + 2 * RETRY_MS);
    expect(heldBy(world)).to.deep.equal([1, 1]);
    world.start(2);
    await world.clock.advance(5_000);
    const second = world.alive().find(({ shards }) => shards.held().includes(1));
    second!.stop.abort();
    await world.clock.advance(2 * RETRY_MS);
    expect(heldBy(world)).to.deep.equal([0, 1, 1]);
    await world.end();
  });

  it('end their work before another replica has them, and abort it', async () => {
    const world = createWorld();
    const one = world.start(2);
    await world.clock.advance(20_000);
    const namespace = NAMESPACES.find((name) => shardOf(name, 2) === 1) ?? '';
    let ended = false;
    const slow = one.shards.within(namespace, new AbortController().signal, async (signal) => {
      await aborted(signal);
      // Something that has been sent takes its time.
      await new Promise<void>((resolve) => void world.clock.setTimeout(resolve, 3_000));
      ended = true;
      return 'done';
    });
    const two = world.start(2);
    for (let step = 0; step < 60 && !two.shards.holds(namespace); step += 1) {
      expect(two.shards.holds(namespace)).to.equal(false);
      await world.clock.advance(500);
    }
    expect(two.shards.holds(namespace), 'handed over').to.equal(true);
    expect(ended, 'before').to.equal(true);
    expect(await slow).to.equal('done');
    expect(await one.shards.within(namespace, new AbortController().signal, () => Promise.resolve(1))).to.equal(
      undefined,
    );
    await world.end();
  });

  it('of another number wait until all of the former are given back', async () => {
    const world = createWorld();
    const unheld = new Map<string, number>();
    const old = [world.start(2), world.start(2)];
    await watchFor(world, 20_000, unheld);
    const next = [world.start(3), world.start(3), world.start(3)];
    await watchFor(world, 10_000, unheld);
    expect(
      next.map(({ shards }) => shards.held()),
      'while a leader divides by two',
    ).to.deep.equal([[], [], []]);
    for (const { stop } of old) {
      stop.abort();
      await watchFor(world, 20_000, unheld);
    }
    expect(next.flatMap(({ shards }) => shards.held())).to.have.members([0, 1, 2]);
    const single = world.start(1);
    for (const { stop } of next) stop.abort();
    await watchFor(world, 20_000, unheld);
    expect(NAMESPACES.every((name) => single.works(name))).to.equal(true);
    await world.end();
  });

  it('of another number wait for the Lease of one that is cut off, which works on until its own deadline', async () => {
    const world = createWorld();
    const unheld = new Map<string, number>();
    const [leader, other] = [world.start(2), world.start(2)];
    await watchFor(world, 20_000, unheld);
    const next = [world.start(3), world.start(3), world.start(3)];
    await watchFor(world, 5_000, unheld);
    for (const replica of [leader, other]) {
      if (replica.shards.held().includes(0)) replica.stop.abort();
      else replica.cutOff = true;
    }
    await watchFor(world, 30_000, unheld);
    expect(next.flatMap(({ shards }) => shards.held())).to.have.members([0, 1, 2]);
    await world.end();
  });

  it("are those of the leader's installation, where another one shares the Leases", async () => {
    const world = createWorld();
    const unheld = new Map<string, number>();
    const seed = [world.start(2, 'seed'), world.start(2, 'seed')];
    await watchFor(world, 20_000, unheld);
    const runtime = [world.start(2, 'runtime'), world.start(2, 'runtime')];
    await watchFor(world, 20_000, unheld);
    expect(runtime.flatMap(({ shards }) => shards.held())).to.deep.equal([]);
    seed[0]!.stop.abort();
    await watchFor(world, 30_000, unheld);
    expect(seed[1]!.shards.held().length * runtime.flatMap(({ shards }) => shards.held()).length, 'both').to.equal(0);
    seed[1]!.stop.abort();
    await watchFor(world, 30_000, unheld);
    expect(runtime.flatMap(({ shards }) => shards.held())).to.have.members([0, 1]);
    await world.end();
  });

  it('cost a leader that does not divide no look at their Leases, where it never was done', async () => {
    const world = createWorld();
    const one = world.start(1);
    await world.clock.advance(1_000);
    expect(one.works('shop-1')).to.equal(true);
    expect(world.lease(0)?.metadata?.annotations).not.to.have.property(ANNOTATION_SHARDS);
    expect(world.looks(), 'the Leases that are read').to.deep.equal([LEADER]);
    await world.end();
  });

  const events = fc.array(
    fc.record({
      what: fc.constantFrom('join', 'stop', 'die', 'cut', 'heal'),
      whom: fc.nat(),
      count: fc.constantFrom(1, 2, 3),
      seconds: fc.integer({ min: 0, max: 14 }),
    }),
    { minLength: 3, maxLength: 8 },
  );

  const happens = (world: World, what: string, victims: Replica[], whom: number, count: number): void => {
    const victim = victims[whom % Math.max(1, victims.length)];
    if (what === 'join') world.start(count);
    else if (victim !== undefined && what === 'stop') victim.stop.abort();
    else if (victim !== undefined && what === 'die') world.die(victim);
    else if (victim !== undefined) victim.cutOff = what === 'cut';
  };

  it('are never worked on by two, whatever happens to replicas, and however many shards each is for', async () => {
    await fc.assert(
      fc.asyncProperty(events, async (list) => {
        const world = createWorld();
        const unheld = new Map<string, number>();
        for (const count of [2, 2, 3, 3]) world.start(count);
        await watchFor(world, 10_000, unheld);
        for (const { what, whom, count, seconds } of list) {
          happens(world, what, world.alive(), whom, count);
          await watchFor(world, seconds * 1_000, unheld);
        }
        for (const replica of world.replicas) replica.cutOff = false;
        for (const { stop } of world.replicas) stop.abort();
        world.start(2);
        await watchFor(world, 3 * LEASE_MS, unheld);
        for (const [namespace, ms] of unheld) expect(ms, `${namespace} in the end`).to.equal(0);
        await world.end();
      }),
      { numRuns: 20 },
    );
  });

  it('are without a replica for little more than a Lease duration, while one is well', async () => {
    await fc.assert(
      fc.asyncProperty(events, async (list) => {
        const world = createWorld();
        world.start(3);
        const unheld = new Map<string, number>();
        await watchFor(world, 10_000, unheld);
        for (const { what, whom, seconds } of list) {
          happens(world, what, world.alive().slice(1), whom, 3);
          for (let second = 0; second < seconds; second += 1) {
            await watchFor(world, 1_000, unheld);
            for (const [namespace, ms] of unheld)
              expect(ms, `${namespace} unheld`).to.be.at.most(LEASE_MS + 5 * RETRY_MS);
          }
        }
        await world.end();
      }),
      { numRuns: 20 },
    );
  });

  it('leave their Leases free when their replicas stop', async () => {
    const world = createWorld();
    world.start(2);
    await world.clock.advance(10_000);
    await world.end();
    expect([0, 1].map((shard) => holderOf(world.lease(shard) ?? {}))).to.deep.equal(['', '']);
  });
});
