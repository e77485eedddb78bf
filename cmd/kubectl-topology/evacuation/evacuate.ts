// What `kubectl topology evacuate ZONE` does: checks that the other zones can take over, makes the ZoneEvacuation, and shows how far it is.
import { isDeepStrictEqual } from 'node:util';
import type { LabelSelector } from '../../../pkg/apis/admission.ts';
import { defined, nameOf } from '../../../pkg/apis/values.ts';
import { parseDuration } from '../../../pkg/apis/quantity.ts';
import { LABEL_NAMESPACE_NAME } from '../../../pkg/apis/names.ts';
import { ZONE_EVACUATIONS, apiVersionOf } from '../../../pkg/apis/resources.ts';
import type { ZoneEvacuation } from '../../../pkg/apis/zone-evacuation.ts';
import { type EvacuationCheck, checkEvacuation } from '../../../pkg/diagnosis/survival/check.ts';
import { isAlreadyExists } from '../../../pkg/kubernetes/errors.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { acceptedText, progressText, renderLeft, renderSurvivalCheck } from '../../../pkg/report/evacuation.ts';
import { countText } from '../../../pkg/report/text.ts';
import { type ExitCode, type Io, UsageError, wantsColor } from '../io.ts';
import {
  asEvacuation,
  createProgress,
  deleteEvacuation,
  listEvacuations,
  namespaceLabels,
  runningOf,
  saysNotInstalled,
  withClient,
} from './session.ts';
import type { ClusterFlags } from './flags.ts';
import { followEvacuation, measureFromNow } from './follow.ts';
import { type StillSeen, stillSeen, stillSeenText } from '../../../pkg/traffic/measured.ts';
import { type MeasuredFlags, readMeasured } from '../measured-flags.ts';
import type { OutputFlags } from '../flags.ts';
import { print } from '../output.ts';
import { type LimitFlags, limitsOf, loadForSurvival, refuseUnknownZone } from '../without.ts';

export interface EvacuateFlags extends ClusterFlags, OutputFlags, LimitFlags, MeasuredFlags {
  for?: string;
  percent?: number;
  round?: 'up' | 'down';
  reason?: string;
  namespace?: string;
  selector?: LabelSelector;
  dryRun?: boolean;
  force?: boolean;
  /** `--no-wait` makes it false. */
  wait: boolean;
}

const selectsOf = ({ spec: { zone, namespaceSelector, serviceSelector } }: ZoneEvacuation): unknown[] => [
  zone,
  namespaceSelector,
  serviceSelector,
];

/** A share changes the evacuation of the same Services that runs; without one, it is another operator's. */
const changes = async (client: Client, wish: ZoneEvacuation, flags: EvacuateFlags, io: Io) => {
  if (flags.percent === undefined) return undefined;
  const running = runningOf(await listEvacuations(client, io.signal), io.now());
  return running.find((one) => isDeepStrictEqual(selectsOf(one), selectsOf(wish)));
};

const ROUNDING = { up: 'Up', down: 'Down' } as const;

const roundingOf = ({ round }: EvacuateFlags) => (round === undefined ? undefined : ROUNDING[round]);

/** Names of objects are lower case; names of zones need not be. */
const nameFor = (zone: string): string => zone.toLowerCase().replaceAll('_', '-');

/** Named after the zone, so that a second one of the whole zone is refused; those of a part of its Services get names of their own. */
const wishOf = (zone: string, flags: EvacuateFlags): ZoneEvacuation => {
  const { for: duration = '', percent = 100, force = false, reason, namespace, selector } = flags;
  const isWhole = namespace === undefined && selector === undefined;
  return {
    apiVersion: apiVersionOf(ZONE_EVACUATIONS),
    kind: ZONE_EVACUATIONS.kind,
    metadata: isWhole ? { name: nameFor(zone) } : { generateName: `${nameFor(zone)}-` },
    spec: {
      zone,
      duration,
      percent,
      rounding: roundingOf(flags) ?? 'Up',
      // The command has checked it, with what it reads beside.
      capacityCheck: 'Skip',
      force,
      ...defined({ reason }),
      ...(namespace === undefined ? {} : { namespaceSelector: { matchLabels: { [LABEL_NAMESPACE_NAME]: namespace } } }),
      ...defined({ serviceSelector: selector }),
    },
  };
};

const MINUTE = 60_000;

/** Time counts from now, as for a new one; the object counts it from its creation. What is not said stays. */
const changed = (there: ZoneEvacuation, flags: EvacuateFlags, now: number): ZoneEvacuation => {
  const { percent, force, reason } = flags;
  const before = now - Date.parse(there.metadata.creationTimestamp ?? '');
  const after = parseDuration(flags.for ?? '');
  const duration = after === undefined ? undefined : `${Math.ceil((before + after * 1_000) / MINUTE)}m`;
  const more = defined({ percent, force, reason, duration, rounding: roundingOf(flags) });
  // The command has checked it, with what it reads beside.
  return { ...there, spec: { ...there.spec, capacityCheck: 'Skip', ...more } };
};

/** Reads, and asks before anything is written; `made` is what was, and does not count against itself. */
const check = async (
  client: Client,
  wish: ZoneEvacuation,
  flags: EvacuateFlags,
  io: Io,
  made?: ZoneEvacuation,
): Promise<EvacuationCheck> => {
  const [loaded, all, namespaces] = await Promise.all([
    loadForSurvival({ ...flags, allNamespaces: flags.namespace === undefined }, io),
    listEvacuations(client, io.signal),
    namespaceLabels(client, io.signal),
  ]);
  refuseUnknownZone(loaded.snapshot, [wish.spec.zone]);
  const running = runningOf(all, io.now())
    .filter(({ metadata: { uid } }) => uid !== made?.metadata.uid || made === undefined)
    .map((evacuation) => asEvacuation(evacuation, namespaces));
  const { namespace } = flags;
  const measured = await readMeasured(loaded.snapshot, flags, io);
  return checkEvacuation(loaded.snapshot, asEvacuation(wish, namespaces), running, {
    now: io.now(),
    ...limitsOf(flags),
    ...defined({ measured, namespace }),
  });
};

const isAllowed = ({ refusals }: EvacuationCheck, force = false): boolean =>
  refusals.every(({ forcible }) => force && forcible);

/** One that is over makes room for another of its name; one that runs does not. */
const create = async (client: Client, wish: ZoneEvacuation, dryRun: boolean, io: Io): Promise<ZoneEvacuation> => {
  const send = (): Promise<ZoneEvacuation> => client.create(ZONE_EVACUATIONS, wish, { dryRun }, io.signal);
  try {
    return await send();
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    const there = await client.get<ZoneEvacuation>(ZONE_EVACUATIONS, { name: nameOf(wish) }, io.signal);
    if (runningOf([there], io.now()).length > 0) {
      const why = there.spec.reason === undefined ? '' : ` (${there.spec.reason})`;
      throw new UsageError(
        `${wish.spec.zone} is evacuated already${why}: see \`kubectl topology evacuations\`; --percent changes its share, with --for its time; \`kubectl topology return ${wish.spec.zone}\` ends it`,
      );
    }
    if (dryRun) return there;
    await deleteEvacuation(client, there, io.signal);
    return send();
  }
};

const runningUids = async (client: Client, io: Io): Promise<Set<string | undefined>> =>
  new Set(runningOf(await listEvacuations(client, io.signal), io.now()).map(({ metadata: { uid } }) => uid));

/**
 * Another operator may have begun between the check and the creation. The command that sees the other one checks again, and withdraws if both
 * together are too much: of two at the same moment at most one goes on, and at worst neither does.
 */
const withdraws = async (
  client: Client,
  made: ZoneEvacuation,
  there: ZoneEvacuation | undefined,
  before: ReadonlySet<string | undefined>,
  flags: EvacuateFlags,
  io: Io,
): Promise<boolean> => {
  const { name = '', uid } = made.metadata;
  const others = [...(await runningUids(client, io))].filter((other) => other !== uid && !before.has(other));
  if (others.length === 0) return false;
  const again = await check(client, made, flags, io, made);
  if (isAllowed(again, flags.force)) return false;
  if (there === undefined) await deleteEvacuation(client, made, io.signal);
  else await client.patch(ZONE_EVACUATIONS, { name }, 'merge', { spec: there.spec }, {}, io.signal);
  const reasons = again.refusals.map(({ reason }) => reason).join(', ');
  io.err.write(
    `error: another evacuation began at the same moment, and both together are refused (${reasons}): ${there === undefined ? 'this one' : 'this change'} was withdrawn; see \`kubectl topology evacuations\` and try again\n`,
  );
  return true;
};

const DONE: ReadonlySet<unknown> = new Set(['Evacuated', 'Refused', 'Returning', 'Returned']);

/** Undefined: the person went away, and it goes on. @param generation - of the spec that is to be done */
const follow = async (
  client: Client,
  made: ZoneEvacuation,
  generation: number,
  io: Io,
): Promise<ZoneEvacuation | undefined> => {
  const name = nameOf(made);
  const progress = createProgress(io);
  try {
    const isLast = (evacuation: ZoneEvacuation): boolean => {
      progress.show(progressText(evacuation));
      return (evacuation.status?.observedGeneration ?? 0) >= generation && DONE.has(evacuation.status?.phase);
    };
    const last = await followEvacuation(client, name, isLast, io.signal);
    if (last === undefined) throw new UsageError(`ZoneEvacuation ${name} was deleted meanwhile: the zone returns`);
    return last;
  } catch (error) {
    if (!io.signal.aborted) throw error;
    return undefined;
  } finally {
    progress.clear();
  }
};

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
  const fresh = wishOf(zone, flags);
  const there = await changes(client, fresh, flags, io);
  if (there === undefined && flags.for === undefined)
    throw new UsageError('--for is required: an evacuation ends by itself after this time, such as 30m, 2h or 1d');
  const wish = there === undefined ? fresh : changed(there, flags, io.now());
  const before = await runningUids(client, io);
  const checked = await check(client, wish, flags, io, there);
  const text = flags.output === 'table' || flags.output === 'wide';
  /** For -o json: no evacuation where it was refused before it was made, and nothing still seen where it is not measured. */
  const report = (evacuation: ZoneEvacuation | null, seen: StillSeen | null = null): Promise<void> =>
    text ? Promise.resolve() : print(io, flags.output, { check: checked, evacuation, stillSeen: seen }, () => '');
  if (text) {
    const style = { wide: flags.output === 'wide', color: wantsColor(io), columns: io.out.columns };
    io.out.write(renderSurvivalCheck(checked, style));
  }
  if (!isAllowed(checked, flags.force)) {
    const hint = checked.refusals.every(({ forcible }) => forcible) ? '; --force proceeds anyway' : '';
    io.err.write(`error: refused, nothing was written${hint}\n`);
    await report(null);
    return 1;
  }
  const dryRun = flags.dryRun ?? false;
  const made =
    there === undefined
      ? await create(client, wish, dryRun, io)
      : await client.patch<ZoneEvacuation>(
          ZONE_EVACUATIONS,
          { name: nameOf(there) },
          'merge',
          { spec: wish.spec },
          { dryRun },
          io.signal,
        );
  const verb = there === undefined ? 'made' : 'changed';
  const generation = there === undefined ? 0 : (made.metadata.generation ?? 0);
  if (dryRun) {
    await report(made);
    if (text) io.out.write('\nDry run: the API server accepts it; nothing was written.\n');
    return 0;
  }
  if (await withdraws(client, made, there, before, flags, io)) {
    await report(null);
    return 1;
  }
  const last = flags.wait ? await follow(client, made, generation, io) : made;
  if (last === undefined) {
    io.err.write(`not finished yet: ZoneEvacuation ${nameOf(made)} was ${verb}. ${endText(made)}`);
    return 1;
  }
  const refused = last.status?.phase === 'Refused';
  const isMeasured = flags.wait && flags.measured === true && !refused;
  const seen = isMeasured ? stillSeen(await measureFromNow(flags, io), zone) : null;
  await report(last, seen);
  if (text) {
    const begun = `ZoneEvacuation ${nameOf(last)} was ${verb}. ${endText(last)}`;
    const found = seen === null ? '' : `${stillSeenText(seen, zone)}\n`;
    io.out.write(`\n${flags.wait ? finalText(last) : begun}${found}`);
  }
  return refused ? 1 : 0;
};

/** @throws UsageError where the zone is evacuated already. */
export const evacuateZone = (io: Io, zone: string, flags: EvacuateFlags): Promise<ExitCode> =>
  withClient(flags, (client) => run(client, zone, flags, io)).catch((error: unknown) => saysNotInstalled(error, io));
