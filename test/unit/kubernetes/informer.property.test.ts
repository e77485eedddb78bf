// Whatever the order of changes, drops, 410s and failures: in the end the cache equals the server, and so do the changes that handlers got.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import type { KubernetesObject } from '../../../pkg/apis/meta.ts';
import { NODES } from '../../../pkg/apis/resources.ts';
import { ApiError, ConnectionError } from '../../../pkg/kubernetes/errors.ts';
import { createInformer } from '../../../pkg/kubernetes/informer.ts';
import { createFakeClock } from '../../fixtures/fake-clock.ts';
import { createModelApi, gone, versionsOf } from '../../fixtures/model-api.ts';
import type { ModelApi } from '../../fixtures/model-api.ts';
import { recordingLogger } from '../../fixtures/recording-logger.ts';
import { upTo } from '../../support/depth.ts';

const request = { method: 'GET', path: '/model' };
const errors = {
  cut: () => new ConnectionError({ ...request, reason: 'Cut', message: 'reset' }),
  refused: () => new ConnectionError({ ...request, reason: 'Unreachable', message: 'refused' }),
  gone,
  throttled: () => new ApiError({ ...request, status: 429, retryAfterMs: 5_000 }),
  broken: () => new ApiError({ ...request, status: 500 }),
  garbage: () => new ConnectionError({ ...request, reason: 'InvalidResponse', message: 'no JSON' }),
};
type Failure = keyof typeof errors;

type Step =
  | { do: 'put' | 'remove'; name: string }
  | { do: 'bookmark' | 'compact' | 'close' }
  | { do: 'cut'; error: Failure }
  | { do: 'failList' | 'failWatch'; error: Failure }
  | { do: 'advance'; ms: number };

const name = fc.constantFrom('a', 'b', 'c', 'd', 'e');
const failure = fc.constantFrom(...(Object.keys(errors) as Failure[]));
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('put' as const), name }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('remove' as const), name }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constantFrom('bookmark' as const, 'compact' as const, 'close' as const) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('cut' as const), error: failure }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constantFrom('failList' as const, 'failWatch' as const), error: failure }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('advance' as const), ms: fc.constantFrom(0, 1, 500, 5_000, 70_000) }),
  },
);

const play = (api: ModelApi, current: Step): void => {
  switch (current.do) {
    case 'put':
      return api.put(current.name);
    case 'remove':
      return api.remove(current.name);
    case 'bookmark':
      return api.bookmark();
    case 'compact':
      return api.compact();
    case 'close':
      return api.endWatches('close');
    case 'cut':
      return api.endWatches({ error: errors[current.error]() });
    case 'failList':
      return api.failNext('list', errors[current.error]());
    case 'failWatch':
      return api.failNext('watch', errors[current.error]());
    case 'advance':
      return undefined;
  }
};

/** What somebody knows who listens to the handlers only. Wrong calls are noted. */
const listen = () => {
  const known = new Map<string, KubernetesObject>();
  const wrong: string[] = [];
  return {
    known,
    wrong,
    onUpsert: (object: KubernetesObject, previous: KubernetesObject | undefined) => {
      const key = object.metadata?.name ?? '';
      if (previous !== known.get(key)) wrong.push(`upsert ${key}: previous is not what was told before`);
      if (previous !== undefined && previous.metadata?.resourceVersion === object.metadata?.resourceVersion) {
        wrong.push(`upsert ${key}: nothing changed`);
      }
      known.set(key, object);
    },
    onDelete: (object: KubernetesObject) => {
      const key = object.metadata?.name ?? '';
      if (!known.delete(key)) wrong.push(`delete ${key}: was not there`);
    },
  };
};

describe('informer under random schedules', () => {
  it('ends with a cache, an index and listeners that equal the server, and leaves nothing behind', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 60 }),
        fc.array(fc.array(step, { maxLength: 3 }), { maxLength: 4 }),
        fc.integer({ min: 1, max: 3 }),
        async (steps, duringPages, pageSize) => {
          const api = createModelApi();
          const clock = createFakeClock();
          const stop = new AbortController();
          const listener = listen();
          const between = [...duringPages];
          api.betweenPages = () => {
            for (const current of between.shift() ?? []) play(api, current);
          };
          const informer = createInformer<KubernetesObject>({
            client: api.client,
            resource: NODES,
            clock,
            random: () => 0.5,
            logger: recordingLogger(),
            pageSize,
            indexers: { version: ({ metadata }) => [metadata?.resourceVersion ?? ''] },
          });
          informer.addHandlers(listener);
          const running = informer.run(stop.signal);
          for (const current of steps) {
            play(api, current);
            if (current.do === 'advance') await clock.advance(current.ms);
          }
          // Every failure still to come is used up within this time.
          await clock.advance(60 * 60_000);

          const expected = versionsOf(api.objects.values());
          expect(versionsOf(informer.store.list()), 'the cache').to.deep.equal(expected);
          expect(versionsOf(listener.known.values()), 'what was told').to.deep.equal(expected);
          expect(listener.wrong).to.deep.equal([]);
          for (const { metadata } of api.objects.values()) {
            const found = informer.store.byIndex('version', metadata?.resourceVersion ?? '');
            expect(found.map((object) => object.metadata?.name)).to.deep.equal([metadata?.name]);
          }
          expect(informer.hasSynced).to.equal(true);
          expect(api.mostConcurrent, 'lists and watches at one time').to.equal(1);
          stop.abort();
          await running;
          expect([api.openWatches, clock.pending]).to.deep.equal([0, 0]);
        },
      ),
      { numRuns: upTo(500) },
    );
  }).timeout(120_000);
});
