// Extension resources over time: migration, the condition, and outages.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { ANNOTATION_OPERATION, EXTENSION_FINALIZER } from '../../../../pkg/apis/names.ts';
import { rejection } from '../../../fixtures/eventually.ts';
import { CONDITION_INTERVAL_MS, effective, ineffective } from './support.ts';
import { DELETED, DONE, useExtension } from './reconciler-support.ts';

describe('the extension reconciler, over time', () => {
  const bed = useExtension();
  const { status, last, operation, finalizers, condition, change, order, put, settle } = bed;

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

  describe('the condition', () => {
    it('is not written more often than needed', async () => {
      await settle();
      const process = bed.world.process();
      bed.world.services = [ineffective];
      await process.turn();
      bed.world.services = [effective];
      expect(await process.turn()).to.deep.equal({ kind: 'requeue', afterMs: CONDITION_INTERVAL_MS });
      expect(condition()).to.equal('False HintsMissing');
      await bed.world.clock.advance(CONDITION_INTERVAL_MS);
      expect(await process.turn()).to.deep.equal(DONE);
      expect(condition()).to.equal('True Effective');
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
