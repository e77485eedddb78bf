// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { createCarrierWatch } from '../../../pkg/webhook/carrier-watch.ts';
import { createFakeClock } from '../../fixtures/fake-clock.ts';
import { createModelApi } from '../../fixtures/model-api.ts';
import { recordingLogger } from '../../fixtures/recording-logger.ts';

const NAME = 'admission-carrier';
const setup = () => {
  const api = createModelApi();
  const clock = createFakeClock();
  const watch = createCarrierWatch({
    client: api.client as unknown as Client,
    namespace: 'own',
    clock,
    random: () => 0,
    logger: recordingLogger(),
  });
  const stop = new AbortController();
  let changes = 0;
  const unsubscribe = watch.onChange(() => (changes += 1));
  return {
    api,
    clock,
    watch,
    stop,
    unsubscribe,
    get changes() {
      return changes;
    },
  };
};

describe('who carries admission, as the webhook sees it', () => {
  it('is the webhook until the ConfigMap says otherwise, and again when that is gone', async () => {
    const test = setup();
    const { api, clock, watch, stop } = test;
    expect(watch.current()).to.equal('webhook');
    const running = watch.run(stop.signal);
    await watch.settled(stop.signal);
    expect([watch.current(), test.changes]).to.deep.equal(['webhook', 0]);
    expect(api.lists[0]).to.include({ namespace: 'own', fieldSelector: `metadata.name=${NAME}` });
    const steps: [() => void, string][] = [
      [() => api.put(NAME, { data: { carrier: 'webhook' } }), 'webhook 0'],
      [() => api.put(NAME, { data: { carrier: 'policy' } }), 'policy 1'],
      [() => api.put(NAME, { data: { carrier: 'policy', more: 'x' } }), 'policy 1'],
      [() => api.put(NAME, { data: { carrier: 'nobody' } }), 'webhook 2'],
      [() => api.put(NAME, { data: { carrier: 'policy' } }), 'policy 3'],
      [() => api.put(NAME), 'webhook 4'],
      [() => api.put(NAME, { data: { carrier: 'policy' } }), 'policy 5'],
      [() => api.remove(NAME), 'webhook 6'],
    ];
    for (const [index, [step, want]] of steps.entries()) {
      step();
      await clock.settle();
      expect(`${watch.current()} ${test.changes}`, `step ${index}`).to.equal(want);
    }
    stop.abort();
    await running;
  });

  it('is known before it is asked for the first time', async () => {
    const { api, watch, stop } = setup();
    api.put(NAME, { data: { carrier: 'policy' } });
    const running = watch.run(stop.signal);
    await watch.settled(stop.signal);
    expect(watch.current()).to.equal('policy');
    stop.abort();
    await running;
  });

  it('is not waited for forever where it may not be read, and leaves no timer', async () => {
    const { clock, watch, stop } = setup();
    let settled = false;
    const waiting = watch.settled(stop.signal).then(() => (settled = true));
    await clock.advance(4_999);
    expect(settled).to.equal(false);
    await clock.advance(1);
    await waiting;
    expect([watch.current(), clock.pending]).to.deep.equal(['webhook', 0]);
  });

  it('calls no listener that has left', async () => {
    const test = setup();
    test.unsubscribe();
    test.api.put(NAME, { data: { carrier: 'policy' } });
    const running = test.watch.run(test.stop.signal);
    await test.watch.settled(test.stop.signal);
    expect([test.watch.current(), test.changes]).to.deep.equal(['policy', 0]);
    test.stop.abort();
    await running;
  });
});
