// What the commands of evacuations share: the ZoneEvacuations of a cluster.
import { ZONE_EVACUATIONS } from '../../../pkg/apis/resources.ts';
import type { ZoneEvacuation } from '../../../pkg/apis/zone-evacuation.ts';
import { ifFound } from '../../../pkg/kubernetes/errors.ts';
import { listAll } from '../../../pkg/kubernetes/request.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import type { ExitCode, Io } from '../io.ts';

/** All there are, in name order; undefined where the cluster does not serve the kind. */
export const listEvacuations = (client: Client, signal: AbortSignal): Promise<ZoneEvacuation[] | undefined> =>
  ifFound(listAll(client, ZONE_EVACUATIONS, {}, signal));

/** As for `status`: nothing is installed. */
export const saysNotInstalled = ({ err }: Io): ExitCode => {
  err.write('error: the cluster serves no ZoneEvacuations: install the chart, whose settings-reconciler evacuates\n');
  return 3;
};

/** This one, and none that came under its name since. */
export const deleteEvacuation = (
  client: Client,
  { metadata: { name = '', uid } }: ZoneEvacuation,
  signal: AbortSignal,
): Promise<void> =>
  client.delete(ZONE_EVACUATIONS, { name }, uid === undefined ? {} : { preconditions: { uid } }, signal);

/** For a promise that is only waited for: undefined where the person went away, since what was begun goes on. */
export const unlessLeft =
  ({ signal }: Io) =>
  (error: unknown): undefined => {
    if (!signal.aborted) throw error;
  };
