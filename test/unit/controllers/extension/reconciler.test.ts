import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import type { LastOperation } from '../../../../pkg/apis/gardener.ts';
import type { KubernetesObject } from '../../../../pkg/apis/meta.ts';
import { ANNOTATION_OPERATION, EXTENSION_FINALIZER } from '../../../../pkg/apis/names.ts';
import { EXTENSIONS } from '../../../../pkg/apis/resources.ts';
import { extension, routingConfig } from '../../../fixtures/gardener.ts';
import { REF, ineffective } from './support.ts';
import { DELETED, DONE, useExtension } from './reconciler-support.ts';

const OTHER = 'example.com/other';

describe('the extension reconciler', () => {
  const bed = useExtension();
  const { status, last, operation, finalizers, condition, change, order, put, settle } = bed;

  describe('reconcile', () => {
    it('takes a new one up: finalizer, status, condition, and the order is gone', async () => {
      put({ metadata: { finalizers: [OTHER] } });
      expect(await bed.world.process().turn()).to.deep.equal(DONE);
      expect(last()).to.equal('Create Succeeded');
      expect(status()).to.deep.include({ observedGeneration: 1 });
      expect(status()).not.to.have.property('lastError');
      expect(finalizers()).to.deep.equal([OTHER, EXTENSION_FINALIZER]);
      expect(operation()).to.equal(undefined);
      expect(condition()).to.equal('True Effective');
      expect(bed.world.writes(), 'begin, take up, end').to.equal(3);
    });

    it('is quiet afterwards, also in the process that comes next', async () => {
      await settle();
      const next = bed.world.process();
      for (let turns = 0; turns < 3; turns += 1) expect(await next.turn()).to.deep.equal(DONE);
      expect(bed.world.server.calls).to.deep.equal([]);
    });

    it('follows an order, and a change without one', async () => {
      await settle();
      const next = bed.world.process();
      order('reconcile');
      await next.turn();
      expect(last()).to.equal('Reconcile Succeeded');
      expect(operation()).to.equal(undefined);
      change({ metadata: { generation: 2 } });
      await next.turn();
      expect(status().observedGeneration).to.equal(2);
    });

    it('succeeds although routing has no effect, and says so in the condition', async () => {
      bed.world.services = [ineffective];
      put();
      await bed.world.process().turn();
      expect([last(), condition()]).to.deep.equal(['Create Succeeded', 'False HintsMissing']);
    });

    it('leaves other objects alone', async () => {
      for (const spec of [{ type: 'lakom' }, { type: 'topology-aware-routing', class: 'garden' }]) {
        bed.world.put(extension({ spec }));
        expect(await bed.world.process().turn()).to.deep.equal(DONE);
      }
      bed.world.server.remove(EXTENSIONS, REF);
      expect(await bed.world.process().turn()).to.deep.equal(DONE);
      expect(bed.world.server.calls).to.deep.equal([]);
    });

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

  describe('a wrong configuration', () => {
    const wrong = { providerConfig: routingConfig({ services: [{ name: 'a', zone: 'x' }] }) };

    it('is an error with code, object and field, once', async () => {
      put({ spec: { type: 'topology-aware-routing', ...wrong } });
      const first = bed.world.process();
      expect(await first.turn()).to.deep.equal(DONE);
      expect(last()).to.equal('Create Error');
      expect(status().lastError?.codes).to.deep.equal(['ERR_CONFIGURATION_PROBLEM']);
      expect(status().lastError?.description).to.contain(
        'Extension shoot--foo--bar/topology-aware-routing: spec.providerConfig.services[0].zone is not a field of this kind',
      );
      expect(status().observedGeneration).to.equal(1);
      expect(condition()).to.equal('False ConfigurationInvalid');
      bed.world.server.calls.length = 0;
      await first.turn();
      expect(bed.world.server.calls, 'no retry: the cause is the user’s').to.deep.equal([]);
    });

    it('is over when it is mended', async () => {
      put({ spec: { type: 'topology-aware-routing', ...wrong } });
      const first = bed.world.process();
      await first.turn();
      change({ metadata: { generation: 2 }, spec: { providerConfig: routingConfig({ services: [{ name: 'a' }] }) } });
      await first.turn();
      expect([last(), condition()]).to.deep.equal(['Create Succeeded', 'True Effective']);
      expect(status()).not.to.have.property('lastError');
    });

    it('is looked at again by the process that comes next', async () => {
      put({ spec: { type: 'topology-aware-routing', ...wrong } });
      await bed.world.process().turn();
      bed.world.server.calls.length = 0;
      await bed.world.process().turn();
      expect(last()).to.equal('Create Error');
      expect(bed.world.writes()).to.be.above(0);
    });
  });

  describe('delete', () => {
    beforeEach(async () => {
      await settle();
      change({ metadata: { deletionTimestamp: DELETED, finalizers: [OTHER, EXTENSION_FINALIZER] } });
    });

    it('lets go when everything is reverted', async () => {
      bed.world.takingBack = true;
      const process = bed.world.process();
      expect(await process.turn()).to.have.property('kind', 'requeue');
      expect(last()).to.equal('Delete Processing');
      expect(finalizers()).to.include(EXTENSION_FINALIZER);
      const before = bed.world.writes();
      await process.turn();
      expect(bed.world.writes(), 'waiting writes nothing').to.equal(before);
      bed.world.takingBack = false;
      expect(await process.turn()).to.deep.equal(DONE);
      expect([last(), ...finalizers()]).to.deep.equal(['Delete Succeeded', OTHER]);
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

    it('does nothing more once it has let go', async () => {
      const process = bed.world.process();
      await process.turn();
      bed.world.server.calls.length = 0;
      await process.turn();
      expect(bed.world.server.calls).to.deep.equal([]);
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
