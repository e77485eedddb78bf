// SPDX-License-Identifier: Apache-2.0
// What `kubectl topology return ZONE` does: ends the evacuations of a zone, all or in part; with --direct without any of our components.
import { nameOf } from '../../../pkg/apis/object.ts';
import { ZONE_EVACUATIONS } from '../../../pkg/apis/resources.ts';
import type { ZoneEvacuation, ZoneEvacuationSpec } from '../../../pkg/apis/zone-evacuation.ts';
import { isForbidden, isNotFound } from '../../../pkg/kubernetes/errors.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { progressText, renderLeft } from '../../../pkg/report/evacuation.ts';
import { countText } from '../../../pkg/report/figures.ts';
import type { ExitCode } from '../command.ts';
import { UsageError } from '../errors.ts';
import { uncordonZone } from './cordon.ts';
import type { ClusterFlags } from './flags.ts';
import { followEvacuation, followReturn, markedSlices, mayPass } from './follow.ts';
import { listEvacuations, NotInstalledError } from './objects.ts';
import { createProgress, withClient } from './session.ts';
import { undoSlices } from './undo.ts';
import type { Io } from '../io.ts';

export interface ReturnFlags extends ClusterFlags {
  direct?: boolean;
  percent?: number;
  /** Of what returns; default: as the evacuation rounds. */
  round?: 'up' | 'down';
  wait: boolean;
}

const slicesText = (count: number): string => countText(count, 'slice');

/** Those of the zone; none where the cluster does not even know the kind: slices may show one all the same. */
const evacuationsOf = async (client: Client, zone: string, io: Io): Promise<ZoneEvacuation[]> => {
  const all = await listEvacuations(client, io.signal).catch((error: unknown) => {
    if (!(error instanceof NotInstalledError)) throw error;
    return [];
  });
  return all.filter(({ spec }) => spec.zone === zone);
};

const remove = async (client: Client, evacuations: readonly ZoneEvacuation[], io: Io): Promise<void> => {
  for (const { metadata } of evacuations) {
    const { name = '', uid } = metadata;
    const options = uid === undefined ? {} : { preconditions: { uid } };
    await client.delete(ZONE_EVACUATIONS, { name }, options, io.signal).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
    io.err.write(`deleted ZoneEvacuation ${name}\n`);
  }
};

/** Where Nodes are not the person's to change, the zone returns all the same. */
const uncordon = async (client: Client, zone: string, io: Io): Promise<void> => {
  try {
    const count = await uncordonZone(client, zone, io.signal);
    if (count > 0) io.err.write(`uncordoned Nodes: ${count}\n`);
  } catch (error) {
    if (!isForbidden(error)) throw error;
    io.err.write(`warning: cordoned Nodes stay cordoned: ${error.message}\n`);
  }
};

const HUNDRED = 100;

/** What of the evacuation is left. @throws UsageError where more would leave than now. */
const restOf = (
  { spec }: ZoneEvacuation,
  percent: number,
  round: ReturnFlags['round'],
): Partial<ZoneEvacuationSpec> => {
  const left = HUNDRED - percent;
  if (left > spec.percent) {
    throw new UsageError(
      `only ${spec.percent} % of the endpoints are evacuated: --percent ${percent} would evacuate more of them; \`kubectl topology return ${spec.zone}\` returns all`,
    );
  }
  // What returns is rounded up where what stays evacuated is rounded down.
  return { percent: left, ...(round === undefined ? {} : { rounding: round === 'up' ? 'Down' : 'Up' }) };
};

const partText = (last: ZoneEvacuation): string => {
  const { endpoints } = last.status ?? {};
  if (endpoints === undefined) return '';
  const serving = endpoints.total - endpoints.evacuated;
  const few = serving > 0 ? '' : '; each Service has too few there for this share: `--round up` returns one of each';
  return `${serving} of ${countText(endpoints.total, 'endpoint')} in ${last.spec.zone} get new connections${few}\n`;
};

/** A part of the endpoints returns: the share that leaves becomes smaller. */
const returnPart = async (
  client: Client,
  own: readonly ZoneEvacuation[],
  percent: number,
  flags: ReturnFlags,
  io: Io,
): Promise<ExitCode> => {
  const [only] = own;
  if (only === undefined || own.length > 1) {
    throw new UsageError(`--percent needs one evacuation of the zone, and there are ${own.length}`);
  }
  const name = nameOf(only);
  const patch = { spec: restOf(only, percent, flags.round) };
  const changed = await client.patch<ZoneEvacuation>(ZONE_EVACUATIONS, { name }, 'merge', patch, {}, io.signal);
  if (!flags.wait) return 0;
  const generation = changed.metadata.generation ?? 0;
  const progress = createProgress(io);
  const last = await followEvacuation({
    client,
    name,
    onState(evacuation) {
      progress.show(progressText(evacuation));
      const { observedGeneration = 0, phase } = evacuation.status ?? {};
      return observedGeneration >= generation && (phase === 'Evacuated' || phase === 'Refused');
    },
    signal: io.signal,
  })
    .catch((error: unknown) => {
      if (!io.signal.aborted) throw error;
      return only;
    })
    .finally(() => progress.clear());
  if (io.signal.aborted) {
    io.err.write(`still returning: the settings-reconciler goes on until ${percent} % have returned\n`);
    return 1;
  }
  if (last === undefined) throw new UsageError(`ZoneEvacuation ${name} was deleted meanwhile`);
  io.out.write(`${progressText(last)}\n${partText(last)}${renderLeft(last)}`);
  return last.status?.phase === 'Evacuated' ? 0 : 1;
};

const wait = async (client: Client, zone: string, io: Io): Promise<ExitCode> => {
  const progress = createProgress(io);
  try {
    await followReturn({
      client,
      zone,
      onCount: (count) => progress.show(`returning: ${slicesText(count)} left`),
      signal: io.signal,
    });
  } catch (error) {
    if (!io.signal.aborted) throw error;
    progress.clear();
    io.err.write('still returning: the evacuation has ended, and the slices are being restored\n');
    return 1;
  } finally {
    progress.clear();
  }
  io.out.write(`${zone} has returned: no slice shows an evacuation of it.\n`);
  return 0;
};

/** More than once: slices that were made meanwhile, that a component which had not heard of the end wrote again, or that could not be written then. */
const ROUNDS = 5;

const direct = async (client: Client, zone: string, io: Io): Promise<ExitCode> => {
  const progress = createProgress(io);
  let errors: readonly Error[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const { slices } = await markedSlices(client, zone, io.signal);
    if (slices.length === 0) {
      io.out.write(`${zone} has returned: no slice shows an evacuation of it.\n`);
      return 0;
    }
    errors = await undoSlices({
      client,
      zone,
      slices,
      onDone: (count) => progress.show(`returning directly: ${count} of ${slicesText(slices.length)}`),
      signal: io.signal,
    }).finally(() => progress.clear());
    if (!(await mayPass(errors, io.signal))) break;
  }
  const { slices } = await markedSlices(client, zone, io.signal);
  const why = errors[0]?.message ?? 'another process writes them again: stop the settings-reconciler, and try again';
  io.err.write(`error: ${slicesText(slices.length)} still show the evacuation: ${why}\n`);
  return 1;
};

const run = async (client: Client, zone: string, flags: ReturnFlags, io: Io): Promise<ExitCode> => {
  const own = await evacuationsOf(client, zone, io);
  if (flags.percent !== undefined && flags.percent < HUNDRED) return returnPart(client, own, flags.percent, flags, io);
  if (own.length === 0 && flags.direct !== true) {
    const { slices } = await markedSlices(client, zone, io.signal);
    if (slices.length === 0) throw new UsageError(`no evacuation of ${zone}, and no slice shows one`);
  }
  await remove(client, own, io);
  await uncordon(client, zone, io);
  if (flags.direct === true) return direct(client, zone, io);
  return flags.wait ? wait(client, zone, io) : 0;
};

/** @throws UsageError where flags contradict each other, or nothing of the zone is evacuated. */
export const runReturn = async (io: Io, zone: string, flags: ReturnFlags): Promise<ExitCode> => {
  if (flags.direct === true && flags.percent !== undefined) {
    throw new UsageError('--direct returns everything: leave out --percent');
  }
  if (flags.round !== undefined && flags.percent === undefined) {
    throw new UsageError('--round is about a share: it needs --percent');
  }
  return withClient(flags, (client) => run(client, zone, flags, io));
};
