// The check before a zone is evacuated: together with the evacuations that run already, can the other zones take over?
import { type Endpoint, type EndpointSlice, type Service, isNodeReady, zonesOfNodes } from '../../apis/core.ts';
import { byText, firstFew, keyOf, sumBy } from '../../apis/values.ts';
import { NOWHERE } from '../../apis/names.ts';
import { refusalFor } from '../../evacuation/capacity.ts';
import type { ZoneRequest } from '../../evacuation/decide.ts';
import { MAX_HINTS, hintsNow, isRebuilt } from '../../hints/readiness.ts';
import { mapEndpoints, withHints } from '../../upstream/controller/allocation.ts';
import { isControllerSlice } from '../../upstream/index.ts';
import { counted } from '../explain/reasons.ts';
import { serviceKeyOfRef, slicesByService } from '../models/lookup.ts';
import { type ClusterSnapshot, itemsOf } from '../snapshot.ts';
import { type SurvivalOptions, type SurvivalReport, survival, zonesOf } from './survival.ts';

/** Default of --kube-api-qps of kube-controller-manager; Gardener sets 100 for Shoots. */
const CONTROLLER_REQUESTS_PER_SECOND = 20;

export interface Evacuation extends ZoneRequest {
  readonly name: string;
  readonly concerns: (service: Service) => boolean;
}

/** One where it applies. `forcible`: `--force` goes on all the same; a Service that would have no endpoint, or too many zones, then stays as it is. */
const when = (
  applies: boolean,
  reason: 'LastZone' | 'NothingToMove' | 'TogetherNoEndpoint' | 'TooManyZones' | 'Overloaded' | 'ConnectionsFail',
  message: string,
  forcible = true,
) => (applies ? [{ reason, message, forcible }] : []);

type Refusals = ReturnType<typeof when>;

const lastZone = (snapshot: ClusterSnapshot, all: readonly Evacuation[]): Refusals => {
  const out = new Set(all.filter(({ percent }) => percent >= 100).map(({ zone }) => zone));
  const nodes = itemsOf(snapshot.nodes).filter(isNodeReady);
  const zones = nodes.length > 0 ? zonesOfNodes(nodes) : zonesOf(snapshot);
  const message = `No ready Node would be in another zone than ${[...out].sort(byText).join(', ')}.`;
  return when(out.size > 0 && zones.every((zone) => out.has(zone)), 'LastZone', message, false);
};

const MANY = 3;

const named = (services: SurvivalReport['services']): string => firstFew(services.map(serviceKeyOfRef), MANY);

const moving = ({ services }: SurvivalReport): SurvivalReport['services'] =>
  services.filter(({ answer }) => answer === 'Survives' || answer === 'Overloaded');

const byServices = (report: SurvivalReport): Refusals => {
  const busy = report.services.filter(({ answer }) => answer === 'Overloaded');
  return [
    ...when(moving(report).length === 0, 'NothingToMove', 'No Service in scope has endpoints that could leave.', false),
    ...when(busy.length > 0, 'Overloaded', `Too much for the remaining endpoints: ${named(busy)}.`),
  ];
};

/** By what the routers of the Nodes do where no hint names the zone of a client: a Node that joins later may be in such a zone. */
const byRouters = ({ routers }: SurvivalReport): Refusals =>
  routers.flatMap(({ title, version, nodes, behaviour: { safeSince, unmatched } }) => {
    const who = `${title}${version === null ? '' : ` ${version}`} on ${counted(nodes, 'Node')}`;
    const fixed = safeSince === null ? '' : `; ${safeSince} does not`;
    const message = `${who} leaves clients without endpoints if no hint names their zone${fixed}.`;
    return when(unmatched === 'none', 'ConnectionsFail', message);
  });

/** Services that the leader would leave as they are, although nothing is wrong with them or this evacuation alone. */
const byLeader = (
  snapshot: ClusterSnapshot,
  { services }: SurvivalReport,
  wanted: Evacuation,
  others: readonly Evacuation[],
): Refusals => {
  const clientZones = zonesOfNodes(itemsOf(snapshot.nodes));
  if (others.length === 0 && clientZones.length <= MAX_HINTS) return [];
  const slices = slicesByService(itemsOf(snapshot.slices));
  const own = new Map(itemsOf(snapshot.services).map((service) => [keyOf(service), service]));
  const asked = services.flatMap((ref) => {
    const service = own.get(serviceKeyOfRef(ref));
    if (service === undefined || ref.answer === 'NotTouched') return [];
    const running = others.filter(({ concerns }) => concerns(service));
    return [{ ref, ...refusalFor(slices.get(serviceKeyOfRef(ref)) ?? [], clientZones, running, wanted) }];
  });
  const lost = asked.filter(({ together }) => together).map(({ ref }) => ref);
  const wide = asked.filter(({ reason }) => reason === 'TooManyZones').map(({ ref }) => ref);
  const tooWide = `There are ${clientZones.length} zones with Nodes, and hints name ${MAX_HINTS}: ${named(wide)} would stay as they are.`;
  return [
    ...when(lost.length > 0, 'TogetherNoEndpoint', `No endpoint would be left: ${named(lost)}.`),
    ...when(wide.length > 0, 'TooManyZones', tooWide),
  ];
};

/** As an evacuation leaves them: endpoints of the zone, and what is not ready, for no client, all others for clients of every zone. */
const evacuated = (slice: EndpointSlice, zone: string, clientZones: readonly string[]): EndpointSlice => {
  const everyZone = { forZones: clientZones.map((name) => ({ name })) };
  const rebuilt = isRebuilt(slice.metadata?.labels);
  const hintsOf = (endpoint: Endpoint) =>
    endpoint.zone === zone ? { forZones: [{ name: NOWHERE }] } : hintsNow(endpoint, everyZone, rebuilt);
  return mapEndpoints(slice, (endpoint) => withHints(endpoint, hintsOf(endpoint)));
};

/** What an evacuation costs the control plane: every slice of a Service that moves is written, the endpoints that stay take over. */
const writesOf = (snapshot: ClusterSnapshot, report: SurvivalReport, zone: string) => {
  const [slices, zones] = [slicesByService(itemsOf(snapshot.slices)), zonesOf(snapshot)];
  const own = moving(report).flatMap((service) => slices.get(serviceKeyOfRef(service)) ?? []);
  const written = own.map((slice) => evacuated(slice, zone, zones));
  const bytes = sumBy(written, (slice) => Buffer.byteLength(JSON.stringify(slice)));
  const proxies = itemsOf(snapshot.nodes).filter(isNodeReady).length;
  const puts = written.filter(isControllerSlice).length;
  const requestsPerSecond = CONTROLLER_REQUESTS_PER_SECOND;
  return {
    slices: written.length,
    /** As JSON, as far as they are known here: about what they are in storage without managed fields. */
    bytes,
    /** That watch them, one on each ready Node. */
    proxies,
    /** To all proxies together; kube-proxy reads protobuf, which is smaller. */
    fanOutBytes: bytes * proxies,
    /**
     * The EndpointSlice controller answers each write of another author with one PUT a second later, which changes nothing and so reaches no watch
     * (pkg/controller/endpointslice of kubernetes/kubernetes; seen on 1.36.3). For so many seconds its other work, new Pods among it, waits its turn.
     */
    echo: { puts, requestsPerSecond, seconds: puts / requestsPerSecond },
  };
};

/** `running`: the others; one of the same zone and scope counts as well, and the larger share of both. */
export const checkEvacuation = (
  snapshot: ClusterSnapshot,
  wanted: Evacuation,
  running: readonly Evacuation[],
  options: Omit<SurvivalOptions, 'zones' | 'requestsOf' | 'selects'>,
) => {
  const all = [wanted, ...running];
  const report = survival(snapshot, {
    ...options,
    zones: [wanted.zone],
    selects: wanted.concerns,
    requestsOf: (service) => all.filter(({ concerns }) => concerns(service)),
  });
  const beside = running.filter(({ zone }) => zone !== wanted.zone);
  const led = byLeader(snapshot, report, wanted, beside);
  return {
    survival: report,
    /** Empty: it can go on. */
    refusals: [...lastZone(snapshot, all), ...led, ...byServices(report), ...byRouters(report)],
    /** Names of evacuations of other zones that run already and about which the check is as well. */
    beside: beside.map(({ name }) => name),
    writes: writesOf(snapshot, report, wanted.zone),
  };
};

export type EvacuationCheck = ReturnType<typeof checkEvacuation>;
