// Whether an evacuation can be done at all, which evacuations run, and which Services each is about.
import type { LabelSelector } from '../apis/admission.ts';
import { parseDuration } from '../apis/quantity.ts';
import type { StringMap } from '../apis/meta.ts';
import { LABEL_NAMESPACE_NAME } from '../apis/names.ts';
import { byText, firstFew } from '../apis/values.ts';
import type { ZoneEvacuation } from '../apis/zone-evacuation.ts';
import { matchesSelector } from '../routing/types.ts';

export type Refusal = Readonly<Record<'reason' | 'message', string>>;

const refuse = (reason: string, message: string): Refusal => ({ reason, message });

/**
 * Undefined where neither zones nor data planes are against it.
 *
 * @param world.clientZones - with Nodes; `endpointZones`: with endpoints
 * @param world.evacuatedAlready - zones that other evacuations take whole
 * @param world.dropping - data planes that drop connections of clients whose zone no hint names
 */
export const refusalOf = (
  { zone, percent, force }: Pick<ZoneEvacuation['spec'], 'zone' | 'percent' | 'force'>,
  world: {
    readonly clientZones: readonly string[];
    readonly endpointZones: readonly string[];
    readonly evacuatedAlready: ReadonlySet<string>;
    readonly dropping: readonly string[];
  },
): Refusal | undefined => {
  const { clientZones, evacuatedAlready, dropping } = world;
  const zones = new Set([...clientZones, ...world.endpointZones]);
  if (!zones.has(zone))
    return refuse('UnknownZone', `no Node and no endpoint is in zone ${zone}; zones are ${clientZones.join(', ')}`);
  if (percent >= 100 && [...zones].every((one) => one === zone || evacuatedAlready.has(one)))
    return refuse('LastZone', `${zone} is the last zone that is not being evacuated`);
  if (dropping.length > 0 && !force)
    return refuse(
      'RouterDropsTraffic',
      `${dropping.join(', ')} drops connections where no hint names the zone of the client; spec.force evacuates anyway`,
    );
  return undefined;
};

const MANY = 3;

const CHECKED = 'spec.force, or spec.capacityCheck: Skip, goes on all the same';

/**
 * @param together - Services that would have no endpoint left, together with the evacuations that run
 * @param overloaded - those that would be too much for their other endpoints, in sentences, worst first
 */
export const shortageOf = (together: readonly string[], overloaded: readonly string[]): Refusal | undefined => {
  const listed = `${firstFew(together.length > 0 ? together : overloaded, MANY, '; ')}; ${CHECKED}`;
  if (together.length > 0)
    return refuse('TogetherNoEndpoint', `with the evacuations that run no endpoint would be left of ${listed}`);
  return overloaded.length === 0 ? undefined : refuse('Overloaded', `too much for the endpoints that stay: ${listed}`);
};

/** Of an admission that was not seen to keep a marked slice. */
export const NOT_KEPT = {
  yet: { reason: 'WaitingForAdmission', message: 'the webhook has not been observed to keep evacuated slices yet' },
  late: {
    reason: 'AdmissionNotActing',
    message:
      'no webhook keeps evacuated slices, so the EndpointSlice controller would remove the hints: check that the endpointslice-webhook runs, registers itself (registration: self) and is reached',
  },
} as const satisfies Readonly<Record<string, Refusal>>;

const LONGEST_SECONDS = 168 * 3_600;

interface Expiring {
  readonly metadata: Pick<ZoneEvacuation['metadata'], 'creationTimestamp'>;
  readonly spec: Pick<ZoneEvacuation['spec'], 'duration'>;
}

/** When it ends, Unix milliseconds; undefined where the object does not say, which no API server with the definition lets happen. */
export const expiryOf = ({ metadata, spec }: Expiring): number | undefined => {
  const created = Date.parse(metadata.creationTimestamp ?? '');
  const seconds = parseDuration(spec.duration);
  if (Number.isNaN(created) || seconds === undefined) return undefined;
  return created + Math.min(seconds, LONGEST_SECONDS) * 1_000;
};

/** @param now - Unix milliseconds. */
export const isRunning = (evacuation: ZoneEvacuation, now: number): boolean =>
  evacuation.metadata.deletionTimestamp === undefined && now < (expiryOf(evacuation) ?? -Infinity);

const matches = (selector: LabelSelector | undefined, labels: StringMap | undefined): boolean =>
  selector === undefined || matchesSelector(selector, labels ?? {});

/** `kubernetes.default` is reached by everything that could end the evacuation. */
const UNTOUCHED = 'default/kubernetes';

export const concerns = (
  { spec }: ZoneEvacuation,
  service: { readonly key: string; readonly labels: StringMap | undefined; readonly namespace: StringMap | undefined },
): boolean =>
  service.key !== UNTOUCHED &&
  matches(spec.namespaceSelector, service.namespace) &&
  matches(spec.serviceSelector, service.labels);

/** What a slice itself shows: the EndpointSlice controller copies the labels of its Service (setEndpointSliceLabels of k8s.io/endpointslice). */
export interface SliceSubject {
  readonly namespace: string;
  readonly service: string;
  readonly labels: StringMap;
}

/** The leader does it. */
export const isAccepted = ({ status }: ZoneEvacuation): boolean =>
  status?.conditions?.some(({ type, status: value }) => type === 'Accepted' && value === 'True') === true;

/** Oldest first, by name where two are of one second. */
export const byAge = (left: ZoneEvacuation, right: ZoneEvacuation): number => {
  const ageOf = ({ metadata }: ZoneEvacuation): string => `${metadata.creationTimestamp ?? ''} ${metadata.name ?? ''}`;
  return byText(ageOf(left), ageOf(right));
};

/** Labels of namespaces are not read by admission, but the one with the name. */
const isByName = (selector: LabelSelector | undefined): boolean =>
  [...Object.keys(selector?.matchLabels ?? {}), ...(selector?.matchExpressions ?? []).map(({ key }) => key)].every(
    (key) => key === LABEL_NAMESPACE_NAME,
  );

/** Whether endpoints that join the zone are evacuated by admission: of a share, the leader chooses. */
export const takesWholeZone = ({ spec: { percent, namespaceSelector } }: ZoneEvacuation): boolean =>
  percent >= 100 && isByName(namespaceSelector);

/** What admission does to slices that no leader has marked yet: the part of `running` that is about a slice; undefined where there is none. */
export const joiningOf = (running: readonly ZoneEvacuation[], { namespace: name, service, labels }: SliceSubject) => {
  const subject = { key: `${name}/${service}`, labels, namespace: { [LABEL_NAMESPACE_NAME]: name } };
  const found = running.filter((one) => isAccepted(one) && takesWholeZone(one) && concerns(one, subject)).sort(byAge);
  const clientZones = found.flatMap(({ status }) => status?.clientZones ?? []);
  if (clientZones.length === 0) return undefined;
  return {
    /** Zones whose endpoints are evacuated with the write that adds them, oldest evacuation first. */
    zones: [...new Set(found.map(({ spec }) => spec.zone))],
    /** Zones with Nodes, as the leader wrote them into the status. */
    clientZones: [...new Set(clientZones)].sort(),
    /** Some routers may leave clients without endpoints where hints miss their zone: it was forced. */
    forced: found.some(({ spec }) => spec.force),
  };
};

export type Joining = Readonly<NonNullable<ReturnType<typeof joiningOf>>>;
