// The sandbox's store: versions, order, history; and its task runner.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { SERVICES } from '../../../pkg/apis/resources.ts';
import { served } from '../../sandbox/served-resource.ts';
import { createStore, resourceKey, type Change } from '../../sandbox/store.ts';
import { createTaskRunner } from '../../sandbox/task-runner.ts';

const services = served(SERVICES);
const key = resourceKey(services);
const named = (name: string, namespace = 'ns', data = 0) => ({ metadata: { name, namespace }, data });

describe('createStore', () => {
  it('counts one version over all resources and stamps it', () => {
    const store = createStore(10);
    const other = served({ ...SERVICES, plural: 'others' });
    const versions = [
      store.put(services, named('a')),
      store.put(other, named('b')),
      store.put(services, named('a')),
    ].map(({ metadata }) => Number(metadata.resourceVersion));
    expect(versions).to.deep.equal([versions[0], (versions[0] ?? 0) + 1, (versions[0] ?? 0) + 2]);
    expect(store.version).to.equal(versions[2]);
  });

  it('lists by namespace and name as the real server orders keys', () => {
    const store = createStore(10);
    for (const [namespace, name] of [
      ['b', 'x'],
      ['a-b', 'y'],
      ['a', 'z'],
      ['a', 'a'],
    ] as const)
      store.put(services, named(name, namespace));
    expect(store.list(key).map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)).to.deep.equal([
      'a-b/y',
      'a/a',
      'a/z',
      'b/x',
    ]);
    expect(store.list(key, 'a').map(({ metadata }) => metadata.name)).to.deep.equal(['a', 'z']);
  });

  it('never changes what it gave out', () => {
    const store = createStore(10);
    const first = store.put(services, named('a'));
    const listed = store.list(key);
    store.put(services, named('a', 'ns', 1));
    expect(first['data']).to.equal(0);
    expect(listed).to.deep.equal([first]);
  });

  it('remembers as many changes as it should', () => {
    const store = createStore(3);
    const versions = Array.from({ length: 8 }, (_, index) =>
      Number(store.put(services, named('a', 'ns', index)).metadata.resourceVersion),
    );
    expect(store.since(key, versions[4] ?? 0)?.map(({ version }) => version)).to.deep.equal(versions.slice(5));
    expect(store.since(key, versions[3] ?? 0)).to.equal(undefined);
    expect(store.since(key, versions[7] ?? 0)).to.deep.equal([]);
    store.compact();
    expect(store.since(key, versions[6] ?? 0)).to.equal(undefined);
    expect(store.since(key, store.version)).to.deep.equal([]);
  });

  it('lets a follower rebuild the state from any version that history reaches', () => {
    const step = fc.record({ name: fc.constantFrom('a', 'b', 'c'), remove: fc.boolean(), data: fc.integer() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), fc.nat(40), (steps, listAt) => {
        const store = createStore(1000);
        const cache = new Map<string, unknown>();
        let from = store.version;
        for (const [index, { name, remove, data }] of steps.entries()) {
          if (index === listAt) {
            from = store.version;
            for (const { metadata, ...rest } of store.list(key)) cache.set(metadata.name ?? '', rest['data']);
          }
          if (remove) store.remove(services, 'ns', name);
          else store.put(services, named(name, 'ns', data));
        }
        const apply = ({ type, object }: Change): void => {
          if (type === 'DELETED') cache.delete(object.metadata.name ?? '');
          else cache.set(object.metadata.name ?? '', object['data']);
        };
        for (const change of store.since(key, from) ?? []) apply(change);
        expect([...cache]).to.have.deep.members(
          store.list(key).map((object) => [object.metadata.name, object['data']]),
        );
      }),
    );
  });
});

describe('createTaskRunner', () => {
  it('runs each name once for a burst, and once more for what comes meanwhile', async () => {
    const runs: string[] = [];
    const runner = createTaskRunner({
      batchMs: 0,
      async run(name) {
        runs.push(name);
        if (runs.length === 1) runner.enqueue('a');
        await Promise.resolve();
      },
    });
    for (const name of ['a', 'a', 'b', 'a']) runner.enqueue(name);
    await runner.settled();
    expect(runs).to.deep.equal(['a', 'b', 'a']);
    expect(runner.idle).to.equal(true);
  });

  it('does not wait for what is due later, and runs nothing after it stopped', async () => {
    const runs: string[] = [];
    const runner = createTaskRunner({ batchMs: 0, run: (name) => Promise.resolve(void runs.push(name)) });
    runner.enqueueAfter('later', 60_000);
    await runner.settled();
    runner.enqueue('now');
    runner.stop();
    await runner.settled();
    expect(runs).to.deep.equal([]);
  });
});
