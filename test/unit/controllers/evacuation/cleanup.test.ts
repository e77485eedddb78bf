// SPDX-License-Identifier: Apache-2.0
// Tests of returning every evacuated slice without anything but the API server.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { JsonPatchOperation } from '../../../../pkg/apis/admission.ts';
import type { EndpointSlice } from '../../../../pkg/apis/core.ts';
import { ANNOTATION_EVACUATED, NOWHERE } from '../../../../pkg/apis/names.ts';
import { createSecondSweeper, returnSlices } from '../../../../pkg/controllers/evacuation/cleanup.ts';
import { ApiError } from '../../../../pkg/kubernetes/errors.ts';
import type { KubernetesObject } from '../../../../pkg/apis/meta.ts';
import type { ZoneEvacuation } from '../../../../pkg/apis/zone-evacuation.ts';
import type { CacheState } from '../../../../pkg/kubernetes/cache.ts';
import { nullLogger } from '../../../../pkg/telemetry/log.ts';
import type { Client } from '../../../../pkg/kubernetes/types.ts';
import { endpoint, slice } from '../../../fixtures/core.ts';
import { createFakeClock } from '../../../fixtures/fake-clock.ts';
import { applyJsonPatch } from '../../../fixtures/json-patch.ts';

const own = (zone: string) => ({ forZones: [{ name: zone }] });
const MARK = JSON.stringify({ out: { a: true }, cover: ['a'], was: 'own' });
const evacuated = (): EndpointSlice =>
  slice({
    metadata: { name: 'evacuated', resourceVersion: '7', annotations: { [ANNOTATION_EVACUATED]: MARK, other: 'kept' } },
    endpoints: [
      endpoint({ zone: 'a', addresses: ['198.18.0.1'], hints: own(NOWHERE) }),
      endpoint({ zone: 'b', addresses: ['198.18.0.2'], hints: { forZones: [{ name: 'a' }, { name: 'b' }] } }),
    ],
  });

/** An API server with these slices; the first `conflicts` writes come too late. */
const serverOf = (slices: EndpointSlice[], conflicts = 0) => {
  const held = new Map(slices.map((one) => [one.metadata?.name ?? '', one]));
  let left = conflicts;
  const client = {
    async *pages() {
      yield { metadata: {}, items: [...held.values()] };
    },
    patch(_resource: unknown, { name }: { name: string }, _type: unknown, operations: JsonPatchOperation[]) {
      left -= 1;
      if (left >= 0)
        return Promise.reject(new ApiError({ status: 409, method: 'PATCH', path: name, reason: 'Conflict' }));
      const next = applyJsonPatch(held.get(name)!, operations);
      held.set(name, next);
      return Promise.resolve(next);
    },
    get: (_resource: unknown, { name }: { name: string }) => {
      const found = held.get(name);
      return found === undefined
        ? Promise.reject(new ApiError({ status: 404, method: 'GET', path: name, reason: 'NotFound' }))
        : Promise.resolve(found);
    },
  } as unknown as Pick<Client, 'pages' | 'patch' | 'get'>;
  return { client, get: (name: string) => held.get(name)! };
};

const { signal } = new AbortController();

describe('returning every evacuated slice', () => {
  it('restores hints, removes the mark alone, and leaves other slices', async () => {
    const plain = slice({ metadata: { name: 'plain' } });
    const server = serverOf([evacuated(), plain]);
    expect(await returnSlices({ client: server.client, clock: createFakeClock() }, signal)).to.equal(1);
    const after = server.get('evacuated');
    expect(after.endpoints?.map(({ hints }) => hints)).to.deep.equal([own('a'), own('b')]);
    expect(after.metadata?.annotations).to.deep.equal({ other: 'kept' });
    expect(server.get('plain')).to.equal(plain);
  });

  it('reads again where another writer was faster', async () => {
    const server = serverOf([evacuated()], 2);
    expect(await returnSlices({ client: server.client, clock: createFakeClock() }, signal)).to.equal(1);
    expect(server.get('evacuated').metadata?.annotations).to.deep.equal({ other: 'kept' });
  });
});

describe('slices that the settings-reconciler does not return', () => {
  const isMarked = ({ metadata }: EndpointSlice): boolean =>
    metadata?.annotations?.[ANNOTATION_EVACUATED] !== undefined;
  const running = (zone: string, duration: string): ZoneEvacuation & KubernetesObject => ({
    metadata: { name: zone, creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: { zone, duration, percent: 100, rounding: 'Up', capacityCheck: 'Refuse', force: false },
  });

  const sweeping = (evacuations: (ZoneEvacuation & KubernetesObject)[], state: CacheState = 'synced', gone = false) => {
    const server = serverOf(gone ? [] : [evacuated()]);
    const clock = createFakeClock();
    const known = { ref: { namespace: 'default', name: 'evacuated' }, zones: ['a'] };
    const marked = () => (gone || isMarked(server.get('evacuated')) ? [known] : []);
    const sweeper = createSecondSweeper({
      client: server.client,
      evacuations: { state, list: () => evacuations },
      marked,
      clock,
      logger: nullLogger,
    });
    const stop = new AbortController();
    const ended = sweeper.run(stop.signal);
    return {
      /** Whether the slice shows the evacuation after so many seconds. */
      async after(seconds: number): Promise<boolean> {
        await clock.advance(seconds * 1_000);
        const answer = isMarked(server.get('evacuated'));
        stop.abort();
        await ended;
        return answer;
      },
      async survives(): Promise<void> {
        await clock.advance(120_000);
        stop.abort();
        await ended;
      },
    };
  };

  const cases: {
    name: string;
    evacuations: (ZoneEvacuation & KubernetesObject)[];
    state?: CacheState;
    seconds: number;
    want: boolean;
  }[] = [
    { name: 'stay for a minute after the object is gone', evacuations: [], seconds: 55, want: true },
    { name: 'are returned then', evacuations: [], seconds: 80, want: false },
    { name: 'are returned a minute after its time', evacuations: [running('a', '2m')], seconds: 200, want: false },
    { name: 'stay while it runs', evacuations: [running('a', '1h')], seconds: 200, want: true },
    { name: 'stay where evacuations may not be read', evacuations: [], state: 'refused', seconds: 200, want: true },
    { name: 'are returned where the definition is gone', evacuations: [], state: 'absent', seconds: 80, want: false },
  ];
  for (const { name, evacuations, state, seconds, want } of cases) {
    it(name, async () => expect(await sweeping(evacuations, state).after(seconds)).to.equal(want));
  }

  it('that are deleted meanwhile are passed over', () => sweeping([], 'synced', true).survives());
});
