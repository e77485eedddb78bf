// The check before a zone is evacuated: together with the evacuations that run already, can the other zones take over?
import { type EndpointSlice, type Service, isNodeReady, zoneOfNode } from '../../apis/core.ts';
import { byText } from '../../apis/values.ts';
import { type Leave, decideInOrder } from '../../evacuation/decide.ts';
import { MAX_HINTS } from '../../hints/readiness.ts';
import { isControllerSlice } from '../../upstream/index.ts';
import { serviceKeyOfRef, serviceRefOf, slicesByService } from '../models/lookup.ts';
import { type ClusterSnapshot, itemsOf } from '../snapshot.ts';
import { type SurvivalReport, survival, zonesOf } from './survival.ts';
import type { SurvivalOptions } from './types.ts';
import { evacuatedSlices } from './service.ts';

/** Default of --kube-api-qps of kube-controller-manager; Gardener sets 100 for Shoots. */
const CONTROLLER_REQUESTS_PER_SECOND = 20;

const ENCODER = new TextEncoder();

/**
 * What an evacuation costs the control plane: `slices` are those that would be written, as they would be, and `proxies` watch them,
 * one on each ready Node.
 */
export const estimateWrites = (
  slices: readonly EndpointSlice[],
  {
    proxies,
    requestsPerSecond = CONTROLLER_REQUESTS_PER_SECOND,
  }: { readonly proxies: number; readonly requestsPerSecond?: number },
) => {
  const bytes = slices.reduce((sum, slice) => sum + ENCODER.encode(JSON.stringify(slice)).length, 0);
  const puts = slices.filter(isControllerSlice).length;
  return {
    slices: slices.length,
    /** As JSON, as far as they are known here: about what they are in storage without managed fields. */
    bytes,
    proxies,
    /** To all proxies together; kube-proxy reads protobuf, which is smaller. */
    fanOutBytes: bytes * proxies,
    /**
     * The EndpointSlice controller answers each write of another author with one PUT a second later, which changes nothing and so
     * reaches no watch (pkg/controller/endpointslice of kubernetes/kubernetes; seen on 1.36.3). For so many seconds its other work,
     * new Pods among it, waits its turn.
     */
    echo: { puts, requestsPerSecond, seconds: puts / requestsPerSecond },
  };
};

export type WritesEstimate = ReturnType<typeof estimateWrites>;

/** An evacuation as far as the check looks at it. */
export interface Evacuation extends Leave {
  readonly name: string;
  readonly concerns: (service: Service) => boolean;
}

const REFUSALS = {
  LastZone: 'No other zone with ready Nodes would remain. This cannot be forced.',
  NothingToMove: 'No Service in scope has endpoints in the zone. This cannot be forced: there is nothing to do.',
  TogetherNoEndpoint:
    'Together with the current evacuations, a Service would have no endpoint left. If forced, it stays as it is.',
  TooManyZones:
    'Endpoints would have to serve more zones than hints can name. If forced, such a Service stays as it is.',
  Overloaded: 'Endpoints of other zones would get more than the limit.',
  ConnectionsFail: 'Some data planes leave clients without endpoints if no hint names their zone.',
} as const satisfies Readonly<Record<string, string>>;

interface Refusal {
  readonly reason: keyof typeof REFUSALS;
  readonly message: string;
  /** `--force` goes on all the same. */
  readonly forcible: boolean;
}

const lastZone = (snapshot: ClusterSnapshot, all: readonly Evacuation[]): Refusal[] => {
  const out = new Set(all.filter(({ percent }) => percent >= 100).map(({ zone }) => zone));
  const nodes = itemsOf(snapshot.nodes).filter(isNodeReady).map(zoneOfNode);
  const zones = nodes.length > 0 ? [...new Set(nodes)].filter((zone) => zone !== '') : zonesOf(snapshot);
  if (out.size === 0 || zones.some((zone) => !out.has(zone))) return [];
  const message = `No ready Node would be in another zone than ${[...out].sort(byText).join(', ')}.`;
  return [{ reason: 'LastZone', message, forcible: false }];
};

const MANY = 3;

const named = (services: SurvivalReport['services']): string => {
  const names = services.slice(0, MANY).map(serviceKeyOfRef);
  return services.length > MANY ? `${names.join(', ')} and ${services.length - MANY} more` : names.join(', ');
};

const byServices = ({ services }: SurvivalReport): Refusal[] => {
  const busy = services.filter(({ answer }) => answer === 'Overloaded');
  const moving = services.filter(({ answer }) => answer === 'Survives' || answer === 'Overloaded');
  return [
    ...(moving.length > 0
      ? []
      : [
          {
            reason: 'NothingToMove' as const,
            message: 'No Service in scope has endpoints that could leave.',
            forcible: false,
          },
        ]),
    ...(busy.length === 0
      ? []
      : [
          {
            reason: 'Overloaded' as const,
            message: `Too much for the remaining endpoints: ${named(busy)}.`,
            forcible: true,
          },
        ]),
  ];
};

/** By what the routers of the Nodes do where no hint names the zone of a client: a Node that joins later may be in such a zone. */
const byRouters = ({ routers }: SurvivalReport): Refusal[] =>
  routers
    .filter(({ behaviour }) => behaviour.unmatched === 'none')
    .map(({ title, version, nodes, behaviour: { safeSince } }) => ({
      reason: 'ConnectionsFail',
      message: `${title}${version === null ? '' : ` ${version}`} on ${nodes} ${nodes === 1 ? 'Node' : 'Nodes'} leaves clients without endpoints if no hint names their zone${safeSince === null ? '' : `; ${safeSince} does not`}.`,
      forcible: true,
    }));

/** Services that this evacuation alone would leave with endpoints, and together with the others not. */
const together = (both: SurvivalReport, alone: SurvivalReport): Refusal[] => {
  const fine = new Set(alone.services.filter(({ answer }) => answer !== 'NoEndpointElsewhere').map(serviceKeyOfRef));
  const lost = both.services.filter(
    (service) => service.answer === 'NoEndpointElsewhere' && fine.has(serviceKeyOfRef(service)),
  );
  if (lost.length === 0) return [];
  return [{ reason: 'TogetherNoEndpoint', message: `No endpoint would be left: ${named(lost)}.`, forcible: true }];
};

/** Services that the leader leaves because an endpoint that stays would have to serve more zones than a hint takes. */
const byZones = (
  snapshot: ClusterSnapshot,
  { services }: SurvivalReport,
  all: readonly Evacuation[],
  wanted: Evacuation,
): Refusal[] => {
  const clientZones = [...new Set(itemsOf(snapshot.nodes).map(zoneOfNode))].filter((zone) => zone !== '').sort(byText);
  if (clientZones.length <= MAX_HINTS) return [];
  const slices = slicesByService(itemsOf(snapshot.slices));
  const own = new Map(itemsOf(snapshot.services).map((service) => [serviceKeyOfRef(serviceRefOf(service)), service]));
  const stay = services.filter((ref) => {
    const service = own.get(serviceKeyOfRef(ref));
    const leaves = service === undefined ? [] : all.filter(({ concerns }) => concerns(service));
    const { refused } = decideInOrder({ slices: slices.get(serviceKeyOfRef(ref)) ?? [], clientZones, leaves });
    return refused.get(wanted.zone)?.reason === 'TooManyZones';
  });
  if (stay.length === 0) return [];
  const message = `There are ${clientZones.length} zones with Nodes, and hints name ${MAX_HINTS}: ${named(stay)} would stay as they are.`;
  return [{ reason: 'TooManyZones', message, forcible: true }];
};

/** Every slice of a Service that moves is written: the endpoints that stay take over the clients of the zone. */
const writesOf = (
  snapshot: ClusterSnapshot,
  { services }: SurvivalReport,
  zones: ReadonlySet<string>,
): WritesEstimate => {
  const slices = slicesByService(itemsOf(snapshot.slices));
  const moving = services.filter(({ answer }) => answer === 'Survives' || answer === 'Overloaded');
  const written = moving.flatMap((service) =>
    evacuatedSlices(slices.get(serviceKeyOfRef(service)) ?? [], zones, zonesOf(snapshot)),
  );
  return estimateWrites(written, { proxies: itemsOf(snapshot.nodes).filter(isNodeReady).length });
};

/** `running`: the others; one of the same zone and scope counts as well, and the larger share of both. */
export const checkEvacuation = (
  snapshot: ClusterSnapshot,
  wanted: Evacuation,
  running: readonly Evacuation[],
  options: Omit<SurvivalOptions, 'zones' | 'leavesOf' | 'selects'>,
) => {
  const all = [wanted, ...running];
  const ask = (evacuations: readonly Evacuation[]): SurvivalReport =>
    survival(snapshot, {
      ...options,
      zones: [wanted.zone],
      selects: wanted.concerns,
      leavesOf: (service) => evacuations.filter(({ concerns }) => concerns(service)),
    });
  const report = ask(all);
  const beside = running.filter(({ zone }) => zone !== wanted.zone).map(({ name }) => name);
  return {
    /** Of the Services in scope. */
    survival: report,
    /** Empty: it can go on. */
    refusals: [
      ...lastZone(snapshot, all),
      ...(beside.length === 0 ? [] : together(report, ask([wanted]))),
      ...byZones(snapshot, report, [...running, wanted], wanted),
      ...byServices(report),
      ...byRouters(report),
    ],
    /** Names of evacuations of other zones that run already and about which the check is as well. */
    beside,
    writes: writesOf(snapshot, report, new Set([wanted.zone])),
  };
};

export type EvacuationCheck = ReturnType<typeof checkEvacuation>;
