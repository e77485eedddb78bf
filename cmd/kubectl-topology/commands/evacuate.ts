// SPDX-License-Identifier: Apache-2.0
// `kubectl topology evacuate ZONE`: checks that the other zones can take over, makes the ZoneEvacuation, and shows how far it is.
import { Option } from 'commander';
import type { LabelSelector } from '../../../pkg/apis/admission.ts';
import { ZONE_EVACUATIONS } from '../../../pkg/apis/resources.ts';
import type { ZoneEvacuation } from '../../../pkg/apis/zone-evacuation.ts';
import { checkEvacuation } from '../../../pkg/diagnosis/survival/check.ts';
import type { EvacuationCheck } from '../../../pkg/diagnosis/survival/check.ts';
import { isAlreadyExists } from '../../../pkg/kubernetes/errors.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { acceptedText, progressText, renderCheck, renderLeft } from '../../../pkg/report/evacuation.ts';
import { topologyCommand } from '../command.ts';
import type { ExitCode } from '../command.ts';
import { UsageError } from '../errors.ts';
import { cordonZone } from '../evacuation/cordon.ts';
import { addClusterFlags, durationFlag, selectorFlag, sharePercent } from '../evacuation/flags.ts';
import type { ClusterFlags } from '../evacuation/flags.ts';
import { followEvacuation } from '../evacuation/follow.ts';
import { asEvacuation, evacuationOf, listEvacuations, namespaceLabels, runningOf } from '../evacuation/objects.ts';
import { createProgress, saysNotInstalled, withClient } from '../evacuation/session.ts';
import { addOutputFlag } from '../flags.ts';
import type { OutputFlags } from '../flags.ts';
import { wantsColor } from '../io.ts';
import type { Io } from '../io.ts';
import { print } from '../print.ts';
import { addLimitFlags, limitsOf, loadForSurvival, refuseUnknownZone } from '../without.ts';
import type { LimitFlags } from '../without.ts';

interface Flags extends ClusterFlags, OutputFlags, LimitFlags {
  for: string;
  percent: number;
  round: 'up' | 'down';
  reason?: string;
  namespace?: string;
  selector?: LabelSelector;
  dryRun?: boolean;
  force?: boolean;
  cordon?: boolean;
  /** `--no-wait` makes it false. */
  wait: boolean;
}

/** What `-o json` prints. */
interface Report {
  readonly check: EvacuationCheck;
  /** Null where it was refused before it was made. */
  readonly evacuation: ZoneEvacuation | null;
}

const wishOf = (zone: string, flags: Flags): ZoneEvacuation =>
  evacuationOf({
    zone,
    duration: flags.for,
    percent: flags.percent,
    rounding: flags.round === 'up' ? 'Up' : 'Down',
    force: flags.force ?? false,
    reason: flags.reason,
    namespace: flags.namespace,
    selector: flags.selector,
  });

const checkFlags = ({ cordon, namespace, selector, percent }: Flags): void => {
  if (cordon !== true || (namespace === undefined && selector === undefined && percent === 100)) return;
  throw new UsageError('--cordon is about whole Nodes: leave out --namespace, --selector and --percent');
};

/** Reads, and asks before anything is written. */
const check = async (client: Client, wish: ZoneEvacuation, flags: Flags, io: Io): Promise<EvacuationCheck> => {
  const [loaded, all, namespaces] = await Promise.all([
    loadForSurvival({ ...flags, allNamespaces: flags.namespace === undefined }, io),
    listEvacuations(client, io.signal),
    namespaceLabels(client, io.signal),
  ]);
  refuseUnknownZone(loaded.snapshot, [wish.spec.zone]);
  const running = runningOf(all, io.now()).map((evacuation) => asEvacuation(evacuation, namespaces));
  const { namespace } = flags;
  return checkEvacuation(loaded.snapshot, asEvacuation(wish, namespaces), running, {
    now: io.now(),
    ...limitsOf(flags),
    ...(namespace === undefined ? {} : { namespace }),
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
    const name = wish.metadata.name ?? '';
    const there = await client.get<ZoneEvacuation>(ZONE_EVACUATIONS, { name }, io.signal);
    if (runningOf([there], io.now()).length > 0) {
      const why = there.spec.reason === undefined ? '' : ` (${there.spec.reason})`;
      throw new UsageError(
        `${wish.spec.zone} is evacuated already${why}: see \`kubectl topology evacuations\`; \`kubectl topology return ${wish.spec.zone}\` ends it`,
      );
    }
    if (dryRun) return there;
    const { uid } = there.metadata;
    await client.delete(ZONE_EVACUATIONS, { name }, uid === undefined ? {} : { preconditions: { uid } }, io.signal);
    return send();
  }
};

const DONE: ReadonlySet<unknown> = new Set(['Evacuated', 'Refused', 'Returning', 'Returned']);

/** Undefined: the person went away, and it goes on. */
const follow = async (client: Client, made: ZoneEvacuation, io: Io): Promise<ZoneEvacuation | undefined> => {
  const name = made.metadata.name ?? '';
  const progress = createProgress(io);
  try {
    const last = await followEvacuation({
      client,
      name,
      onState(evacuation) {
        progress.show(progressText(evacuation));
        return DONE.has(evacuation.status?.phase);
      },
      signal: io.signal,
    });
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
  `It ends by itself ${duration} after it began; earlier: kubectl topology return ${zone}\n`;

const finalText = (evacuation: ZoneEvacuation): string => {
  if (evacuation.status?.phase === 'Refused')
    return `Refused: ${acceptedText(evacuation)}\nThe ZoneEvacuation stays and begins as soon as that is mended; kubectl topology return ${evacuation.spec.zone} removes it.\n`;
  return `${progressText(evacuation)}\n${renderLeft(evacuation)}${endText(evacuation)}`;
};

/** Prints as text at once, as JSON and YAML at the end. */
const run = async (client: Client, zone: string, flags: Flags, io: Io): Promise<ExitCode> => {
  const wish = wishOf(zone, flags);
  const checked = await check(client, wish, flags, io);
  const text = flags.output === 'table' || flags.output === 'wide';
  const report = (evacuation: ZoneEvacuation | null): Promise<void> =>
    text ? Promise.resolve() : print(io, flags.output, { check: checked, evacuation } satisfies Report, () => '');
  if (text) {
    const style = { wide: flags.output === 'wide', color: wantsColor(io), columns: io.out.columns };
    io.out.write(renderCheck(checked, style));
  }
  if (!isAllowed(checked, flags.force)) {
    const hint = checked.refusals.every(({ forcible }) => forcible) ? '; --force goes on all the same' : '';
    io.err.write(`error: refused, nothing was written${hint}\n`);
    await report(null);
    return 1;
  }
  const made = await create(client, wish, flags.dryRun ?? false, io);
  if (flags.dryRun === true) {
    await report(made);
    if (text) io.out.write('\nDry run: the API server would take it, and nothing was written.\n');
    return 0;
  }
  if (flags.cordon === true) io.err.write(`cordoned Nodes: ${await cordonZone(client, zone, io.signal)}\n`);
  const last = flags.wait ? await follow(client, made, io) : made;
  if (last === undefined) {
    io.err.write(`still going on: ZoneEvacuation ${made.metadata.name ?? ''} was made. ${endText(made)}`);
    return 1;
  }
  await report(last);
  if (text)
    io.out.write(
      `\n${flags.wait ? finalText(last) : `ZoneEvacuation ${last.metadata.name ?? ''} was made. ${endText(last)}`}`,
    );
  return last.status?.phase === 'Refused' ? 1 : 0;
};

export const evacuate = topologyCommand<Flags>({
  name: 'evacuate',
  summary: 'Sends no new connections to the endpoints of a zone, everywhere and for a time, after a check',
  examples: [
    ['Would it work? Nothing is written', 'evacuate eu-1a --for 2h --dry-run'],
    [
      'Do it, and look on until it is done; Ctrl-C leaves it running',
      'evacuate eu-1a --for 2h --reason "incident 4711"',
    ],
    ['Although endpoints elsewhere get more than the limit', 'evacuate eu-1a --for 2h --force'],
    ['A quarter of the endpoints, of one namespace', 'evacuate eu-1a --for 30m --percent 25 --round down -n shop'],
    ['How far it is, and how it ends', 'evacuations'],
  ],
  define(command) {
    addLimitFlags(addOutputFlag(addClusterFlags(command.argument('<zone>', 'as topology.kubernetes.io/zone has it'))))
      .requiredOption(
        '--for <duration>',
        'ends by itself after this time, such as 30m, 2h or 1d; at most 7d',
        durationFlag,
      )
      .option('--percent <percent>', "share of each Service's endpoints in the zone", sharePercent, 100)
      .addOption(
        new Option('--round <up|down>', 'where that is no whole number of endpoints')
          .choices(['up', 'down'])
          .default('up'),
      )
      .option('--reason <text>', 'why; everybody who lists evacuations reads it')
      .option('-n, --namespace <namespace>', 'only Services of this namespace; default: of all, kube-system included')
      .option('-l, --selector <selector>', 'only Services with these labels', selectorFlag)
      .option('--dry-run', 'check, ask the API server, and write nothing')
      .option('--force', 'go on although endpoints would be overloaded or routers could lose connections')
      .option(
        '--cordon',
        'also mark the Nodes of the zone unschedulable, so that no new Pods start there; none is drained',
      )
      .option('--no-wait', 'end as soon as the evacuation is made');
  },
  async run(io, flags, [zone = '']) {
    checkFlags(flags);
    return withClient(flags, (client) => run(client, zone, flags, io)).catch((error: unknown) =>
      saysNotInstalled(error, io),
    );
  },
});
