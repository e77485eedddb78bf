// Whether a ZoneEvacuation can be done: zones and data planes, capacity of what remains, and whether admission keeps what is written.
import { type EndpointSlice, type Node, zoneOfNode, zonesOfNodes } from '../../apis/core.ts';
import { ANNOTATION_EVACUATED, NOWHERE } from '../../apis/names.ts';
import { countBy, refOf } from '../../apis/values.ts';
import { ENDPOINT_SLICES } from '../../apis/resources.ts';
import type { ZoneEvacuation } from '../../apis/zone-evacuation.ts';
import { answerTitle } from '../../diagnosis/models/routes.ts';
import { createRouters } from '../../diagnosis/routers/routers.ts';
import type { RouterObject } from '../../diagnosis/routers/types.ts';
import { overloadOf } from '../../evacuation/capacity.ts';
import { NOT_KEPT, isAccepted, refusalOf, shortageOf } from '../../evacuation/accept.ts';
import { printMark } from '../../evacuation/slice.ts';
import type { Cache } from '../../kubernetes/cache.ts';
import { ApiError } from '../../kubernetes/errors.ts';
import type { Uses } from '../../kubernetes/types.ts';
import { inOrder, readTraffic } from './order.ts';
import type { createServices } from './services.ts';

const ADDRESSES: Readonly<Record<string, string>> = { IPv4: '192.0.2.1', IPv6: '2001:db8::1' };

/** True where there is no slice to try: then there is nothing to keep. */
const keepsEvacuated = async (
  zone: string,
  subjects: readonly EndpointSlice[],
  { client, logger }: Uses<'client' | 'logger', 'patch'>,
  signal: AbortSignal,
): Promise<boolean> => {
  const subject = subjects.find(({ addressType }) => ADDRESSES[addressType ?? ''] !== undefined);
  if (subject === undefined) return true;
  const mark = printMark({
    evacuated: new Map([[zone, 'all']]),
    alsoServe: [],
    original: { usual: 'none', except: new Map() },
  });
  const patch = {
    metadata: { annotations: { [ANNOTATION_EVACUATED]: mark } },
    endpoints: [{ addresses: [ADDRESSES[subject.addressType ?? '']], zone, conditions: {} }],
  };
  try {
    const ref = refOf(subject);
    const answer = await client.patch<EndpointSlice>(ENDPOINT_SLICES, ref, 'merge', patch, { dryRun: true }, signal);
    return answer.endpoints?.[0]?.hints?.forZones?.[0]?.name === NOWHERE;
  } catch (error) {
    if (signal.aborted || !(error instanceof ApiError)) throw error;
    logger.warn('cannot probe whether admission keeps evacuated slices', { error });
    return false;
  }
};

interface AcceptOptions
  extends Uses<'client' | 'logger'>, Pick<Parameters<typeof createServices>[0], 'requestsOf' | 'view'> {
  readonly caches: { readonly nodes: Pick<Cache<Node>, 'list'> };
  readonly routers: { objects(): readonly RouterObject[] | undefined };
  /** Key of the webhook's own Service, whose slices are written first. */
  readonly own: string;
  running(): readonly ZoneEvacuation[];
  /** Whether the Service is in its scope, by `namespace/name`. */
  isAbout(one: ZoneEvacuation, service: string): boolean;
  /** Admission is waited for from now on; returns whether that takes too long already. */
  onWait(one: ZoneEvacuation): boolean;
}

/** Data planes that leave clients without endpoints where no hint names their zone. */
const droppingRouters = ({ caches, routers: evidence }: AcceptOptions): string[] => {
  const nodes = caches.nodes.list();
  const routers = createRouters({ objects: evidence.objects() ?? [], nodes });
  const answers = nodes.map((node) => routers.of(node)).filter(({ behaviour }) => behaviour.unmatched === 'none');
  const titles = answers.map((answer) => {
    const { safeSince } = answer.behaviour;
    return `${answerTitle(answer)}${safeSince === null ? '' : ` (fixed in ${safeSince})`}`;
  });
  return [...new Set(titles)];
};

/** What is against it, of Services that it is about; nothing where the object says not to look. */
const shortage = async (one: ZoneEvacuation, options: AcceptOptions, signal: AbortSignal) => {
  const { zone, percent, rounding, force, capacityCheck } = one.spec;
  if (force || capacityCheck === 'Skip') return undefined;
  const known = await readTraffic(options, signal);
  const zones = options.caches.nodes.list().flatMap((node) => zoneOfNode(node) || []);
  const nodes = countBy(zones, (name) => name);
  const view = options.view();
  const [overloaded, together]: [{ over: number; text: string }[], string[]] = [[], []];
  for (const key of inOrder(view?.slices.list() ?? [], known, options.own)) {
    if (!options.isAbout(one, key)) continue;
    const measured = known.get(key)?.measured;
    const slices = view?.slicesOf(key) ?? [];
    const wanted = { zone, percent, rounding };
    const found = overloadOf({ slices, running: options.requestsOf(key), wanted, nodes, measured });
    if (found?.kind === 'together') together.push(key);
    if (found?.kind !== 'overloaded') continue;
    const { after, limit } = found;
    const load = measured ? `${Math.round(after * 100)} % of their capacity` : `${after.toFixed(1)} fair shares`;
    overloaded.push({ over: after / limit, text: `${key} (${load})` });
  }
  overloaded.sort((left, right) => right.over - left.over);
  return shortageOf(
    together,
    overloaded.map(({ text }) => text),
  );
};

/** Why it is not begun (yet); undefined: nothing is against it. */
export const whyNot = async (one: ZoneEvacuation, options: AcceptOptions, signal: AbortSignal) => {
  const slices = options.view()?.slices.list() ?? [];
  const others = options.running().filter((other) => other.metadata.uid !== one.metadata.uid && isAccepted(other));
  const refusal =
    refusalOf(one.spec, {
      clientZones: zonesOfNodes(options.caches.nodes.list()),
      endpointZones: slices.flatMap(({ endpoints }) => (endpoints ?? []).flatMap(({ zone }) => zone ?? [])),
      evacuatedAlready: new Set(others.filter(({ spec }) => spec.percent >= 100).map(({ spec }) => spec.zone)),
      dropping: droppingRouters(options),
    }) ?? (await shortage(one, options, signal));
  if (refusal !== undefined) return refusal;
  const late = options.onWait(one);
  const acts = await keepsEvacuated(one.spec.zone, slices, options, signal);
  return acts ? undefined : late ? NOT_KEPT.late : NOT_KEPT.yet;
};
