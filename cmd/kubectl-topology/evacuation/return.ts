// What `kubectl topology return ZONE` does: ends the evacuations of a zone; with --direct without any of our components.
import { errorText, nameOf } from '../../../pkg/apis/values.ts';
import type { ZoneEvacuation } from '../../../pkg/apis/zone-evacuation.ts';
import { listMarked, returnSlices } from '../../../pkg/controllers/evacuation/cleanup.ts';
import { isNotFound } from '../../../pkg/kubernetes/errors.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { countText } from '../../../pkg/report/text.ts';
import { type ExitCode, type Io, UsageError } from '../io.ts';
import { NotInstalledError, createProgress, deleteEvacuation, listEvacuations, withClient } from './session.ts';
import type { ClusterFlags } from './flags.ts';
import { followReturn } from './follow.ts';

export interface ReturnFlags extends ClusterFlags {
  direct?: boolean;
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
  for (const evacuation of evacuations) {
    await deleteEvacuation(client, evacuation, io.signal).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
    io.err.write(`deleted ZoneEvacuation ${nameOf(evacuation)}\n`);
  }
};

const wait = async (client: Client, zone: string, io: Io): Promise<ExitCode> => {
  const progress = createProgress(io);
  try {
    const onCount = (count: number): void => progress.show(`returning: ${slicesText(count)} left`);
    await followReturn(client, zone, onCount, io.signal);
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

const direct = async (client: Client, zone: string, io: Io): Promise<ExitCode> => {
  const progress = createProgress(io);
  const onDone = (done: number, all: number): void =>
    progress.show(`returning directly: ${done} of ${slicesText(all)}`);
  const { left, errors } = await returnSlices(
    { client, zone, fieldManager: 'kubectl-topology', onDone },
    io.signal,
  ).finally(() => progress.clear());
  if (left === 0) {
    io.out.write(`${zone} has returned: no slice shows an evacuation of it.\n`);
    return 0;
  }
  const why =
    errors.length === 0
      ? 'another process writes them again: stop the settings-reconciler, and try again'
      : errorText(errors[0]);
  io.err.write(`error: ${slicesText(left)} still show the evacuation: ${why}\n`);
  return 1;
};

const run = async (client: Client, zone: string, flags: ReturnFlags, io: Io): Promise<ExitCode> => {
  const own = await evacuationsOf(client, zone, io);
  if (own.length === 0 && flags.direct !== true) {
    const { slices } = await listMarked(client, zone, io.signal);
    if (slices.length === 0) throw new UsageError(`no evacuation of ${zone}, and no slice shows one`);
  }
  await remove(client, own, io);
  if (flags.direct === true) return direct(client, zone, io);
  return flags.wait ? wait(client, zone, io) : 0;
};

/** @throws UsageError where nothing of the zone is evacuated. */
export const runReturn = async (io: Io, zone: string, flags: ReturnFlags): Promise<ExitCode> =>
  withClient(flags, (client) => run(client, zone, flags, io));
