// SPDX-License-Identifier: Apache-2.0
// Reads from files what a status is judged by: a bundle, or what `kubectl get -o yaml` printed.
import { defined } from '../../../pkg/apis/defined.ts';
import type { CollectionName } from '../../../pkg/diagnosis/snapshot.ts';
import { createStatusCollector } from '../../../pkg/diagnosis/status/collect.ts';
import type { Observations, StatusEvidence, StatusObjects, Unseen } from '../../../pkg/diagnosis/status/evidence.ts';
import { authoritiesOf } from '../input/certificates.ts';
import { versionIn } from '../input/cluster-version.ts';
import { missingIn, noObjects, readObjects } from '../input/files.ts';
import type { FileInput } from '../input/files.ts';
import { isObservations } from '../input/kinds.ts';
import { readObservations } from './observations.ts';
import { parseQuietly } from './parse.ts';

export interface FromFilesOptions extends FileInput {
  readonly paths: readonly string[];
  readonly namespace?: string | undefined;
  /** Milliseconds since the epoch, for files without a time. */
  readonly now: number;
}

/** Parts that are judged by what is missing in them, and so must not be taken for empty. */
const TELLING = ['pods', 'leases'] as const;
const COLLECTIONS: readonly CollectionName[] = ['webhooks', 'policies', 'flowPolicies'];

const NONE = 'the files hold none';

const unseenIn = (objects: StatusObjects, missing: ReadonlyMap<string, string>): Unseen[] => [
  ...TELLING.filter((part) => objects[part].length === 0).map((what) => ({ what, why: NONE })),
  ...COLLECTIONS.flatMap((what) => (missing.has(what) ? [{ what, why: NONE }] : [])),
];

/** The latest time in the objects: they were exported soon after. */
const momentOf = ({ leases, events }: StatusObjects, fallback: number): number => {
  const times = [
    ...leases.flatMap(({ renewedAt }) => renewedAt ?? []),
    ...events.map(({ lastSeen }) => Date.parse(lastSeen)).filter((time) => !Number.isNaN(time)),
  ];
  return times.length === 0 ? fallback : Math.max(...times);
};

const within = (objects: StatusObjects, namespace: string | undefined): StatusObjects =>
  namespace === undefined
    ? objects
    : { ...objects, deployments: objects.deployments.filter((each) => each.namespace === namespace) };

/** @throws InputError for a file that cannot be read or used, UsageError where there is no object at all. */
export const statusFromFiles = async (options: FromFilesOptions): Promise<StatusEvidence> => {
  const { paths, namespace, now, ...input } = options;
  const collector = createStatusCollector(parseQuietly);
  let observed: Observations | undefined;
  await readObjects(paths, input, (object) => {
    if (isObservations(object)) observed = readObservations(object);
    collector.add(object);
  });
  if (collector.count === 0) throw noObjects(paths);
  const given = observed;
  const missing =
    given === undefined
      ? missingIn(collector.seen)
      : new Map(given.unseen.map(({ what, why }) => [what as CollectionName, why]));
  const objects = within(collector.objects(missing, versionIn(given?.serverVersion)), namespace);
  const facts: Observations = given ?? {
    now: momentOf(objects, now),
    serving: [],
    probes: [],
    unseen: unseenIn(objects, missing),
  };
  return {
    ...objects,
    ...facts,
    ...defined({ namespace }),
    authorities: authoritiesOf(objects.registrations),
  };
};
