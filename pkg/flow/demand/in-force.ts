// Who serves which zone's clients under hints, by kube-proxy's rules.
import type { FlowEndpoint, PlannedEndpoint } from '../types.ts';

/** Hints of a Service's endpoints. */
export interface HintsInForce {
  /** No endpoint has a hint: every client uses every endpoint. */
  readonly spread: boolean;
  /** In name order; an endpoint that is not named is hinted for its own zone, as admission does, or for none without a zone. */
  readonly endpoints: readonly PlannedEndpoint[];
}

/** How the clients of each zone are shared. */
export interface Sharing {
  /** Zones with clients, in name order. */
  readonly zones: readonly string[];
  /** Endpoints that serve each zone; a zone that no endpoint is hinted for uses all. */
  readonly sharers: readonly number[];
  /** Zones that no endpoint is hinted for. */
  readonly orphans: readonly string[];
}

type Endpoint = Pick<FlowEndpoint, 'name' | 'zone'>;

/** Zones that an endpoint is hinted for. */
export type HintsOf = (endpoint: Endpoint) => readonly string[];

export const hintsOf = ({ spread, endpoints }: HintsInForce): HintsOf => {
  if (spread) return () => [];
  const hinted = new Map(endpoints.map(({ name, forZones }) => [name, forZones]));
  return ({ name, zone }) => hinted.get(name) ?? (zone === '' ? [] : [zone]);
};

/** How ready endpoints share the clients of the zones: one endpoint without a hint makes proxies ignore all of them. */
export const sharingOf = (zones: readonly string[], endpoints: readonly Endpoint[], hints: HintsInForce): Sharing => {
  const counts = new Map(zones.map((zone) => [zone, 0]));
  const given = hintsOf(hints);
  const ignored = endpoints.some((endpoint) => given(endpoint).length === 0);
  const hinted: HintsOf = ignored ? () => [] : given;
  for (const endpoint of endpoints) {
    for (const zone of hinted(endpoint)) {
      const count = counts.get(zone);
      if (count !== undefined) counts.set(zone, count + 1);
    }
  }
  const sharers = zones.map((zone) => counts.get(zone) ?? 0);
  return {
    zones,
    sharers: sharers.map((count) => (count === 0 ? endpoints.length : count)),
    orphans: zones.filter((_, index) => sharers[index] === 0),
  };
};

/** The plan with these endpoints: those that it does not know serve their own zone. */
export const planFor = (plan: HintsInForce, endpoints: readonly FlowEndpoint[]): HintsInForce => {
  if (plan.spread) return { spread: true, endpoints: [] };
  const hints = hintsOf(plan);
  return {
    spread: false,
    endpoints: endpoints.map((endpoint) => ({ name: endpoint.name, forZones: hints(endpoint) })),
  };
};

/** The endpoints with the hints that the plan gives them. */
export const endpointsWithHints = (plan: HintsInForce, endpoints: readonly FlowEndpoint[]): FlowEndpoint[] => {
  const hints = hintsOf(plan);
  return endpoints.map(({ name, zone, capacity }) => ({ name, zone, capacity, forZones: hints({ name, zone }) }));
};

export const samePlan = (left: HintsInForce, right: HintsInForce): boolean =>
  left.spread === right.spread &&
  left.endpoints.length === right.endpoints.length &&
  left.endpoints.every(({ name, forZones }, index) => {
    const other = right.endpoints[index];
    return other?.name === name && other.forZones.join() === forZones.join();
  });
