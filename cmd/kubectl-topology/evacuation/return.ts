// What `kubectl topology return ZONE` does: ends the evacuations of a zone; with --direct without any of our components.
import { nameOf } from '../../../pkg/apis/values.ts';
import { listMarked, returnSlices } from '../../../pkg/controllers/evacuation/cleanup.ts';
import { ifFound } from '../../../pkg/kubernetes/errors.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { countText } from '../../../pkg/report/figures.ts';
import type { FlagsOf } from '../command.ts';
import { type ExitCode, type Io, UsageError } from '../io.ts';
import { withClient, withProgress } from '../session.ts';
import type { RETURN_FLAGS } from './flags.ts';
import { deleteEvacuation, followReturn, listEvacuations, unlessLeft, whyLeft } from './follow.ts';

const saysReturned = (zone: string, { out }: Io): ExitCode => {
  out.write(`${zone} has returned: no slice shows an evacuation of it.\n`);
  return 0;
};

const wait = async (client: Client, zone: string, io: Io): Promise<ExitCode> => {
  const returned = await withProgress(io, (show) =>
    followReturn(client, zone, (count) => show(`returning: ${countText(count, 'slice')} left`), io.signal),
  ).catch(unlessLeft(io));
  if (returned !== undefined) return saysReturned(zone, io);
  io.err.write('still returning: the evacuation has ended, and the slices are being restored\n');
  return 1;
};

const direct = async (client: Client, zone: string, io: Io): Promise<ExitCode> => {
  const { left, errors } = await withProgress(io, (show) => {
    const onDone = (done: number, all: number) => show(`returning directly: ${done} of ${countText(all, 'slice')}`);
    return returnSlices({ client, zone, fieldManager: 'kubectl-topology', onDone }, io.signal);
  });
  if (left === 0) return saysReturned(zone, io);
  const why = whyLeft(errors, 'the settings-reconciler');
  io.err.write(`error: ${countText(left, 'slice')} still show the evacuation: ${why}; try again\n`);
  return 1;
};

/** @throws UsageError where nothing of the zone is evacuated. */
export const runReturn = (io: Io, zone: string, flags: FlagsOf<typeof RETURN_FLAGS>): Promise<ExitCode> =>
  withClient<ExitCode>(flags, async (client) => {
    // Where the cluster does not even know the kind, slices may show an evacuation all the same.
    const own = ((await listEvacuations(client, io.signal)) ?? []).filter(({ spec }) => spec.zone === zone);
    if (own.length === 0 && flags.direct !== true) {
      const { slices } = await listMarked(client, zone, io.signal);
      if (slices.length === 0) throw new UsageError(`no evacuation of ${zone}, and no slice shows one`);
    }
    for (const evacuation of own) {
      await ifFound(deleteEvacuation(client, evacuation, io.signal));
      io.err.write(`deleted ZoneEvacuation ${nameOf(evacuation)}\n`);
    }
    if (flags.direct === true) return direct(client, zone, io);
    return flags.wait ? wait(client, zone, io) : 0;
  });
