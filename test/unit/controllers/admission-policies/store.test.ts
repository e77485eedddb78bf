// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { policiesServed, createPolicyStore } from '../../../../pkg/controllers/admission-policies/store.ts';
import type { PolicyStore } from '../../../../pkg/controllers/admission-policies/store.ts';
import { createCaches } from '../../../../pkg/kubernetes/caches.ts';
import { ApiError } from '../../../../pkg/kubernetes/errors.ts';
import type { Resource } from '../../../../pkg/apis/resources.ts';
import type { Client, ListOptions, WatchOptions } from '../../../../pkg/kubernetes/types.ts';
import { createFakeClock } from '../../../fixtures/fake-clock.ts';
import { createModelApi } from '../../../fixtures/model-api.ts';
import { recordingLogger } from '../../../fixtures/recording-logger.ts';

const failed = (status: number): ApiError => new ApiError({ method: 'GET', path: '/x', status });
const DISCOVERY = { resources: [{ name: 'mutatingadmissionpolicies' }, { name: 'mutatingadmissionpolicies/status' }] };

const setup = () => {
  const models = new Map(
    ['configmaps', 'mutatingadmissionpolicies', 'mutatingadmissionpolicybindings'].map((name) => [
      name,
      createModelApi(),
    ]),
  );
  const modelOf = (resource: Resource) => models.get(resource.plural)!;
  const state = { discovery: DISCOVERY as unknown, forbidden: '', looks: 0 };
  const client = {
    raw: () => {
      state.looks += 1;
      return state.discovery instanceof Error ? Promise.reject(state.discovery) : Promise.resolve(state.discovery);
    },
    list: (resource: Resource) =>
      state.forbidden === resource.plural ? Promise.reject(failed(403)) : Promise.resolve({ metadata: {}, items: [] }),
    pages: (resource: Resource, options: ListOptions, signal: AbortSignal) =>
      modelOf(resource).client.pages(resource, options, signal),
    watch: (resource: Resource, options: WatchOptions, signal: AbortSignal) =>
      modelOf(resource).client.watch(resource, options, signal),
  } as unknown as Client;
  const clock = createFakeClock();
  let changes = 0;
  const logger = recordingLogger();
  const caches = createCaches({ client, clock, random: () => 0, logger });
  const store = createPolicyStore({ client, cache: caches.open, name: 'ours', namespace: 'own', clock, logger });
  store.onChange(() => (changes += 1));
  const run = (signal: AbortSignal) => Promise.all([caches.run(signal), store.run(signal)]);
  return { models, state, clock, store, run, changes: () => changes };
};

describe('what the API server holds of admission policies', () => {
  let test: ReturnType<typeof setup>;
  let stop: AbortController;
  let running: Promise<unknown>;
  beforeEach(() => {
    test = setup();
    stop = new AbortController();
  });
  afterEach(async () => {
    stop.abort();
    await running;
    expect(test.clock.pending).to.equal(0);
  });
  const run = async (): Promise<PolicyStore> => {
    running = test.run(stop.signal);
    await test.clock.settle();
    await test.clock.settle();
    return test.store;
  };

  it('is not known before it was asked for', async () => {
    expect(test.store).to.deep.include({ served: undefined, readable: false, ready: false });
    const { served, readable, ready } = await run();
    expect({ served, readable, ready }).to.deep.equal({ served: true, readable: true, ready: true });
  });

  it("is what has this project's names, and the record of the backend", async () => {
    test.models.get('configmaps')!.put('admission-carrier');
    for (const name of ['ours.same-zone', 'ours-runtime.same-zone', 'others.same-zone']) {
      test.models.get('mutatingadmissionpolicies')!.put(name);
    }
    const store = await run();
    expect(store.list().map(({ resource, object }) => `${resource.kind} ${object.metadata?.name}`)).to.deep.equal([
      'ConfigMap admission-carrier',
      'MutatingAdmissionPolicy ours.same-zone',
    ]);
    expect(test.models.get('mutatingadmissionpolicies')!.lists[0]).to.include({
      labelSelector: 'app.kubernetes.io/managed-by=settings-reconciler',
    });
  });

  it('reports every change', async () => {
    await run();
    const before = test.changes();
    test.models.get('mutatingadmissionpolicybindings')!.put('ours.same-zone');
    await test.clock.settle();
    expect(test.changes()).to.equal(before + 1);
  });

  it('is not looked for where policies are not served, until they are', async () => {
    test.state.discovery = { resources: [{ name: 'mutatingwebhookconfigurations' }] };
    const store = await run();
    expect(store).to.deep.include({ served: false, ready: true });
    expect(test.models.get('mutatingadmissionpolicies')!.lists).to.deep.equal([]);
    test.state.discovery = DISCOVERY;
    await test.clock.advance(60_000);
    await test.clock.settle();
    expect(store).to.deep.include({ served: true, readable: true, ready: true });
  });

  it('is not readable without the rights', async () => {
    test.state.forbidden = 'mutatingadmissionpolicybindings';
    const store = await run();
    expect(store, 'while the refusal may pass').to.deep.include({ served: true, readable: false, ready: false });
    await test.clock.advance(8_000);
    expect(store).to.deep.include({ served: true, readable: false, ready: true });
  });

  it('is settled once it is ready, or where the wait ends before', async () => {
    const given = new AbortController();
    const [ready, gaveUp] = [test.store.settled(stop.signal), test.store.settled(given.signal)];
    given.abort();
    await gaveUp;
    expect(test.store.ready).to.equal(false);
    await run();
    await ready;
    expect(test.store.ready).to.equal(true);
  });

  it('is asked for again soon after a failure', async () => {
    test.state.discovery = failed(500);
    const store = await run();
    expect(store.ready).to.equal(false);
    test.state.discovery = DISCOVERY;
    await test.clock.advance(2_000);
    await test.clock.settle();
    expect(store.served).to.equal(true);
  });
});

describe('discovery of admission policies', () => {
  const served = (answer: unknown): Promise<boolean> => {
    const raw = () => (answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer));
    return policiesServed({ raw: raw as Client['raw'] }, new AbortController().signal);
  };
  it('finds them in v1', async () => expect(await served(DISCOVERY)).to.equal(true));
  it('does not find them among other resources', async () => expect(await served({ resources: [] })).to.equal(false));
  it('does not find them without the group', async () => expect(await served(failed(404))).to.equal(false));
  it('fails with everything else', async () => {
    expect(await served(failed(503)).catch((error: unknown) => error)).to.include({ status: 503 });
  });
});
