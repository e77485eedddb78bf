// SPDX-License-Identifier: Apache-2.0
// Takes back everything that `applied` names, and the labels on namespaces: the last thing that is run before uninstalling.
import type { EndpointSlice, Namespace, Service } from '../../apis/core.ts';
import type { Etcd } from '../../apis/gardener.ts';
import type { KubernetesObject, ObjectRef } from '../../apis/meta.ts';
import { ANNOTATION_TOUCHED, LABEL_ROUTING } from '../../apis/names.ts';
import { ENDPOINT_SLICES, ETCDS, NAMESPACES, SERVICES } from '../../apis/resources.ts';
import type { Resource } from '../../apis/resources.ts';
import { isConflict, isForbidden, isNotFound } from '../../kubernetes/errors.ts';
import type { Client } from '../../kubernetes/types.ts';
import { planSettings } from '../../routing/plan.ts';
import type { SettingsTarget } from '../../routing/types.ts';
import type { Logger } from '../../telemetry/types.ts';
import { carriesApplied } from './decide-objects.ts';
import { projectEtcd, projectService } from './projections.ts';

export interface CleanupOptions {
  client: Pick<Client, 'pages' | 'get' | 'patch'>;
  logger: Logger;
}

/** Objects that were changed. */
export interface CleanupReport {
  readonly services: number;
  readonly etcds: number;
  readonly namespaces: number;
  readonly slices: number;
}

/** An owner that writes at the same moment makes a write conflict; it will not do so many times in a row. */
const TRIES = 5;

type Managed = Service | Etcd;

const refOf = ({ metadata }: KubernetesObject): ObjectRef => ({
  name: metadata?.name ?? '',
  ...(metadata?.namespace === undefined ? {} : { namespace: metadata.namespace }),
});

const takeBack = async (
  kind: SettingsTarget,
  first: Managed,
  { client, logger }: CleanupOptions,
  signal: AbortSignal,
): Promise<boolean> => {
  const resource = kind === 'Service' ? SERVICES : ETCDS;
  const ref = refOf(first);
  let object = first;
  for (let tries = 1; ; tries += 1) {
    const plan = planSettings({ target: kind, object, want: undefined });
    if (plan.kind === 'unchanged') return false;
    const metadata = plan.patch['metadata'] as Record<string, unknown> | undefined;
    const patch = { ...plan.patch, metadata: { ...metadata, resourceVersion: object.metadata?.resourceVersion } };
    try {
      await client.patch(resource, ref, 'merge', patch, {}, signal);
      logger.info('settings taken back', { kind, namespace: ref.namespace, name: ref.name });
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      if (!isConflict(error) || tries === TRIES) throw error;
      object = await client.get<Managed>(resource, ref, signal);
    }
  }
};

/** All objects of a resource that fit; none where the resource is not served or not ours to read. */
const find = async <T extends KubernetesObject>(
  resource: Resource,
  options: CleanupOptions,
  keep: (object: T) => T | undefined,
  signal: AbortSignal,
): Promise<T[]> => {
  const found: T[] = [];
  try {
    for await (const page of options.client.pages<T>(resource, {}, signal)) {
      found.push(...page.items.flatMap((item) => keep(item) ?? []));
    }
  } catch (error) {
    if (!isNotFound(error) && !(resource === ETCDS && isForbidden(error))) throw error;
  }
  return found;
};

/** Removes one label or annotation; false where the object is gone. */
const unmark = async (
  resource: Resource,
  object: KubernetesObject,
  metadata: Readonly<Record<string, Readonly<Record<string, null>>>>,
  { client, logger }: CleanupOptions,
  signal: AbortSignal,
): Promise<boolean> => {
  try {
    await client.patch(resource, refOf(object), 'merge', { metadata }, {}, signal);
    logger.info('mark taken back', { kind: resource.kind, ...refOf(object) });
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
};

const isTouched = (slice: EndpointSlice): EndpointSlice | undefined =>
  slice.metadata?.annotations?.[ANNOTATION_TOUCHED] === undefined
    ? undefined
    : { metadata: { name: slice.metadata.name ?? '', namespace: slice.metadata.namespace ?? '' } };

/** The annotation that hint repair leaves on slices. Last of all: a slice is written as its labels then say. */
const untouch = async (options: CleanupOptions, signal: AbortSignal): Promise<number> => {
  let count = 0;
  const annotations = { [ANNOTATION_TOUCHED]: null };
  for (const slice of await find<EndpointSlice>(ENDPOINT_SLICES, options, isTouched, signal)) {
    count += (await unmark(ENDPOINT_SLICES, slice, { annotations }, options, signal)) ? 1 : 0;
  }
  return count;
};

/** Whatever modes are configured: what carries our mark is found in the whole cluster. */
export const cleanUp = async (options: CleanupOptions, signal: AbortSignal): Promise<CleanupReport> => {
  const report = { services: 0, etcds: 0, namespaces: 0, slices: 0 };
  const services = await find<Service>(
    SERVICES,
    options,
    (item) => (carriesApplied(item) ? projectService(item) : undefined),
    signal,
  );
  for (const service of services) report.services += (await takeBack('Service', service, options, signal)) ? 1 : 0;
  const etcds = await find<Etcd>(
    ETCDS,
    options,
    (item) => (carriesApplied(item) ? projectEtcd(item) : undefined),
    signal,
  );
  for (const etcd of etcds) report.etcds += (await takeBack('Etcd', etcd, options, signal)) ? 1 : 0;
  // Last: while the label is there, the settings webhook still knows our user's writes.
  const isLabelled = (item: Namespace) => (item.metadata?.labels?.[LABEL_ROUTING] === undefined ? undefined : item);
  const namespaces = await find<Namespace>(NAMESPACES, options, isLabelled, signal);
  const labels = { [LABEL_ROUTING]: null };
  for (const namespace of namespaces) {
    report.namespaces += (await unmark(NAMESPACES, namespace, { labels }, options, signal)) ? 1 : 0;
  }
  report.slices = await untouch(options, signal);
  return report;
};
