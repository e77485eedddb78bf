// Says whether a Service that should route by zone really does: hints on every ready endpoint, every client zone served. Pure.
import type { Endpoint, EndpointSlice, Service } from '../../apis/core.ts';
import { isEndpointReady } from '../../apis/readings.ts';
import { followingOf } from '../../diagnosis/models/follow.ts';
import type { Clients } from '../../diagnosis/models/follow.ts';
import { markOf } from '../../evacuation/decide.ts';

/** Why routing by zone has no (full) effect; stable words for metrics, events and docs. */
export type IneffectiveReason =
  | 'ServiceMissing'
  | 'Pending'
  | 'Headless'
  | 'NoReadyEndpoints'
  | 'EndpointWithoutZone'
  | 'HintsMissing'
  | 'ZoneNotServed'
  | 'HintsNotFollowed'
  | 'RouterUnknown';

export type Effectiveness =
  | { readonly kind: 'effective' }
  | { readonly kind: 'ineffective'; readonly reason: IneffectiveReason; readonly message: string }
  /** Hints are there, but nothing shows that the data plane follows them. */
  | { readonly kind: 'assumed'; readonly reason: 'RouterAssumed'; readonly message: string }
  /** Hints are complete, and send clients elsewhere on purpose. */
  | { readonly kind: 'evacuated'; readonly reason: 'Evacuated'; readonly message: string };

export interface AssessInput {
  /** `namespace/name`, for messages. */
  readonly name: string;
  readonly service: Service | undefined;
  /** The client Service of an Etcd lacks the annotation that old proxies want; only etcd-druid may write it. */
  readonly pending: boolean;
  readonly slices: readonly EndpointSlice[];
  /** Zones of ready Nodes: clients may be in any of them. */
  readonly clientZones: ReadonlySet<string>;
  /** Who routes on ready Nodes, each kind once. */
  readonly clients: readonly Clients[];
}

const ineffective = (reason: IneffectiveReason, message: string): Effectiveness => ({
  kind: 'ineffective',
  reason,
  message,
});

/** Absent means ready, as upstream's consumers read it. */

const hintedZones = ({ hints }: Endpoint): string[] => (hints?.forZones ?? []).map(({ name }) => name);

/** One address family: proxies decide for each by itself. */
const assessFamily = (
  family: string,
  endpoints: readonly Endpoint[],
  input: AssessInput,
): Effectiveness | undefined => {
  const { name, clientZones } = input;
  const ready = endpoints.filter(isEndpointReady);
  if (ready.length === 0) return ineffective('NoReadyEndpoints', `Service ${name} has no ready ${family} endpoint`);
  const unhinted = ready.filter((endpoint) => hintedZones(endpoint).length === 0);
  const zoneless = unhinted.filter(({ zone }) => zone === undefined || zone === '');
  if (zoneless.length > 0) {
    const message = `Service ${name}: ${zoneless.length} of ${ready.length} ready ${family} endpoints are on Nodes without a zone, so proxies ignore all hints; label the Nodes`;
    return ineffective('EndpointWithoutZone', message);
  }
  if (unhinted.length > 0) {
    const message = `Service ${name}: ${unhinted.length} of ${ready.length} ready ${family} endpoints have no hint, so proxies ignore the others; check what writes the hints (webhook, policies or kube-controller-manager)`;
    return ineffective('HintsMissing', message);
  }
  const served = new Set(ready.flatMap(hintedZones));
  const unserved = [...clientZones].filter((zone) => !served.has(zone)).sort();
  if (unserved.length === 0) return undefined;
  const message = `Service ${name}: no ready ${family} endpoint is hinted for ${unserved.join(', ')}; clients there use all zones`;
  return ineffective('ZoneNotServed', message);
};

/** What the data planes make of hints that are complete. */
const assessRouters = (name: string, service: Service, clients: readonly Clients[]): Effectiveness => {
  const following = followingOf(service, clients);
  if (following.kind === 'followed') return { kind: 'effective' };
  const message = `Service ${name}: ${following.message}`;
  const { reason } = following;
  return reason === 'RouterAssumed' ? { kind: 'assumed', reason, message } : ineffective(reason, message);
};

/** What an operator asked for is no fault; what keeps the evacuation itself from working was found before. */
const assessEvacuation = (name: string, slices: readonly EndpointSlice[]): Effectiveness | undefined => {
  const zones = new Set(slices.flatMap((slice) => [...(markOf(slice)?.out.keys() ?? [])]));
  if (zones.size === 0) return undefined;
  const message = `Service ${name}: ${[...zones].sort().join(', ')} is evacuated, its clients use other zones; kubectl topology evacuations shows until when`;
  return { kind: 'evacuated', reason: 'Evacuated', message };
};

const byFamily = (slices: readonly EndpointSlice[]): Map<string, Endpoint[]> => {
  const families = new Map<string, Endpoint[]>();
  for (const { addressType = 'IPv4', endpoints } of slices) {
    families.set(addressType, [...(families.get(addressType) ?? []), ...(endpoints ?? [])]);
  }
  return families;
};

export const assessEffectiveness = (input: AssessInput): Effectiveness => {
  const { name, service, pending, slices } = input;
  if (service === undefined) return ineffective('ServiceMissing', `Service ${name} does not exist`);
  if (pending) {
    const message = `Pending: owner; Service ${name} lacks the annotation that kube-proxies older than 1.31 need, and only etcd-druid may write it: it does when the owner of the Etcd reconciles it`;
    return ineffective('Pending', message);
  }
  if (service.spec?.clusterIP === 'None') {
    return ineffective('Headless', `Service ${name} is headless: clients choose among all addresses themselves`);
  }
  const families = byFamily(slices);
  if (families.size === 0) return ineffective('NoReadyEndpoints', `Service ${name} has no EndpointSlice`);
  for (const [family, endpoints] of families) {
    const found = assessFamily(family, endpoints, input);
    if (found !== undefined) return found;
  }
  const routed = assessRouters(name, service, input.clients);
  return routed.kind === 'ineffective' ? routed : (assessEvacuation(name, slices) ?? routed);
};
