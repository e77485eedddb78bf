import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import { ANNOTATION_OPERATION, EXTENSION_FINALIZER, EXTENSION_TYPE } from '../../../../pkg/apis/names.ts';
import { DELETED, DONE, useExtension } from './reconciler-support.ts';
import { rejection } from '../../../fixtures/eventually.ts';
import type { Extension } from '../../../../pkg/apis/gardener.ts';
import type { KubernetesObject } from '../../../../pkg/apis/meta.ts';
import { EXTENSIONS, type Resource } from '../../../../pkg/apis/resources.ts';
import { releaseExtensions } from '../../../../pkg/controllers/extension/release.ts';
import type { Client } from '../../../../pkg/kubernetes/types.ts';
import { extension } from '../../../fixtures/gardener.ts';
import { type Before, type MemoryServer, apiError, createMemoryServer } from '../../../fixtures/memory-client.ts';
import { recordingLogger } from '../../../fixtures/recording-logger.ts';

const OTHER = 'example.com/other';

describe('the extension reconciler', () => {
  const bed = useExtension();
  const { finalizers, change, put, settle } = bed;

  describe('reconcile', () => {
    it('leaves a failed Shoot alone until another writer changes it', async () => {
      put();
      bed.world.shoot = {
        metadata: { generation: 1 },
        status: { observedGeneration: 1, lastOperation: { state: 'Failed' } },
      };
      await bed.world.process().turn();
      expect(bed.world.server.calls).to.deep.equal([]);
    });
  });

  describe('delete', () => {
    beforeEach(async () => {
      await settle();
      change({ metadata: { deletionTimestamp: DELETED, finalizers: [OTHER, EXTENSION_FINALIZER] } });
    });

    it('lets go after half a minute anyway: no Shoot waits for us', async () => {
      bed.world.takingBack = true;
      const process = bed.world.process();
      await process.turn();
      await bed.world.clock.advance(30_000);
      expect(await process.turn()).to.deep.equal(DONE);
      expect(finalizers()).to.deep.equal([OTHER]);
      expect(bed.world.log.entries.map(({ level }) => level)).to.include('warn');
    });

    it('waits until the cache knows of it, so that nothing is called reverted that is not', async () => {
      bed.world.cached = { ...bed.world.stored()!, metadata: { ...bed.world.stored()!.metadata } };
      delete bed.world.cached.metadata!.deletionTimestamp;
      bed.world.cached.metadata!.annotations = { [ANNOTATION_OPERATION]: 'reconcile' };
      const process = bed.world.process();
      expect(await process.turn()).to.have.property('kind', 'requeue');
      expect(finalizers()).to.include(EXTENSION_FINALIZER);
      bed.world.cached = undefined;
      expect(await process.turn()).to.deep.equal(DONE);
      expect(finalizers()).to.deep.equal([OTHER]);
    });
  });
});

describe('the extension reconciler, over time', () => {
  const bed = useExtension();
  const { status, last, operation, finalizers, change, order, put, settle } = bed;

  describe('migrate and restore', () => {
    it('keeps the order to restore until the configuration is right', async () => {
      put({
        metadata: { annotations: { [ANNOTATION_OPERATION]: 'restore' } },
        spec: { type: 'topology-aware-routing', providerConfig: {} },
      });
      const process = bed.world.process();
      await process.turn();
      expect([last(), operation()]).to.deep.equal(['Restore Error', 'restore']);
      const written = bed.world.writes();
      for (let turn = 0; turn < 10; turn += 1) await process.turn();
      expect(bed.world.writes(), 'what is written brings it back to us, and is no reason to try again').to.equal(
        written,
      );
      await bed.world.clock.advance(60_000);
      await process.turn();
      expect(bed.world.writes(), 'a minute later').to.be.above(written);
    });
  });

  describe('during an outage', () => {
    const killed = new Error('killed');
    /** Dies before the n-th write. */
    const dyingAt = (nth: number) => {
      let writes = 0;
      return ({ verb }: { verb: string }): void => {
        if (verb !== 'patch') return;
        writes += 1;
        if (writes >= nth) throw killed;
      };
    };

    const orders: { name: string; start: () => Promise<void>; end: [string, string[]]; writes: number }[] = [
      {
        name: 'reconcile',
        writes: 3,
        start: async () => {
          await settle();
          change({ metadata: { finalizers: [] } });
          order('reconcile');
        },
        end: ['Reconcile Succeeded', [EXTENSION_FINALIZER]],
      },
      {
        name: 'migrate',
        writes: 3,
        start: async () => {
          await settle();
          order('migrate');
        },
        end: ['Migrate Succeeded', []],
      },
      {
        name: 'restore',
        writes: 4,
        start: () => {
          put({ metadata: { annotations: { [ANNOTATION_OPERATION]: 'restore' } } });
          return Promise.resolve();
        },
        end: ['Restore Succeeded', [EXTENSION_FINALIZER]],
      },
      {
        name: 'delete',
        writes: 3,
        start: async () => {
          await settle();
          change({ metadata: { deletionTimestamp: DELETED } });
        },
        end: ['Delete Succeeded', []],
      },
    ];
    for (const { name, start, end, writes } of orders) {
      for (let nth = 1; nth <= writes; nth += 1) {
        it(`killed before write ${nth} of ${writes} of ${name}: the next process ends it`, async () => {
          await start();
          expect(await rejection(bed.world.process(dyingAt(nth)).turn())).to.equal(killed);
          const next = bed.world.process();
          await next.turn();
          expect([last(), finalizers(), operation()]).to.deep.equal([...end, undefined]);
          expect(status().lastOperation?.lastUpdateTime).to.match(/^2026-/);
          bed.world.server.calls.length = 0;
          await next.turn();
          expect(bed.world.writes(), 'and that is all').to.equal(0);
        });
      }
    }

    it('loses no order that comes while it works', async () => {
      await settle();
      order('reconcile');
      let writes = 0;
      const process = bed.world.process(({ verb }) => {
        if (verb !== 'patch') return;
        writes += 1;
        // Between taking the order up and the end: Gardener asks for a migration.
        if (writes === 3) order('migrate');
      });
      expect(await process.turn()).to.have.property('kind', 'requeue');
      expect([last(), operation()]).to.deep.equal(['Reconcile Processing', 'migrate']);
      await process.turn();
      expect([last(), operation(), ...finalizers()]).to.deep.equal(['Migrate Succeeded', undefined]);
    });
  });
});

describe('releaseExtensions', () => {
  let server: MemoryServer;
  beforeEach(() => (server = createMemoryServer()));

  const put = (namespace: string, spec: object = {}, finalizers = [OTHER, EXTENSION_FINALIZER]): void =>
    server.put(EXTENSIONS, extension({ metadata: { namespace, finalizers }, spec: { type: EXTENSION_TYPE, ...spec } }));
  const finalizers = (namespace: string): string[] | undefined =>
    server.read<Extension>(EXTENSIONS, { namespace, name: EXTENSION_TYPE })?.metadata?.finalizers;
  const release = (before?: Before, broken?: Error): Promise<number> => {
    const pages = async function* <T extends KubernetesObject>(resource: Resource) {
      if (broken !== undefined) throw broken;
      yield { metadata: {}, items: await Promise.resolve(server.all<T>(resource)) };
    };
    const client = { ...server.client(before), pages } as unknown as Client;
    return releaseExtensions({ client, classes: ['shoot'], logger: recordingLogger() }, new AbortController().signal);
  };

  it('gives up our finalizer on what this installation answers for, and nothing else', async () => {
    put('a');
    put('b', { class: 'garden' });
    put('c', { type: 'lakom' });
    put('d', {}, [OTHER]);
    expect(await release()).to.equal(1);
    expect(['a', 'b', 'c', 'd'].map(finalizers)).to.deep.equal([
      [OTHER],
      [OTHER, EXTENSION_FINALIZER],
      [OTHER, EXTENSION_FINALIZER],
      [OTHER],
    ]);
  });

  it('takes what another writer wrote in the same moment into account', async () => {
    put('a');
    let raced = false;
    const count = await release(({ verb }) => {
      if (verb !== 'patch' || raced) return;
      raced = true;
      put('a', {}, [OTHER, EXTENSION_FINALIZER, 'example.com/new']);
    });
    expect(count).to.equal(1);
    expect(finalizers('a')).to.deep.equal([OTHER, 'example.com/new']);
  });

  for (const status of [403, 404]) {
    it(`finds none where the server answers ${status}`, async () =>
      expect(await release(undefined, apiError(status))).to.equal(0));
  }
});
