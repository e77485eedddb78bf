import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import type { EndpointSlice } from '../../../../pkg/apis/core.ts';
import type { ObjectRef } from '../../../../pkg/apis/meta.ts';
import { ANNOTATION_TOUCHED, LABEL_CONSIDER } from '../../../../pkg/apis/names.ts';
import { createResync } from '../../../../pkg/controllers/hint-repair/resync.ts';
import type { Resync } from '../../../../pkg/controllers/hint-repair/resync.ts';
import type { Client, EventInput } from '../../../../pkg/kubernetes/types.ts';
import { endpoint, slice } from '../../../fixtures/core.ts';
import { createFakeClock } from '../../../fixtures/fake-clock.ts';
import type { FakeClock } from '../../../fixtures/fake-clock.ts';
import { recordingLogger } from '../../../fixtures/recording-logger.ts';

const { signal } = new AbortController();
const named = (name: string, hinted = false, namespace = 'n', resourceVersion = '1'): EndpointSlice =>
  slice({
    metadata: { name, namespace, resourceVersion, labels: { [LABEL_CONSIDER]: 'true' } },
    endpoints: [endpoint({ zone: 'a', ...(hinted ? { hints: { forZones: [{ name: 'a' }] } } : {}) })],
  });

describe('hint repair', () => {
  let clock: FakeClock;
  let slices: EndpointSlice[];
  let works: boolean;
  /** `namespace/name` of slices that admission leaves as they are. */
  let bare: Set<string>;
  let failure: Error | undefined;
  let touched: { name: string; at: number; patch: unknown }[];
  let events: EventInput[];
  let repair: Resync;
  beforeEach(() => {
    clock = createFakeClock();
    slices = ['a', 'b', 'c'].map((name) => named(name));
    works = true;
    bare = new Set();
    failure = undefined;
    touched = [];
    events = [];
    const patch = (_resource: unknown, { name, namespace = '' }: ObjectRef, _type: unknown, body: unknown) => {
      touched.push({ name, at: clock.monotonic(), patch: body });
      if (failure !== undefined) return Promise.reject(failure);
      const stored = named(name, works && !bare.has(`${namespace}/${name}`), namespace, '2');
      const is = ({ metadata }: EndpointSlice): boolean => metadata?.name === name && metadata.namespace === namespace;
      slices = slices.map((item) => (is(item) ? stored : item));
      return Promise.resolve(stored);
    };
    repair = createResync({
      client: { patch: patch as unknown as Client['patch'] },
      slices: () => slices,
      clock,
      writesPerSecond: 20,
      backoffMs: 60_000,
      events: { record: (event) => void events.push(event) },
      regarding: { apiVersion: 'v1', kind: 'Namespace', name: 'own' },
      logger: recordingLogger(),
    });
  });

  const run = async () => {
    const result = repair.reconcile('slices', signal);
    await clock.advance(1_000);
    return await result;
  };

  it('touches all that lack hints, at most 20 a second, by an annotation', async () => {
    slices.push(named('d', true));
    expect(await run()).to.deep.equal({ kind: 'done' });
    expect(touched.map(({ name }) => name)).to.deep.equal(['a', 'b', 'c']);
    expect(touched.map(({ at }) => at - touched[0]!.at)).to.deep.equal([0, 50, 100]);
    expect(touched[0]!.patch).to.deep.equal({
      metadata: { annotations: { [ANNOTATION_TOUCHED]: '2026-01-01T00:00:00.000Z' } },
    });
  });

  it('backs off further each time up to an hour, reports once, and recovers', async () => {
    works = false;
    const delays: number[] = [];
    for (let turn = 0; turn < 8; turn += 1) {
      const result = await run();
      const delay = result.kind === 'requeue' ? result.afterMs : 0;
      delays.push(delay / 60_000);
      await clock.advance(delay);
    }
    expect(delays).to.deep.equal([1, 2, 4, 8, 16, 32, 60, 60]);
    expect(events).to.have.length(1);
    works = true;
    expect(await run()).to.deep.equal({ kind: 'done' });
    expect(repair.unavailable).to.equal(false);
  });

  it('does not take one slice that stays bare for an outage: others elsewhere are hinted, and it is left alone', async () => {
    bare.add('evil/a');
    slices = [named('a', false, 'evil'), named('b', false, 'evil'), named('c'), named('d')];
    expect(await run()).to.deep.equal({ kind: 'done' });
    expect([repair.unavailable, events]).to.deep.equal([false, []]);
    expect(touched.map(({ name }) => name)).to.deep.equal(['a', 'c', 'b', 'd']);
    expect(await run(), 'it did not change since').to.deep.equal({ kind: 'done' });
    expect(touched).to.have.length(4);
    slices = slices.map((one) => (one.metadata?.name === 'a' ? named('a', false, 'evil', 'changed') : one));
    await run();
    expect(touched.at(-1)?.name, 'after a change').to.equal('a');
  });

  it('is not hurried by news of more slices', async () => {
    works = false;
    await run();
    slices.push(named('d'));
    const result = await run();
    expect(result.kind === 'requeue' && result.afterMs).to.be.lessThan(60_000);
    expect(touched).to.have.length(1);
  });
});
