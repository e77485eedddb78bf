// What the commands of evacuations share: the ZoneEvacuations of a cluster, and what they are about.
import type { Namespace } from '../../../pkg/apis/core.ts';
import { LABEL_NAMESPACE_NAME } from '../../../pkg/apis/names.ts';
import { nameOf } from '../../../pkg/apis/values.ts';
import type { StringMap } from '../../../pkg/apis/meta.ts';
import { NAMESPACES, ZONE_EVACUATIONS } from '../../../pkg/apis/resources.ts';
import type { ZoneEvacuation } from '../../../pkg/apis/zone-evacuation.ts';
import { serviceKeyOfRef, serviceRefOf } from '../../../pkg/diagnosis/models/lookup.ts';
import type { Evacuation } from '../../../pkg/diagnosis/survival/check.ts';
import { concerns, isRunning } from '../../../pkg/evacuation/accept.ts';
import { except, ifFound, isForbidden } from '../../../pkg/kubernetes/errors.ts';
import { listAll } from '../../../pkg/kubernetes/request.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import type { ExitCode, Io } from '../io.ts';

/** All there are, in name order; undefined where the cluster does not serve the kind. */
export const listEvacuations = (client: Client, signal: AbortSignal): Promise<ZoneEvacuation[] | undefined> =>
  ifFound(listAll(client, ZONE_EVACUATIONS, {}, signal));

export const listRunning = async (client: Client, { now, signal }: Io): Promise<ZoneEvacuation[] | undefined> =>
  (await listEvacuations(client, signal))?.filter((evacuation) => isRunning(evacuation, now()));

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

/** Labels of every namespace; none where they may not be listed: then only selectors of names match. */
export const namespaceLabels = async (client: Client, signal: AbortSignal): Promise<ReadonlyMap<string, StringMap>> => {
  const found = await except(listAll<Namespace>(client, NAMESPACES, {}, signal), isForbidden);
  return new Map((found ?? []).map((item) => [nameOf(item), item.metadata?.labels ?? {}]));
};

export const asEvacuation = (evacuation: ZoneEvacuation, namespaces: ReadonlyMap<string, StringMap>): Evacuation => {
  const { zone, percent, rounding } = evacuation.spec;
  return {
    name: nameOf(evacuation),
    zone,
    percent,
    rounding,
    concerns(service) {
      const ref = serviceRefOf(service);
      const namespace = { [LABEL_NAMESPACE_NAME]: ref.namespace, ...namespaces.get(ref.namespace) };
      return concerns(evacuation, { key: serviceKeyOfRef(ref), labels: service.metadata?.labels, namespace });
    },
  };
};

/** For a promise that is only waited for: undefined where the person went away, since what was begun goes on. */
export const unlessLeft =
  ({ signal }: Io) =>
  (error: unknown): undefined => {
    if (!signal.aborted) throw error;
  };
