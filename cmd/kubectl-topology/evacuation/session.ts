// What the commands of evacuations share: a connection, one line of progress, and what it means that the kind is not there.
// ZoneEvacuations of a cluster: which there are, what a command makes, and what each is about.
import type { ClusterFlags } from './flags.ts';
import { LABEL_NAMESPACE_NAME } from '../../../pkg/apis/names.ts';
import { nameOf } from '../../../pkg/apis/values.ts';
import type { StringMap } from '../../../pkg/apis/meta.ts';
import { NAMESPACES, ZONE_EVACUATIONS } from '../../../pkg/apis/resources.ts';
import type { ZoneEvacuation } from '../../../pkg/apis/zone-evacuation.ts';
import { serviceKeyOfRef, serviceRefOf } from '../../../pkg/diagnosis/models/lookup.ts';
import type { Evacuation } from '../../../pkg/diagnosis/survival/check.ts';
import { concerns, isRunning } from '../../../pkg/evacuation/accept.ts';
import { isForbidden, isNotFound } from '../../../pkg/kubernetes/errors.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import type { ExitCode, Io } from '../io.ts';
import { connect } from '../session.ts';

/** The cluster does not serve the kind. */
export class NotInstalledError extends Error {
  override readonly name = 'NotInstalledError';
}

/** All there are, in name order. @throws NotInstalledError where the cluster has no such kind. */
export const listEvacuations = async (client: Client, signal: AbortSignal): Promise<ZoneEvacuation[]> => {
  const found: ZoneEvacuation[] = [];
  try {
    for await (const { items } of client.pages<ZoneEvacuation>(ZONE_EVACUATIONS, {}, signal)) found.push(...items);
  } catch (error) {
    if (isNotFound(error)) throw new NotInstalledError('the cluster serves no ZoneEvacuations');
    throw error;
  }
  return found;
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
  const labels = new Map<string, StringMap>();
  try {
    for await (const { items } of client.pages(NAMESPACES, {}, signal)) {
      for (const { metadata } of items) labels.set(metadata?.name ?? '', metadata?.labels ?? {});
    }
  } catch (error) {
    if (!isForbidden(error)) throw error;
  }
  return labels;
};

/** What the check looks at. */
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

export const runningOf = (all: readonly ZoneEvacuation[], now: number): ZoneEvacuation[] =>
  all.filter((evacuation) => isRunning(evacuation, now));

const NOT_INSTALLED: ExitCode = 3;

/** The kind is not served: as for `status`, nothing is installed. */
export const saysNotInstalled = (error: unknown, io: Io): ExitCode => {
  if (!(error instanceof NotInstalledError)) throw error;
  io.err.write(`error: ${error.message}: install the chart, whose settings-reconciler evacuates\n`);
  return NOT_INSTALLED;
};

/** Connects, and closes in the end. */
export const withClient = async <T>(flags: ClusterFlags, use: (client: Client) => Promise<T>): Promise<T> => {
  const { client } = await connect(flags);
  try {
    return await use(client);
  } finally {
    await client.close();
  }
};

/** One line that is replaced on a terminal; elsewhere a line for each change. */
export const createProgress = ({ err }: Io): { show(text: string): void; clear(): void } => {
  let shown = '';
  return {
    show(text) {
      if (text === shown) return;
      shown = text;
      if (err.terminal) err.control('clear line');
      err.write(err.terminal ? text : `${text}\n`);
    },
    clear() {
      if (err.terminal && shown !== '') err.control('clear line');
    },
  };
};
