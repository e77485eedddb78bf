// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import type { ExtensionStatus, LastOperation } from '../../../../pkg/apis/extension.ts';
import type { KubernetesObject } from '../../../../pkg/apis/meta.ts';
import { ANNOTATION_OPERATION, CONDITION_EFFECTIVE, EXTENSION_FINALIZER } from '../../../../pkg/apis/names.ts';
import { EXTENSIONS } from '../../../../pkg/apis/resources.ts';
import { rejection } from '../../../fixtures/eventually.ts';
import { extension, routingConfig } from '../../../fixtures/gardener.ts';
import { CONDITION_INTERVAL_MS, REF, createWorld, effective, ineffective } from './support.ts';
import type { World } from './support.ts';

const OTHER = 'example.com/other';
const DELETED = '2026-01-01T00:00:00Z';
const DONE = { kind: 'done' };

describe('the extension reconciler', () => {
  let world: World;
  beforeEach(() => (world = createWorld()));

  const status = (): ExtensionStatus => world.stored()?.status ?? {};
  const last = (): string => `${status().lastOperation?.type} ${status().lastOperation?.state}`;
  const operation = (): string | undefined => world.stored()?.metadata?.annotations?.[ANNOTATION_OPERATION];
  const finalizers = (): string[] => world.stored()?.metadata?.finalizers ?? [];
  const condition = (): string => {
    const found = status().conditions?.find(({ type }) => type === CONDITION_EFFECTIVE);
    return `${found?.status} ${found?.reason}`;
  };
  const change = (overrides: { metadata?: object; spec?: object; status?: object }): void => {
    const before = world.stored();
    if (before === undefined) throw new Error('there is no Extension to change');
    const { metadata, spec, status: own, ...rest } = before;
    const next = { ...rest, metadata: { ...metadata, ...overrides.metadata }, spec: { ...spec, ...overrides.spec } };
    const written =
      overrides.status === undefined && own === undefined ? {} : { status: { ...own, ...overrides.status } };
    world.put({ ...next, ...written });
  };
  const order = (value: string): void => change({ metadata: { annotations: { [ANNOTATION_OPERATION]: value } } });
  const put = (overrides: Parameters<typeof extension>[0] = {}): void =>
    world.put(extension({ ...overrides, metadata: { generation: 1, uid: 'u', ...overrides.metadata } }));
  const settle = async (): Promise<void> => {
    put();
    await world.process().turn();
    world.server.calls.length = 0;
  };

  describe('reconcile', () => {
    it('takes a new one up: finalizer, status, condition, and the order is gone', async () => {
      put({ metadata: { finalizers: [OTHER] } });
      expect(await world.process().turn()).to.deep.equal(DONE);
      expect(last()).to.equal('Create Succeeded');
      expect(status()).to.deep.include({ observedGeneration: 1 });
      expect(status()).not.to.have.property('lastError');
      expect(finalizers()).to.deep.equal([OTHER, EXTENSION_FINALIZER]);
      expect(operation()).to.equal(undefined);
      expect(condition()).to.equal('True Effective');
      expect(world.writes(), 'begin, take up, end').to.equal(3);
    });

    it('is quiet afterwards, also in the process that comes next', async () => {
      await settle();
      const next = world.process();
      for (let turns = 0; turns < 3; turns += 1) expect(await next.turn()).to.deep.equal(DONE);
      expect(world.server.calls).to.deep.equal([]);
    });

    it('follows an order, and a change without one', async () => {
      await settle();
      const next = world.process();
      order('reconcile');
      await next.turn();
      expect(last()).to.equal('Reconcile Succeeded');
      expect(operation()).to.equal(undefined);
      change({ metadata: { generation: 2 } });
      await next.turn();
      expect(status().observedGeneration).to.equal(2);
    });

    it('succeeds although routing has no effect, and says so in the condition', async () => {
      world.services = [ineffective];
      put();
      await world.process().turn();
      expect([last(), condition()]).to.deep.equal(['Create Succeeded', 'False HintsMissing']);
    });

    it('leaves other objects alone', async () => {
      for (const spec of [{ type: 'lakom' }, { type: 'topology-aware-routing', class: 'garden' }]) {
        world.put(extension({ spec }));
        expect(await world.process().turn()).to.deep.equal(DONE);
      }
      world.server.remove(EXTENSIONS, REF);
      expect(await world.process().turn()).to.deep.equal(DONE);
      expect(world.server.calls).to.deep.equal([]);
    });

    it('leaves a failed Shoot alone until another writer changes it', async () => {
      put();
      world.shoot = {
        metadata: { generation: 1 },
        status: { observedGeneration: 1, lastOperation: { state: 'Failed' } },
      };
      await world.process().turn();
      expect(world.server.calls).to.deep.equal([]);
    });
  });

  describe('a wrong configuration', () => {
    const wrong = { providerConfig: routingConfig({ services: [{ name: 'a', zone: 'x' }] }) };

    it('is an error with code, object and field, once', async () => {
      put({ spec: { type: 'topology-aware-routing', ...wrong } });
      const first = world.process();
      expect(await first.turn()).to.deep.equal(DONE);
      expect(last()).to.equal('Create Error');
      expect(status().lastError?.codes).to.deep.equal(['ERR_CONFIGURATION_PROBLEM']);
      expect(status().lastError?.description).to.contain(
        'Extension shoot--foo--bar/topology-aware-routing: spec.providerConfig.services[0].zone is not a field of this kind',
      );
      expect(status().observedGeneration).to.equal(1);
      expect(condition()).to.equal('False ConfigurationInvalid');
      world.server.calls.length = 0;
      await first.turn();
      expect(world.server.calls, 'no retry: the cause is the user’s').to.deep.equal([]);
    });

    it('is over when it is mended', async () => {
      put({ spec: { type: 'topology-aware-routing', ...wrong } });
      const first = world.process();
      await first.turn();
      change({ metadata: { generation: 2 }, spec: { providerConfig: routingConfig({ services: [{ name: 'a' }] }) } });
      await first.turn();
      expect([last(), condition()]).to.deep.equal(['Create Succeeded', 'True Effective']);
      expect(status()).not.to.have.property('lastError');
    });

    it('is looked at again by the process that comes next', async () => {
      put({ spec: { type: 'topology-aware-routing', ...wrong } });
      await world.process().turn();
      world.server.calls.length = 0;
      await world.process().turn();
      expect(last()).to.equal('Create Error');
      expect(world.writes()).to.be.above(0);
    });
  });

  describe('delete', () => {
    beforeEach(async () => {
      await settle();
      change({ metadata: { deletionTimestamp: DELETED, finalizers: [OTHER, EXTENSION_FINALIZER] } });
    });

    it('lets go when everything is reverted', async () => {
      world.takingBack = true;
      const process = world.process();
      expect(await process.turn()).to.have.property('kind', 'requeue');
      expect(last()).to.equal('Delete Processing');
      expect(finalizers()).to.include(EXTENSION_FINALIZER);
      const before = world.writes();
      await process.turn();
      expect(world.writes(), 'waiting writes nothing').to.equal(before);
      world.takingBack = false;
      expect(await process.turn()).to.deep.equal(DONE);
      expect([last(), ...finalizers()]).to.deep.equal(['Delete Succeeded', OTHER]);
    });

    it('lets go after half a minute anyway: no Shoot waits for us', async () => {
      world.takingBack = true;
      const process = world.process();
      await process.turn();
      await world.clock.advance(30_000);
      expect(await process.turn()).to.deep.equal(DONE);
      expect(finalizers()).to.deep.equal([OTHER]);
      expect(world.log.entries.map(({ level }) => level)).to.include('warn');
    });

    it('waits until the cache knows of it, so that nothing is called reverted that is not', async () => {
      world.cached = { ...world.stored()!, metadata: { ...world.stored()!.metadata } };
      delete world.cached.metadata!.deletionTimestamp;
      world.cached.metadata!.annotations = { [ANNOTATION_OPERATION]: 'reconcile' };
      const process = world.process();
      expect(await process.turn()).to.have.property('kind', 'requeue');
      expect(finalizers()).to.include(EXTENSION_FINALIZER);
      world.cached = undefined;
      expect(await process.turn()).to.deep.equal(DONE);
      expect(finalizers()).to.deep.equal([OTHER]);
    });

    it('does nothing more once it has let go', async () => {
      const process = world.process();
      await process.turn();
      world.server.calls.length = 0;
      await process.turn();
      expect(world.server.calls).to.deep.equal([]);
    });
  });

  describe('migrate and restore', () => {
    it('migrates: finalizer and order go at the end, and deletion finds nothing to do', async () => {
      await settle();
      order('migrate');
      world.takingBack = true;
      const process = world.process();
      expect(await process.turn(), 'nothing is waited for').to.deep.equal(DONE);
      expect([last(), operation(), ...finalizers()]).to.deep.equal(['Migrate Succeeded', undefined]);
      change({ metadata: { deletionTimestamp: DELETED, generation: 2 } });
      world.server.calls.length = 0;
      await process.turn();
      await world.process().turn();
      expect(world.server.calls).to.deep.equal([]);
    });

    it('restores: the order goes at the end', async () => {
      put({ metadata: { annotations: { [ANNOTATION_OPERATION]: 'wait-for-state' } } });
      const process = world.process();
      await process.turn();
      expect(world.server.calls, 'the state is not there yet').to.deep.equal([]);
      order('restore');
      await process.turn();
      expect([last(), operation(), ...finalizers()]).to.deep.equal([
        'Restore Succeeded',
        undefined,
        EXTENSION_FINALIZER,
      ]);
      expect(condition()).to.equal('True Effective');
    });

    it('keeps the order to restore until the configuration is right', async () => {
      put({
        metadata: { annotations: { [ANNOTATION_OPERATION]: 'restore' } },
        spec: { type: 'topology-aware-routing', providerConfig: {} },
      });
      const process = world.process();
      await process.turn();
      expect([last(), operation()]).to.deep.equal(['Restore Error', 'restore']);
      const written = world.writes();
      for (let turn = 0; turn < 10; turn += 1) await process.turn();
      expect(world.writes(), 'what is written brings it back to us, and is no reason to try again').to.equal(written);
      await world.clock.advance(60_000);
      await process.turn();
      expect(world.writes(), 'a minute later').to.be.above(written);
    });
  });

  describe('the condition', () => {
    it('follows what the Services do, with nothing else written', async () => {
      await settle();
      const process = world.process();
      await process.turn();
      const before = status().lastOperation;
      world.services = [ineffective];
      await process.turn();
      expect(condition()).to.equal('False HintsMissing');
      expect(status().lastOperation).to.deep.equal(before);
      expect(world.writes()).to.equal(1);
    });

    it('is written at once after an operation that could not know it yet', async () => {
      world.services = [{ name: 'a', decision: { kind: 'enabled' } }];
      put();
      const process = world.process();
      await process.turn();
      expect(condition()).to.equal('Unknown NotAssessed');
      world.services = [effective];
      expect(await process.turn()).to.deep.equal(DONE);
      expect(condition()).to.equal('True Effective');
    });

    it('is not written more often than needed', async () => {
      await settle();
      const process = world.process();
      world.services = [ineffective];
      await process.turn();
      world.services = [effective];
      expect(await process.turn()).to.deep.equal({ kind: 'requeue', afterMs: CONDITION_INTERVAL_MS });
      expect(condition()).to.equal('False HintsMissing');
      await world.clock.advance(CONDITION_INTERVAL_MS);
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
          expect(await rejection(world.process(dyingAt(nth)).turn())).to.equal(killed);
          const next = world.process();
          await next.turn();
          expect([last(), finalizers(), operation()]).to.deep.equal([...end, undefined]);
          expect(status().lastOperation?.lastUpdateTime).to.match(/^2026-/);
          world.server.calls.length = 0;
          await next.turn();
          expect(world.writes(), 'and that is all').to.equal(0);
        });
      }
    }

    it('loses no order that comes while it works', async () => {
      await settle();
      order('reconcile');
      let writes = 0;
      const process = world.process(({ verb }) => {
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

    it('keeps conditions that others write in the same moment', async () => {
      put();
      const theirs = { type: 'Theirs', status: 'True', reason: 'R', message: 'm' };
      let writes = 0;
      const process = world.process(({ verb }) => {
        if (verb !== 'patch') return;
        writes += 1;
        if (writes === 3) change({ status: { conditions: [theirs] } });
      });
      await process.turn();
      await process.turn();
      expect(last()).to.equal('Create Succeeded');
      expect(status().conditions?.map(({ type }) => type)).to.deep.equal(['Theirs', CONDITION_EFFECTIVE]);
    });

    it('is content when the Extension is gone in the middle', async () => {
      put();
      let requests = 0;
      const process = world.process(() => {
        requests += 1;
        if (requests === 3) world.server.remove(EXTENSIONS, REF);
      });
      expect(await process.turn()).to.deep.equal(DONE);
    });

    it('passes other failures on, to be tried again with back-off', async () => {
      put();
      const broken = new Error('no connection');
      const failing = world.process(() => {
        throw broken;
      });
      expect(await rejection(failing.turn())).to.equal(broken);
    });
  });

  it('writes times as Gardener compares them: whole seconds, not before the order', async () => {
    put();
    await world.process().turn();
    const { lastUpdateTime } = status().lastOperation as LastOperation;
    expect(lastUpdateTime).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    expect(Date.parse(lastUpdateTime)).to.equal(Math.floor(world.clock.now() / 1_000) * 1_000);
    expect((world.stored() as KubernetesObject).kind).to.equal('Extension');
  });
});
