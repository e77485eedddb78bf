// Endpoints, slices and the model of kube-proxy for the tests of evacuations.
import fc from 'fast-check';
import type { Endpoint, EndpointSlice } from '../../../pkg/apis/core.ts';
import { type ZoneRequest, decideInOrder } from '../../../pkg/evacuation/decide.ts';
import { evacuationPatch } from '../../../pkg/evacuation/slice.ts';
import { hintsNow } from '../../../pkg/hints/readiness.ts';
import { routeFor } from '../../../pkg/upstream/index.ts';
import { endpoint, node, service, slice } from '../../fixtures/core.ts';
import { applyJsonPatch } from '../../sandbox/patch-json.ts';

export const ZONES = ['a', 'b', 'c'];

export const ALL: ZoneRequest = { zone: 'a', percent: 100, rounding: 'Up' };

export const hintsFor = (...zones: string[]) => ({ forZones: zones.map((name) => ({ name })) });

let counter = 0;

export const at = (zone: string | undefined, more: Partial<Endpoint> = {}): Endpoint => {
  counter += 1;
  const { zone: _zone, ...rest } = endpoint({ addresses: [`198.18.${counter >> 8}.${counter & 255}`], ...more });
  return zone === undefined ? rest : { ...rest, zone };
};

export const routed = (zone: string, ...zones: string[]): Endpoint =>
  at(zone, { hints: hintsFor(...(zones.length === 0 ? [zone] : zones)) });

export const sliceOf = (...endpoints: Endpoint[]): EndpointSlice => slice({ endpoints });

export const decide = (slices: EndpointSlice[], requests: ZoneRequest[] = [ALL], clientZones: string[] = ZONES) =>
  decideInOrder({ slices, clientZones, requests }).decision;

/** The slices as an evacuation leaves them; undefined `requests`: as its end leaves them. */
export const moved = (slices: EndpointSlice[], requests: ZoneRequest[] | undefined): EndpointSlice[] => {
  const decision = requests === undefined ? undefined : decide(slices, requests);
  if (decision !== undefined && decision.kind !== 'moved') return slices;
  return slices.map((one) => applyJsonPatch(one, evacuationPatch(one, decision)));
};

export const hintsIn = (slices: EndpointSlice[]): unknown[] =>
  slices.flatMap(({ endpoints }) => (endpoints ?? []).map(({ hints }) => hints?.forZones?.map(({ name }) => name)));

/** Addresses that a client in the zone may get, by kube-proxy's rules. */
export const usedFrom = (zone: string, slices: EndpointSlice[]): string[] => {
  const input = { node: node({ zone }), service: service(), slices, version: { major: 1, minor: 36 } };
  return routeFor(input, { kind: 'kube-proxy' }).used.map(({ key }) => key.split(':')[0] ?? '');
};

const zoneArbitrary = fc.constantFrom<string | undefined>('a', 'a', 'b', 'c', undefined);

const hintsArbitrary = fc.oneof(
  fc.constant('none' as const),
  fc.constant('own' as const),
  fc.subarray(ZONES, { minLength: 1 }),
);

const endpointArbitrary = fc.record({ zone: zoneArbitrary, ready: fc.boolean(), hints: hintsArbitrary });

export const serviceArbitrary = fc.record({
  endpoints: fc.array(endpointArbitrary, { minLength: 1, maxLength: 12 }),
  uniform: fc.option(fc.constantFrom('none' as const, 'own' as const)),
  percent: fc.constantFrom(1, 25, 50, 99, 100),
  rounding: fc.constantFrom('Up' as const, 'Down' as const),
  cut: fc.nat(12),
});

type Generated = ReturnType<typeof serviceArbitrary.generate>['value'];

/** The Service in one or two slices. */
export const built = ({ endpoints, uniform, cut }: Generated): EndpointSlice[] => {
  const list = endpoints.map(({ zone, ready, hints }) => {
    const asked = uniform ?? hints;
    const own = asked === 'own' ? (zone === undefined ? undefined : hintsFor(zone)) : undefined;
    const given = typeof asked === 'string' ? own : hintsFor(...asked);
    const conditions = { ready };
    const now = hintsNow({ conditions, ...(zone !== undefined && { zone }) }, given, true);
    return at(zone, { conditions, ...(now && { hints: now }) });
  });
  const parts = [list.slice(0, cut), list.slice(cut)].filter((part) => part.length > 0);
  return parts.map((part) => sliceOf(...part));
};

export const endpointsOf = (slices: EndpointSlice[]): Endpoint[] => slices.flatMap((one) => one.endpoints ?? []);
