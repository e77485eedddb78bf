// An hour in which a replica crashes and comes back: who writes its slice beside its owner, and how often.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { EndpointSlice } from '../../../../pkg/apis/core.ts';
import { ANNOTATION_PLAN, ANNOTATION_TOUCHED, LABEL_STRATEGY, PLAN_ZONES } from '../../../../pkg/apis/names.ts';
import { projectSlice as evacuationView } from '../../../../pkg/controllers/evacuation/view.ts';
import { createResync } from '../../../../pkg/controllers/hint-repair/resync.ts';
import { projectSlice } from '../../../../pkg/controllers/settings/caches.ts';
import { decideInOrder } from '../../../../pkg/evacuation/decide.ts';
import { evacuationPatch } from '../../../../pkg/evacuation/slice.ts';
import { patchFor } from '../../../../pkg/flow/assemble/turn.ts';
import { createSliceProjection } from '../../../../pkg/flow/assemble/slice.ts';
import type { Client } from '../../../../pkg/kubernetes/types.ts';
import { endpoint, slice } from '../../../fixtures/core.ts';
import { createFakeClock } from '../../../fixtures/fake-clock.ts';
import { applyJsonPatch } from '../../../sandbox/patch-json.ts';
import { LEFT, ZONES, admitted, led, rebuilt } from '../../../fixtures/readiness-worlds.ts';
import { recordingLogger } from '../../../fixtures/recording-logger.ts';

const HOUR_MS = 3_600_000;
/** Three states in each: it starts, serves, and crashes. */
const ROUND_MS = 30_000;
const PLAN = { spread: false, endpoints: [{ name: 'web-1', forZones: ['a', 'c'] }] };
const CRASHING = 1;
const NOT_READY = { ready: false, serving: false, terminating: false };

/** Two endpoints in zone b, hinted as a release stored them that did not look at readiness; the first of them is not ready. */
const storedBefore = (strategy: string): EndpointSlice =>
  slice({
    metadata: {
      name: 'web-x',
      resourceVersion: '1',
      labels: { [LABEL_STRATEGY]: strategy },
      annotations: strategy === 'load-aware' ? { [ANNOTATION_PLAN]: PLAN_ZONES } : {},
    },
    endpoints: [...ZONES, 'b'].map((zone, index) =>
      endpoint({
        zone,
        nodeName: `node-${zone}`,
        addresses: [`198.19.0.${index}`],
        targetRef: { kind: 'Pod', name: `web-${index}`, uid: `uid-${index}` },
        hints: {
          forZones: (index === CRASHING && strategy === 'load-aware' ? ['a', 'c'] : [zone]).map((name) => ({ name })),
          ...(strategy === 'same-node' ? { forNodes: [{ name: `node-${zone}` }] } : {}),
        },
        ...(index === CRASHING ? { conditions: NOT_READY } : {}),
      }),
    ),
  });

const zonesOf = (one: EndpointSlice): unknown[] =>
  (one.endpoints ?? []).map(({ hints }) => hints?.forZones?.map(({ name }) => name).join());

const { signal } = new AbortController();

interface Writes {
  repair: number;
  evacuation: number;
  flow: number;
}

describe('an hour of crash-looping', () => {
  const cases: readonly (readonly [
    name: string,
    strategy: string,
    evacuated: boolean,
    first: Writes,
    ready: string[],
  ])[] = [
    ['same-zone', 'same-zone', false, { repair: 1, evacuation: 0, flow: 0 }, ['a', 'b', 'c', 'b']],
    ['same-node', 'same-node', false, { repair: 1, evacuation: 0, flow: 0 }, ['a', 'b', 'c', 'b']],
    ['planned', 'load-aware', false, { repair: 1, evacuation: 0, flow: 0 }, ['a', 'a,c', 'c', 'b']],
    [
      'evacuated',
      'same-zone',
      true,
      { repair: 0, evacuation: 1, flow: 0 },
      ['evacuated.topology.extensions.gardener.cloud', 'a,b', 'a,c', 'a,b'],
    ],
  ];
  for (const [name, strategy, evacuated, first, ready] of cases) {
    it(`${name}: one write beside the owner's, and then none`, async () => {
      const clock = createFakeClock();
      const writes: Writes = { repair: 0, evacuation: 0, flow: 0 };
      const marked = (one: EndpointSlice): EndpointSlice => {
        // As an evacuation by a release before marked it: the endpoint that is not ready serves real zones.
        const [done = one] = led([one], true);
        const endpoints = (done.endpoints ?? []).map((each, index) =>
          index === CRASHING ? { ...each, hints: { forZones: [{ name: 'a' }, { name: 'b' }] } } : each,
        );
        return { ...done, endpoints };
      };
      let stored = evacuated ? marked(storedBefore(strategy)) : storedBefore(strategy);
      const patch = (_resource: unknown, _ref: unknown, _type: unknown, body: object): Promise<EndpointSlice> => {
        writes.repair += 1;
        const { annotations } = (body as { metadata: { annotations: Record<string, string> } }).metadata;
        expect(annotations).to.have.property(ANNOTATION_TOUCHED);
        const touched = {
          ...stored,
          metadata: { ...stored.metadata, annotations: { ...stored.metadata?.annotations, ...annotations } },
        };
        stored = admitted(touched, stored, evacuated);
        return Promise.resolve(stored);
      };
      const repair = createResync({
        client: { patch: patch as unknown as Client['patch'] },
        slices: () => [projectSlice(stored)],
        clock,
        writesPerSecond: 20,
        backoffMs: 60_000,
        events: { record: () => expect.fail('admission acts') },
        regarding: { apiVersion: 'v1', kind: 'Namespace', name: 'own' },
        logger: recordingLogger(),
      });
      const look = async (): Promise<void> => {
        const reconciled = repair.reconcile('slices', signal);
        await clock.advance(1_000);
        await reconciled;
        const requests = evacuated ? [{ zone: LEFT, percent: 100, rounding: 'Up' as const }] : [];
        const seen = evacuationView(stored);
        const { decision } = decideInOrder({ slices: [seen], clientZones: ZONES, requests });
        const evacuation = evacuationPatch(seen, decision.kind === 'moved' ? decision : undefined);
        if (evacuation.length > 0) {
          writes.evacuation += 1;
          stored = admitted(applyJsonPatch(stored, evacuation), stored, evacuated);
        }
        const planned = strategy === 'load-aware' ? patchFor(createSliceProjection()(stored), PLAN) : undefined;
        if (planned === undefined) return;
        writes.flow += 1;
        stored = applyJsonPatch(stored, planned);
      };

      await look();
      expect(writes, 'at once').to.deep.equal(first);
      const down = zonesOf(stored);
      for (let at = 0; at < HOUR_MS; at += ROUND_MS) {
        for (const state of ['ready', 'starting', 'terminating'] as const) {
          stored = rebuilt(stored, ['ready', state, 'ready', 'ready'], evacuated);
          expect(zonesOf(stored), state).to.deep.equal(state === 'ready' ? ready : down);
          await look();
          await clock.advance(ROUND_MS / 3 - 1_000);
        }
      }
      expect(writes, 'after an hour').to.deep.equal(first);
    });
  }
});
