// What `kubectl topology evacuate ZONE` does: checks that the other zones can take over, makes the ZoneEvacuation, and shows how far it is.
import { isDeepStrictEqual } from 'node:util';
import type { Namespace } from '../../../pkg/apis/core.ts';
import { defined, nameOf, refOf } from '../../../pkg/apis/values.ts';
import type { StringMap } from '../../../pkg/apis/meta.ts';
import { parseDuration } from '../../../pkg/apis/quantity.ts';
import { LABEL_NAMESPACE_NAME } from '../../../pkg/apis/names.ts';
import { NAMESPACES, ZONE_EVACUATIONS, apiVersionOf } from '../../../pkg/apis/resources.ts';
import type { ZoneEvacuation } from '../../../pkg/apis/zone-evacuation.ts';
import { serviceKeyOfRef } from '../../../pkg/diagnosis/models/lookup.ts';
import { type Evacuation, type EvacuationCheck, checkEvacuation } from '../../../pkg/diagnosis/survival/check.ts';
import { concerns, isRunning } from '../../../pkg/evacuation/accept.ts';
import { except, isAlreadyExists, isForbidden, isNotFound } from '../../../pkg/kubernetes/errors.ts';
import { listAll } from '../../../pkg/kubernetes/request.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { acceptedText, progressText, renderLeft, renderSurvivalCheck } from '../../../pkg/report/evacuation.ts';
import { countText } from '../../../pkg/report/figures.ts';
import { type StillSeen, stillSeen, stillSeenText } from '../../../pkg/traffic/measured.ts';
import { type ExitCode, type Io, UsageError } from '../io.ts';
import { withClient, withProgress } from '../session.ts';
import type { EvacuateFlags } from './flags.ts';
import { deleteEvacuation, listEvacuations, saysNotInstalled, unlessLeft } from './follow.ts';
import { followEvacuation, measureFromNow } from './follow.ts';
import { readMeasured } from '../measured-flags.ts';
import { print, styleOf } from '../output.ts';
import { limitsOf, loadForSurvival } from '../without.ts';

/** Names of objects are lower case; names of zones need not be. */
const nameFor = (zone: string): string => zone.toLowerCase().replaceAll('_', '-');

/** Named after the zone, so that a second one of the whole zone is refused; those of a part of its Services get names of their own. */
const freshOf = (zone: string, { for: duration = '', namespace, selector }: EvacuateFlags): ZoneEvacuation => {
  const isWhole = namespace === undefined && selector === undefined;
  return {
    apiVersion: apiVersionOf(ZONE_EVACUATIONS),
    kind: ZONE_EVACUATIONS.kind,
    metadata: isWhole ? { name: nameFor(zone) } : { generateName: `${nameFor(zone)}-` },
    spec: {
      zone,
      duration,
      percent: 100,
      rounding: 'Up',
      capacityCheck: 'Skip',
      force: false,
      ...(namespace === undefined ? {} : { namespaceSelector: { matchLabels: { [LABEL_NAMESPACE_NAME]: namespace } } }),
      ...defined({ serviceSelector: selector }),
    },
  };
};

const selectsOf = ({ spec }: ZoneEvacuation): unknown[] => [spec.zone, spec.namespaceSelector, spec.serviceSelector];

const ROUNDING = { up: 'Up', down: 'Down' } as const;
const MINUTE = 60_000;

/** Time counts from now; an object that is there counts it from its creation. What the flags do not say stays. */
const withFlags = (base: ZoneEvacuation, flags: EvacuateFlags, now: number): ZoneEvacuation => {
  const { percent, force, reason, round } = flags;
  const rounding = round === undefined ? undefined : ROUNDING[round];
  const before = now - Date.parse(base.metadata.creationTimestamp ?? '');
  const after = parseDuration(flags.for ?? '');
  const isNew = Number.isNaN(before) || after === undefined;
  const duration = isNew ? flags.for : `${Math.ceil((before + after * 1_000) / MINUTE)}m`;
  // The command has checked the capacity, with what it reads beside.
  const more = { capacityCheck: 'Skip' as const, ...defined({ percent, force, reason, duration, rounding }) };
  return { ...base, spec: { ...base.spec, ...more } };
};

const listRunning = async (client: Client, { now, signal }: Io): Promise<ZoneEvacuation[] | undefined> =>
  (await listEvacuations(client, signal))?.filter((evacuation) => isRunning(evacuation, now()));

const asEvacuation = (evacuation: ZoneEvacuation, namespaces: ReadonlyMap<string, StringMap>): Evacuation => {
  const { zone, percent, rounding } = evacuation.spec;
  return {
    name: nameOf(evacuation),
    zone,
    percent,
    rounding,
    concerns(service) {
      const ref = refOf(service);
      const namespace = { [LABEL_NAMESPACE_NAME]: ref.namespace, ...namespaces.get(ref.namespace) };
      return concerns(evacuation, { key: serviceKeyOfRef(ref), labels: service.metadata?.labels, namespace });
    },
  };
};

/** Reads, and asks before anything is written; what was made already does not count against itself. */
const check = async (
  client: Client,
  wish: ZoneEvacuation,
  running: readonly ZoneEvacuation[],
  flags: EvacuateFlags,
  io: Io,
): Promise<EvacuationCheck> => {
  const { namespace } = flags;
  const [{ snapshot }, found = []] = await Promise.all([
    loadForSurvival({ ...flags, allNamespaces: namespace === undefined }, [wish.spec.zone], io),
    // Where they may not be listed only selectors of names match.
    except(listAll<Namespace>(client, NAMESPACES, {}, io.signal), isForbidden),
  ]);
  const namespaces = new Map(found.map((item) => [nameOf(item), item.metadata?.labels ?? {}]));
  const beside = running.filter(({ metadata: { uid } }) => uid !== wish.metadata.uid);
  const others = beside.map((evacuation) => asEvacuation(evacuation, namespaces));
  const measured = await readMeasured(snapshot, flags, io);
  const options = { now: io.now(), ...limitsOf(flags), ...defined({ measured, namespace }) };
  const checked = checkEvacuation(snapshot, asEvacuation(wish, namespaces), others, options);
  // A smaller share of one that runs moves endpoints back, of few endpoints all.
  const isReason = ({ reason }: (typeof checked.refusals)[number]): boolean =>
    wish.metadata.uid === undefined || reason !== 'NothingToMove';
  return { ...checked, refusals: checked.refusals.filter(isReason) };
};

const isAllowed = ({ refusals }: EvacuationCheck, force = false): boolean =>
  refusals.every(({ forcible }) => force && forcible);

/** One that is over makes room for another of its name; one that runs does not. */
const create = async (client: Client, wish: ZoneEvacuation, dryRun: boolean, io: Io): Promise<ZoneEvacuation> => {
  const send = (): Promise<ZoneEvacuation> => client.create(ZONE_EVACUATIONS, wish, { dryRun }, io.signal);
  const made = await except(send(), isAlreadyExists);
  if (made !== undefined) return made;
  const there = await client.get<ZoneEvacuation>(ZONE_EVACUATIONS, { name: nameOf(wish) }, io.signal);
  if (isRunning(there, io.now())) {
    const why = there.spec.reason === undefined ? '' : ` (${there.spec.reason})`;
    throw new UsageError(
      `${wish.spec.zone} is evacuated already${why}: see \`kubectl topology evacuations\`; --percent changes its share, with --for its time; \`kubectl topology return ${wish.spec.zone}\` ends it`,
    );
  }
  if (dryRun) return there;
  await deleteEvacuation(client, there, io.signal);
  return send();
};

const patchSpec = (client: Client, { metadata: { name = '' }, spec }: ZoneEvacuation, dryRun: boolean, io: Io) =>
  client.patch<ZoneEvacuation>(ZONE_EVACUATIONS, { name }, 'merge', { spec }, { dryRun }, io.signal);

/**
 * Another operator may have begun between the check and the creation. The command that sees the other one checks again, and withdraws if both
 * together are too much: of two at the same moment at most one goes on, and at worst neither does.
 */
const withdraws = async (
  client: Client,
  made: ZoneEvacuation,
  there: ZoneEvacuation | undefined,
  before: readonly ZoneEvacuation[],
  flags: EvacuateFlags,
  io: Io,
): Promise<boolean> => {
  const known = new Set([made, ...before].map(({ metadata }) => metadata.uid));
  const running = (await listRunning(client, io)) ?? [];
  if (running.every(({ metadata }) => known.has(metadata.uid))) return false;
  const again = await check(client, made, running, flags, io);
  if (isAllowed(again, flags.force)) return false;
  if (there === undefined) await deleteEvacuation(client, made, io.signal);
  else await patchSpec(client, there, false, io);
  const reasons = again.refusals.map(({ reason }) => reason).join(', ');
  io.err.write(
    `error: another evacuation began at the same moment, and both together are refused (${reasons}): ${there === undefined ? 'this one' : 'this change'} was withdrawn; see \`kubectl topology evacuations\` and try again\n`,
  );
  return true;
};

const DONE: ReadonlySet<unknown> = new Set(['Evacuated', 'Refused', 'Returning', 'Returned']);

/** Undefined: the person went away, and it goes on. @param generation - of the spec that is to be done */
const follow = (client: Client, name: string, generation: number, io: Io): Promise<ZoneEvacuation | undefined> =>
  withProgress(io, (show) => {
    const isLast = (evacuation: ZoneEvacuation): boolean => {
      show(progressText(evacuation));
      return (evacuation.status?.observedGeneration ?? 0) >= generation && DONE.has(evacuation.status?.phase);
    };
    return followEvacuation(client, name, isLast, io.signal);
  }).catch((error: unknown) => {
    if (!isNotFound(error)) return unlessLeft(io)(error);
    throw new UsageError(`ZoneEvacuation ${name} was deleted meanwhile: the zone returns`);
  });

const endText = ({ spec: { zone, duration } }: ZoneEvacuation): string =>
  `It ends by itself ${duration} after it began; earlier: kubectl topology return ${zone}\nIf no settings-reconciler runs then, it stays until: kubectl topology return ${zone} --direct\n`;

const partText = ({ spec: { zone, percent }, status }: ZoneEvacuation): string => {
  const { endpoints } = status ?? {};
  if (percent >= 100 || endpoints === undefined) return '';
  const serving = endpoints.total - endpoints.evacuated;
  const few = serving > 0 ? '' : '; each Service has too few there for this share: `--round down` leaves one of each';
  return `${serving} of ${countText(endpoints.total, 'endpoint')} in ${zone} get new connections${few}\n`;
};

const finalText = (evacuation: ZoneEvacuation): string => {
  if (evacuation.status?.phase === 'Refused')
    return `Refused: ${acceptedText(evacuation)}\nThe ZoneEvacuation stays and begins as soon as that is fixed; kubectl topology return ${evacuation.spec.zone} removes it.\n`;
  return `${progressText(evacuation)}\n${partText(evacuation)}${renderLeft(evacuation)}${endText(evacuation)}`;
};

/** Prints as text at once, as JSON and YAML at the end. */
const run = async (client: Client, zone: string, flags: EvacuateFlags, io: Io): Promise<ExitCode> => {
  const { output, force = false, dryRun = false } = flags;
  const running = await listRunning(client, io);
  if (running === undefined) return saysNotInstalled(io);
  const fresh = freshOf(zone, flags);
  // A share changes the evacuation of the same Services that runs; without one, it is another operator's.
  const isSame = (one: ZoneEvacuation): boolean => isDeepStrictEqual(selectsOf(one), selectsOf(fresh));
  const there = flags.percent === undefined ? undefined : running.find(isSame);
  if (there === undefined && flags.for === undefined)
    throw new UsageError('--for is required: an evacuation ends by itself after this time, such as 30m, 2h or 1d');
  const wish = withFlags(there ?? fresh, flags, io.now());
  const checked = await check(client, wish, running, flags, io);
  const isText = output === 'table' || output === 'wide';
  /** For -o json: no evacuation where it was refused before it was made, and nothing still seen where it is not measured. */
  const report = async (evacuation: ZoneEvacuation | null, seen: StillSeen | null = null): Promise<void> => {
    if (!isText) await print(io, output, { check: checked, evacuation, stillSeen: seen }, () => '');
  };
  if (isText) io.out.write(renderSurvivalCheck(checked, styleOf(io, output)));
  if (!isAllowed(checked, force)) {
    const hint = checked.refusals.every(({ forcible }) => forcible) ? '; --force proceeds anyway' : '';
    io.err.write(`error: refused, nothing was written${hint}\n`);
    await report(null);
    return 1;
  }
  const made = await (there === undefined ? create : patchSpec)(client, wish, dryRun, io);
  if (dryRun) {
    await report(made);
    if (isText) io.out.write('\nDry run: the API server accepts it; nothing was written.\n');
    return 0;
  }
  if (await withdraws(client, made, there, running, flags, io)) {
    await report(null);
    return 1;
  }
  const name = nameOf(made);
  const generation = there === undefined ? 0 : (made.metadata.generation ?? 0);
  const last = flags.wait ? await follow(client, name, generation, io) : made;
  const begun = `ZoneEvacuation ${name} was ${there === undefined ? 'made' : 'changed'}. ${endText(made)}`;
  if (last === undefined) {
    io.err.write(`not finished yet: ${begun}`);
    return 1;
  }
  const refused = last.status?.phase === 'Refused';
  const isMeasured = flags.wait && flags.measured === true && !refused;
  const seen = isMeasured ? stillSeen(await measureFromNow(flags, io), zone) : null;
  await report(last, seen);
  const found = seen === null ? '' : `${stillSeenText(seen, zone)}\n`;
  if (isText) io.out.write(`\n${flags.wait ? finalText(last) : begun}${found}`);
  return refused ? 1 : 0;
};

/** @throws UsageError where the zone is evacuated already. */
export const evacuateZone = (io: Io, zone: string, flags: EvacuateFlags): Promise<ExitCode> =>
  withClient(flags, (client) => run(client, zone, flags, io));
