// Tests of returning every evacuated slice without anything but the API server.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { JsonPatchOperation } from '../../../../pkg/apis/admission.ts';
import type { EndpointSlice } from '../../../../pkg/apis/core.ts';
import { ANNOTATION_EVACUATED, NOWHERE } from '../../../../pkg/apis/names.ts';
import { returnSlices } from '../../../../pkg/controllers/evacuation/cleanup.ts';
import { ApiError } from '../../../../pkg/kubernetes/errors.ts';
import type { Client } from '../../../../pkg/kubernetes/types.ts';
import { endpoint, slice } from '../../../fixtures/core.ts';
import { applyJsonPatch } from '../../../fixtures/json-patch.ts';
import { showEvacuation } from '../../../../pkg/controllers/evacuation/controller.ts';
import { createMetrics } from '../../../../pkg/telemetry/metrics.ts';

const own = (zone: string) => ({ forZones: [{ name: zone }] });
const MARK = JSON.stringify({ evacuated: { a: true }, alsoServe: ['a'], original: 'own' });

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
  } as unknown as Pick<Client, 'pages' | 'patch'>;
  return { client, get: (name: string) => held.get(name)! };
};

const { signal } = new AbortController();

describe('returning every evacuated slice', () => {
  it('restores hints, removes the mark alone, and leaves other slices', async () => {
    const plain = slice({ metadata: { name: 'plain' } });
    const server = serverOf([evacuated(), plain]);
    expect(await returnSlices({ client: server.client }, signal)).to.deep.equal({ returned: 1, left: 0, errors: [] });
    const after = server.get('evacuated');
    expect(after.endpoints?.map(({ hints }) => hints)).to.deep.equal([own('a'), own('b')]);
    expect(after.metadata?.annotations).to.deep.equal({ other: 'kept' });
    expect(server.get('plain')).to.equal(plain);
  });

  it('reads again where another writer was faster', async () => {
    const server = serverOf([evacuated()], 2);
    expect(await returnSlices({ client: server.client }, signal)).to.deep.equal({ returned: 1, left: 0, errors: [] });
    expect(server.get('evacuated').metadata?.annotations).to.deep.equal({ other: 'kept' });
  });
});

describe('metrics of evacuations', () => {
  it('zones in marks that owners of slices wrote: 20 by name, the others together', async () => {
    const metrics = createMetrics({ defaultMetrics: false });
    const zones = Array.from({ length: 1_000 }, (_, index) => [`zone-${1_000 + index}`, 1] as const);
    showEvacuation(metrics, { counts: () => [], overdue: () => new Map(zones) });
    const lines = (await metrics.text()).split('\n').filter((line) => line.includes('slices_overdue{'));
    expect(lines).to.have.lengthOf(21);
    expect(lines).to.include('topology_aware_routing_evacuation_slices_overdue{zone="other"} 980');
  });
});
