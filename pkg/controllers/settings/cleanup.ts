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
  /** Namespaces in which nothing is taken back, since another installation looks after them. Default: none. */
  leaves?: (namespace: Namespace) => boolean;
  logger: Logger;
}

/** Objects that were changed. */
export interface CleanupReport {
  readonly services: number;
  readonly etcds: number;
  readonly namespaces: number;
  readonly slices: number;
  /** Namespaces with a mark of ours in which nothing was taken back. */
  readonly left: readonly string[];
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

/** Splits what carries a mark of ours into what is taken back and the namespaces that are left. */
const createBoundary = async ({ leaves, ...options }: CleanupOptions, signal: AbortSignal) => {
  const isOthers = (item: Namespace): Namespace | undefined => (leaves?.(item) === true ? item : undefined);
  const others = leaves === undefined ? [] : await find<Namespace>(NAMESPACES, options, isOthers, signal);
  const names = new Set(others.map(({ metadata }) => metadata?.name ?? ''));
  const left = new Set<string>();
  return {
    left,
    /** Of a namespace itself, or of what is in one. */
    within<T extends KubernetesObject>(items: readonly T[]): T[] {
      const nameOf = ({ metadata }: T): string => metadata?.namespace ?? metadata?.name ?? '';
      for (const item of items) if (names.has(nameOf(item))) left.add(nameOf(item));
      return items.filter((item) => !names.has(nameOf(item)));
    },
  };
};

/** What carries our mark is found in the whole cluster, whatever modes are configured, but for `leaves`. */
export const cleanUp = async (options: CleanupOptions, signal: AbortSignal): Promise<CleanupReport> => {
  const report = { services: 0, etcds: 0, namespaces: 0, slices: 0 };
  const { left, within } = await createBoundary(options, signal);
  const applied =
    <T extends Managed>(project: (item: T) => T) =>
    (item: T): T | undefined =>
      carriesApplied(item) ? project(item) : undefined;
  const services = await find<Service>(SERVICES, options, applied(projectService), signal);
  for (const service of within(services))
    report.services += (await takeBack('Service', service, options, signal)) ? 1 : 0;
  const etcds = await find<Etcd>(ETCDS, options, applied(projectEtcd), signal);
  for (const etcd of within(etcds)) report.etcds += (await takeBack('Etcd', etcd, options, signal)) ? 1 : 0;
  // Last: while the label is there, the settings webhook still knows our user's writes.
  const isLabelled = (item: Namespace) => (item.metadata?.labels?.[LABEL_ROUTING] === undefined ? undefined : item);
  const labels = { [LABEL_ROUTING]: null };
  for (const namespace of within(await find<Namespace>(NAMESPACES, options, isLabelled, signal))) {
    report.namespaces += (await unmark(NAMESPACES, namespace, { labels }, options, signal)) ? 1 : 0;
  }
  // Last of all: a slice is written as its labels then say.
  const annotations = { [ANNOTATION_TOUCHED]: null };
  for (const slice of within(await find<EndpointSlice>(ENDPOINT_SLICES, options, isTouched, signal))) {
    report.slices += (await unmark(ENDPOINT_SLICES, slice, { annotations }, options, signal)) ? 1 : 0;
  }
  return { ...report, left: [...left].sort() };
};
