// Tests of the patches of slices: only what differs, only on the object that was read, and back to nothing.
import { expect } from 'chai';
import * as fc from 'fast-check';
import { describe, it } from 'mocha';
import type { EndpointSlice } from '../../../../pkg/apis/core.ts';
import { NOWHERE } from '../../../../pkg/apis/names.ts';
import { differs, patchFor, revertPatch } from '../../../../pkg/flow/assemble/turn.ts';
import { type FlowSliceEndpoint, createSliceProjection } from '../../../../pkg/flow/assemble/slice.ts';
import type { HintsInForce } from '../../../../pkg/flow/demand/arrivals.ts';
import { applyJsonPatch } from '../../../sandbox/patch-json.ts';
import { flowEndpoint, flowSlice } from './support.ts';

const LOCK = { op: 'replace', path: '/metadata/resourceVersion', value: '7' };
const MARK = '/metadata/annotations/topology.extensions.gardener.cloud~1plan';
const SPREAD: HintsInForce = { spread: true, endpoints: [] };
const OWN: HintsInForce = { spread: false, endpoints: [] };
const SHARED: HintsInForce = { spread: false, endpoints: [{ name: 'b1', forZones: ['a', 'b'] }] };

describe('the patch of a slice', () => {
  it('leaves what is evacuated as it is, and has the others serve what has to be covered', () => {
    const evacuated = { evacuated: { a: true }, alsoServe: ['a'], original: 'own' };
    const slice = (...forZones: string[]): EndpointSlice => ({
      metadata: {
        name: 's',
        resourceVersion: '7',
        annotations: {
          'topology.extensions.gardener.cloud/evacuated': JSON.stringify(evacuated),
          'topology.extensions.gardener.cloud/plan': 'zones',
        },
      },
      endpoints: [
        { addresses: ['198.18.0.1'], zone: 'a', hints: { forZones: [{ name: NOWHERE }] } },
        { addresses: ['198.18.0.2'], zone: 'b', hints: { forZones: forZones.map((name) => ({ name })) } },
      ],
    });
    const project = createSliceProjection();
    const plan = { spread: false, endpoints: [{ name: '198.18.0.2', forZones: ['b', 'c'] }] };
    expect(patchFor(project(slice('a', 'b', 'c')), plan)).to.equal(undefined);
    expect(patchFor(project(slice('a', 'b')), plan)).to.deep.equal([
      LOCK,
      { op: 'add', path: '/endpoints/1/hints', value: { forZones: [{ name: 'a' }, { name: 'b' }, { name: 'c' }] } },
    ]);
  });

  it('is none where proxies route as planned, whatever endpoints that are not ready carry', () => {
    const slice = flowSlice([
      flowEndpoint('a', { forZones: ['a'] }),
      flowEndpoint('b', { ready: false, forZones: ['c'] }),
    ]);
    expect(patchFor(slice, OWN)).to.equal(undefined);
    expect(
      patchFor(flowSlice([flowEndpoint('a', { forZones: ['b', 'a'] })]), {
        ...OWN,
        endpoints: [{ name: 'a1', forZones: ['a', 'b'] }],
      }),
    ).to.equal(undefined);
  });

  it('writes the endpoints that differ, and the mark, under the lock of the version that was read', () => {
    const slice = flowSlice([flowEndpoint('a', { forZones: ['a'] }), flowEndpoint('b', { forZones: ['b'] })]);
    expect(patchFor(slice, SHARED)).to.deep.equal([
      LOCK,
      { op: 'add', path: '/endpoints/1/hints', value: { forZones: [{ name: 'a' }, { name: 'b' }] } },
      { op: 'add', path: '/metadata/annotations', value: { 'topology.extensions.gardener.cloud/plan': 'zones' } },
    ]);
  });

  it('spreads: hints go, also empty ones, and the mark says that it is on purpose', () => {
    const slice = flowSlice([flowEndpoint('a', { forZones: ['a'] }), flowEndpoint('b', { hinted: true })], {
      annotated: true,
    });
    expect(patchFor(slice, SPREAD)).to.deep.equal([
      LOCK,
      { op: 'remove', path: '/endpoints/0/hints' },
      { op: 'remove', path: '/endpoints/1/hints' },
      { op: 'add', path: MARK, value: 'spread' },
    ]);
    expect(differs(flowSlice([flowEndpoint('a')]), SPREAD), 'without the mark').to.equal(true);
    expect(differs(flowSlice([flowEndpoint('a')], { mark: 'spread' }), SPREAD)).to.equal(false);
  });

  const waiting = (...names: string[]) => names.map((name) => `not-ready.${name}`);
  const notReady: (readonly [
    name: string,
    endpoint: Partial<FlowSliceEndpoint>,
    want: object | undefined,
    rebuilt?: boolean,
  ])[] = [
    ['new: its own zone', {}, { op: 'add', value: { forZones: [{ name: 'not-ready.c' }] } }],
    [
      'planned before, written while it was ready: that plan',
      { forZones: ['a', 'b'], hinted: true },
      { op: 'add', value: { forZones: waiting('a', 'b').map((name) => ({ name })) } },
    ],
    ['planned before, carried over: stays', { forZones: waiting('a', 'b'), hinted: true }, undefined],
    ['of a writer that changes ready in place: none', { forZones: ['a'], hinted: true }, { op: 'remove' }, false],
  ];
  for (const [name, endpoint, want, rebuilt = true] of notReady) {
    it(`hints an endpoint that is not ready for no client where the slice is written anyway: ${name}`, () => {
      const endpoints = [flowEndpoint('b', { forZones: ['b'] }), flowEndpoint('c', { ready: false, ...endpoint })];
      const slice = flowSlice(endpoints, { mark: 'zones', annotated: true, rebuilt });
      const operation = patchFor(slice, SHARED)?.find(({ path }) => path === '/endpoints/1/hints');
      expect(operation).to.deep.equal(want && { ...want, path: '/endpoints/1/hints' });
    });
  }

  it('gives no hints to an endpoint without zone, and leaves host names alone', () => {
    expect(patchFor(flowSlice([flowEndpoint('')]), OWN)).to.equal(undefined);
    expect(patchFor(flowSlice([flowEndpoint('a')], { addressType: 'FQDN' }), OWN)).to.equal(undefined);
  });

  it('applied once, leaves nothing to do, whatever slice and plan', () => {
    const zone = fc.constantFrom('a', 'b', 'c');
    const endpoint = fc.record({ zone, ready: fc.boolean(), forZones: fc.uniqueArray(zone, { maxLength: 3 }) });
    const endpoints = fc.array(endpoint, { maxLength: 5 });
    const plans = fc.record({
      spread: fc.boolean(),
      zones: fc.array(fc.uniqueArray(zone, { minLength: 1, maxLength: 3 }), { minLength: 5, maxLength: 5 }),
    });
    const project = createSliceProjection();
    fc.assert(
      fc.property(
        endpoints,
        plans,
        fc.option(fc.constantFrom('spread', 'zones'), { nil: undefined }),
        (list, drawn, mark) => {
          const slice: EndpointSlice = {
            metadata: {
              name: 'web-1',
              resourceVersion: '7',
              ...(mark === undefined ? {} : { annotations: { 'topology.extensions.gardener.cloud/plan': mark } }),
            },
            addressType: 'IPv4',
            endpoints: list.map(({ zone: own, ready, forZones }, index) => ({
              addresses: [`198.18.0.${index}`],
              zone: own,
              conditions: { ready },
              targetRef: { kind: 'Pod', name: `p${index}` },
              ...(forZones.length === 0 ? {} : { hints: { forZones: forZones.map((name) => ({ name })) } }),
            })),
          };
          const plan: HintsInForce = drawn.spread
            ? SPREAD
            : { spread: false, endpoints: drawn.zones.map((forZones, index) => ({ name: `p${index}`, forZones })) };
          const patch = patchFor(project(slice), plan);
          if (patch === undefined) return;
          const written = project(applyJsonPatch(slice, patch));
          expect(patchFor(written, plan)).to.equal(undefined);
          expect(revertPatch(written), 'can be taken back').not.to.equal(undefined);
        },
      ),
    );
  });
});
