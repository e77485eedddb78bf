// Decides which hints the endpoints of a slice get, and returns the JSON Patch that sets them.
import type { JsonPatchOperation } from '../apis/admission.ts';
import type { EndpointHints } from '../apis/core.ts';
import { carryOverFrom } from './carry-over.ts';
import { sameHints } from './equal.ts';
import { isEndpointReady } from '../apis/readings.ts';
import { isNodeName, isZoneName } from './names.ts';
import { isRebuilt, waitingHints } from './readiness.ts';
import { readEndpoint, readSlice } from './slice.ts';
import type { ReadEndpoint, ReadSlice } from './slice.ts';
import { sameZone, strategyOf } from './table.ts';
import type { HintStrategy, HintsDecision, HintsInput, WantedHints } from './types.ts';

/** What one endpoint should carry, for the slice and the writer that the rule was made for. */
type Rule = (endpoint: ReadEndpoint) => WantedHints;

const none: Rule = () => 'none';

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

/** The rule for one slice while its endpoints are ready; `undefined` where nothing of it is to be touched. */
const ruleFor = (strategy: HintStrategy, slice: ReadSlice, input: HintsInput): Rule | undefined => {
  if (strategy.planned && input.flowControllerUsers.has(input.userName)) return undefined;
  if (strategy.planned && (slice.spread || !input.plannerAlive)) return none;
  const ownZone = ownZoneHints();
  if (strategy.zones === 'carried-over') {
    const carriedOver = carryOverFrom(input.oldObject, strategy);
    return (endpoint) => (ownZone(endpoint.zone) && carriedOver(endpoint)) ?? ownZone(endpoint.zone) ?? 'untouched';
  }
  if (strategy.nodes === 'own' && input.nodeHints) {
    return ({ zone, nodeName }) => withOwnNode(ownZone(zone), nodeName) ?? 'untouched';
  }
  return ({ zone }) => ownZone(zone) ?? 'untouched';
};

const unchanged: HintsDecision = Object.freeze({ kind: 'unchanged' });

/**
 * `add` both creates and replaces a member, so one operation an endpoint is enough; `remove` needs the member to be there.
 * Never `test`: a patch that does not apply fails the write even where the webhook's failures are ignored.
 */
const operationFor = (index: number, { hints }: ReadEndpoint, wanted: WantedHints): JsonPatchOperation | undefined => {
  if (wanted === 'untouched') return undefined;
  const present = hints !== undefined && hints !== null;
  if (wanted === 'none') return present ? { op: 'remove', path: `/endpoints/${index}/hints` } : undefined;
  if (present && sameHints(hints, wanted)) return undefined;
  return { op: 'add', path: `/endpoints/${index}/hints`, value: wanted };
};

/**
 * The admission table, on the labels of the new object only. Time and memory are linear in the size of both slices.
 * The patch touches nothing but `hints`, applies to the object given, and applying it makes the next decision `unchanged`.
 */
export const decideHints = (input: HintsInput): HintsDecision => {
  const slice = readSlice(input.object);
  if (typeof slice === 'string') return { kind: 'invalid', message: slice };
  const strategy = strategyOf(slice.labels) ?? (input.chosen === true ? sameZone : undefined);
  const whenAllReady = strategy === undefined ? undefined : ruleFor(strategy, slice, input);
  if (whenAllReady === undefined) return unchanged;
  const rule = heedingReadiness(whenAllReady, isRebuilt(slice.labels));
  const operations: JsonPatchOperation[] = [];
  for (let index = 0; index < slice.endpoints.length; index += 1) {
    const endpoint = readEndpoint(slice.endpoints[index]);
    if (typeof endpoint === 'string') return { kind: 'invalid', message: `endpoints[${index}] ${endpoint}` };
    const operation = operationFor(index, endpoint, rule(endpoint));
    if (operation !== undefined) operations.push(operation);
  }
  return operations.length === 0 ? unchanged : { kind: 'patch', operations };
};

const QUOTED = /["\\\u0000-\u001f\ud800-\udfff]/;

const quoted = (text: string): string => (QUOTED.test(text) ? JSON.stringify(text) : `"${text}"`);

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
