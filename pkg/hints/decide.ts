// Decides which hints the endpoints of a slice get, planned ones carried over from the stored slice, and returns the JSON Patch.
import type { JsonPatchOperation } from '../apis/admission.ts';
import { type EndpointHints, isEndpointReady } from '../apis/core.ts';
import type { Strategy } from '../apis/names.ts';
import { type Fields, isFields } from '../apis/values.ts';
import { MAX_HINTS, isNodeName, isRebuilt, isZoneName, waitingHints, whenReady } from './readiness.ts';
import { readEndpoint, readSlice, strategyOf, type HintsDecision, type ReadEndpoint, type ReadSlice } from './table.ts';

/** Everything the decision may look at: a function of the request, the cluster's version, and whether the planner is alive. */
export interface HintsInput {
  /** The EndpointSlice of the request, unchecked. */
  readonly object: unknown;
  /** The stored slice on UPDATE, unchecked. */
  readonly oldObject?: unknown;
  /** request.userInfo.username. */
  readonly userName: string;
  /** Users whose planned hints pass untouched. */
  readonly flowControllerUsers: Pick<ReadonlySet<string>, 'has'>;
  /** False once the flow controller's Lease is older than 10 minutes: plans are not carried over any more. */
  readonly plannerAlive: boolean;
  /**
   * The slice was chosen by namespace and name, as those of Etcds' client Services are: same-zone where its labels ask for nothing. Default false.
   */
  readonly chosen?: boolean;
  /** False below Kubernetes 1.33, whose API has no `forNodes`: a patch would come back without it every time. */
  readonly nodeHints: boolean;
}

/**
 * Address, zone and target UID as one unambiguous string. Proxies look at the first address only, so that one identifies.
 * Neither a zone name nor a length contains a line break, and the length says where the address ends.
 */
const identityOf = ({ addresses, zone, targetRef }: ReadEndpoint): string => {
  const address = addresses[0] ?? '';
  return `${zone ?? ''}\n${address.length}\n${address}${targetRef?.uid ?? ''}`;
};

const nameIn = (entry: unknown): unknown => {
  const name = isFields(entry) ? entry['name'] : undefined;
  return typeof name === 'string' ? whenReady(name) : undefined;
};

/**
 * The zones of stored hints where the API could have stored them: one to eight distinct zone names, also of an endpoint that was not ready.
 * An evacuation is no plan.
 */
const plannedZones = (hints: ReadEndpoint['hints']): string[] | undefined => {
  const forZones = hints?.['forZones'];
  if (!Array.isArray(forZones) || forZones.length === 0 || forZones.length > MAX_HINTS) return undefined;
  const names = forZones.map(nameIn);
  return names.every(isZoneName) && new Set(names).size === names.length ? names : undefined;
};

/**
 * Looks hints to keep up in the stored slice, in time linear in its size. A stored slice that is no slice, or that asked for another
 * strategy, holds none.
 */
const carryOverFrom = (oldObject: unknown, strategy: Strategy) => {
  /** Undefined for two stored endpoints with one identity and different hints: none of them can be trusted. */
  const kept = new Map<string, EndpointHints | undefined>();
  /** Plans repeat: one hints object a plan. */
  const hintsOf = new Map<string, EndpointHints>();
  const old = readSlice(oldObject);
  const asked = typeof old !== 'string' && strategyOf(old.labels) === strategy ? old.endpoints : [];
  for (const unchecked of asked) {
    const endpoint = readEndpoint(unchecked);
    if (typeof endpoint === 'string' || !isZoneName(endpoint.zone)) continue;
    const zones = plannedZones(endpoint.hints);
    if (zones === undefined) continue;
    const plan = zones.join(',');
    const hints = hintsOf.get(plan) ?? { forZones: zones.map((name) => ({ name })) };
    hintsOf.set(plan, hints);
    const identity = identityOf(endpoint);
    kept.set(identity, kept.has(identity) && kept.get(identity) !== hints ? undefined : hints);
  }
  return (endpoint: ReadEndpoint): EndpointHints | undefined => kept.get(identityOf(endpoint));
};

type Names = readonly { readonly name: string }[];

const sameNames = (current: unknown, wanted: Names): boolean => {
  if (current === undefined || current === null) return wanted.length === 0;
  if (!Array.isArray(current) || current.length !== wanted.length) return false;
  for (let index = 0; index < wanted.length; index += 1) {
    const entry: unknown = current[index];
    if (!isFields(entry) || entry['name'] !== wanted[index]?.name) return false;
    for (const key in entry) if (key !== 'name') return false;
  }
  return true;
};

const nothing: Names = [];

/** True where writing `wanted` would change nothing. Any field beside the two known ones counts as a difference. */
export const sameHints = (current: Fields, wanted: EndpointHints): boolean => {
  for (const key in current) if (key !== 'forZones' && key !== 'forNodes') return false;
  return (
    sameNames(current['forZones'], wanted.forZones ?? nothing) &&
    sameNames(current['forNodes'], wanted.forNodes ?? nothing)
  );
};

/** These hints (replacing all others), none, or whatever the endpoint carries now. */
type WantedHints = EndpointHints | 'none' | 'untouched';
type Rule = (endpoint: ReadEndpoint) => WantedHints;

/** Zone names repeat: one hints object a zone saves building, comparing and printing it for each endpoint. */
const ownZoneHints = (): ((zone: string | undefined) => EndpointHints | undefined) => {
  const known = new Map<string | undefined, EndpointHints | undefined>();
  return (zone) => {
    const cached = known.get(zone);
    if (cached !== undefined || known.has(zone)) return cached;
    const hints = isZoneName(zone) ? { forZones: [{ name: zone }] } : undefined;
    known.set(zone, hints);
    return hints;
  };
};

const withOwnNode = (zoneHints: EndpointHints | undefined, nodeName: string | undefined): EndpointHints | undefined =>
  isNodeName(nodeName) ? { ...zoneHints, forNodes: [{ name: nodeName }] } : zoneHints;

/** What the rule gives, but for endpoints that are not ready: hints for no client, or none. */
const heedingReadiness = (rule: Rule, rebuilt: boolean): Rule => {
  const known = new Map<EndpointHints, { readonly zone: string | undefined; readonly now: WantedHints }>();
  return (endpoint) => {
    const wanted = rule(endpoint);
    if (typeof wanted === 'string' || isEndpointReady(endpoint)) return wanted;
    if (!rebuilt) return 'none';
    const before = known.get(wanted);
    if (before !== undefined && before.zone === endpoint.zone) return before.now;
    const now = waitingHints(wanted, endpoint.zone) ?? 'none';
    known.set(wanted, { zone: endpoint.zone, now });
    return now;
  };
};

/**
 * The rule for one slice while its endpoints are ready; `undefined` where nothing of it is to be touched. The compiler demands one of a new strategy.
 */
const ruleFor = (strategy: Strategy, slice: ReadSlice, input: HintsInput): Rule | undefined => {
  const ownZone = ownZoneHints();
  switch (strategy) {
    case 'same-zone':
      return ({ zone }) => ownZone(zone) ?? 'untouched';
    case 'same-node':
      return ({ zone, nodeName }) => withOwnNode(ownZone(zone), input.nodeHints ? nodeName : undefined) ?? 'untouched';
    case 'proportional':
    case 'load-aware': {
      if (input.flowControllerUsers.has(input.userName)) return undefined;
      if (slice.spread || !input.plannerAlive) return () => 'none';
      const carriedOver = carryOverFrom(input.oldObject, strategy);
      return (endpoint) => (ownZone(endpoint.zone) && carriedOver(endpoint)) ?? ownZone(endpoint.zone) ?? 'untouched';
    }
    default:
      return strategy satisfies never;
  }
};

export const UNCHANGED: HintsDecision = Object.freeze({ kind: 'unchanged' });

/**
 * `add` both creates and replaces a member, so one operation an endpoint is enough; `remove` needs the member to be there.
 * Never `test`: a patch that does not apply fails the write even where the webhook's failures are ignored.
 */
export const hintOperation = (
  index: number,
  hints: Fields | EndpointHints | null | undefined,
  wanted: WantedHints,
): JsonPatchOperation | undefined => {
  if (wanted === 'untouched') return undefined;
  const present = hints !== undefined && hints !== null;
  if (wanted === 'none') return present ? { op: 'remove', path: `/endpoints/${index}/hints` } : undefined;
  if (present && sameHints(hints as Fields, wanted)) return undefined;
  return { op: 'add', path: `/endpoints/${index}/hints`, value: wanted };
};

/**
 * The admission table, on the labels of the new object only. Time and memory are linear in the size of both slices.
 * The patch touches nothing but `hints`, applies to the object given, and applying it makes the next decision `unchanged`.
 */
export const decideHints = (input: HintsInput): HintsDecision => {
  const slice = readSlice(input.object);
  if (typeof slice === 'string') return { kind: 'invalid', message: slice };
  const strategy = strategyOf(slice.labels) ?? (input.chosen === true ? 'same-zone' : undefined);
  const whenAllReady = strategy === undefined ? undefined : ruleFor(strategy, slice, input);
  if (whenAllReady === undefined) return UNCHANGED;
  const rule = heedingReadiness(whenAllReady, isRebuilt(slice.labels));
  const operations: JsonPatchOperation[] = [];
  for (let index = 0; index < slice.endpoints.length; index += 1) {
    const endpoint = readEndpoint(slice.endpoints[index]);
    if (typeof endpoint === 'string') return { kind: 'invalid', message: `endpoints[${index}] ${endpoint}` };
    const operation = hintOperation(index, endpoint.hints, rule(endpoint));
    if (operation !== undefined) operations.push(operation);
  }
  return operations.length === 0 ? UNCHANGED : { kind: 'patch', operations };
};

const quoted = (text: string): string =>
  /["\\\u0000-\u001f\ud800-\udfff]/.test(text) ? JSON.stringify(text) : `"${text}"`;

/**
 * JSON text of the operations. Values that are one and the same object are printed once and repeated: the hints of a
 * slice with 1,000 endpoints are three such objects, so this costs a quarter of JSON.stringify.
 */
export const patchText = (operations: readonly JsonPatchOperation[]): string => {
  const printed = new Map<unknown, string>();
  let text = '[';
  for (const operation of operations) {
    if (text.length > 1) text += ',';
    text += `{"op":"${operation.op}","path":${quoted(operation.path)}`;
    if (operation.op !== 'remove') {
      const value = printed.get(operation.value) ?? JSON.stringify(operation.value);
      printed.set(operation.value, value);
      text += `,"value":${value}`;
    }
    text += '}';
  }
  return `${text}]`;
};
