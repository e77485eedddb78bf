import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import type { LastOperation } from '../../../../pkg/apis/gardener.ts';
import type { KubernetesObject } from '../../../../pkg/apis/meta.ts';
import { ANNOTATION_OPERATION, EXTENSION_FINALIZER } from '../../../../pkg/apis/names.ts';
import { DELETED, DONE, useExtension } from './reconciler-support.ts';

const OTHER = 'example.com/other';

describe('the extension reconciler', () => {
  const bed = useExtension();
  const { status, finalizers, change, put, settle } = bed;

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

  it('writes times as Gardener compares them: whole seconds, not before the order', async () => {
    put();
    await bed.world.process().turn();
    const { lastUpdateTime } = status().lastOperation as LastOperation;
    expect(lastUpdateTime).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    expect(Date.parse(lastUpdateTime)).to.equal(Math.floor(bed.world.clock.now() / 1_000) * 1_000);
    expect((bed.world.stored() as KubernetesObject).kind).to.equal('Extension');
  });
});
