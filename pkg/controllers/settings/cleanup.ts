// Reverts everything that `applied` names, and the labels on namespaces: the last thing that is run before uninstalling.
import type { EndpointSlice, Namespace, Service } from '../../apis/core.ts';
import type { Extension, ExtensionClass } from '../../apis/gardener.ts';
import type { KubernetesObject, ObjectRef } from '../../apis/meta.ts';
import { ANNOTATION_TOUCHED, EXTENSION_FINALIZER, LABEL_ETCD_CLIENTS, LABEL_ROUTING } from '../../apis/names.ts';
import { type Fields, keyOf, nameOf, refOf, scopedRefOf } from '../../apis/values.ts';
import { ENDPOINT_SLICES, EXTENSIONS, NAMESPACES, type Resource, SERVICES } from '../../apis/resources.ts';
import { isResponsible } from '../../gardener/extension/select.ts';
import { hasFinalizer } from '../../gardener/extension/status.ts';
import { except, ifFound, isConflict, isForbidden, isNotFound } from '../../kubernetes/errors.ts';
import { listKept, lockedPatch } from '../../kubernetes/request.ts';
import { sleep } from '../../kubernetes/wait.ts';
import type { Client, Uses } from '../../kubernetes/types.ts';
import { isEtcdClient, isMadeByDruid } from '../../routing/etcd-clients.ts';
import { planSettings } from '../../routing/plan.ts';
import { createHintRelease, isLeftOver } from '../hint-repair/etcd-clients.ts';
import { carriesApplied } from './decide/objects.ts';
import { projectService, projectSlice } from './caches.ts';

export interface CleanupOptions extends Uses<'client' | 'clock' | 'logger', 'pages' | 'get' | 'patch'> {
  /** Namespaces in which nothing is reverted, since another installation looks after them. Default: none. */
  leaves?: (namespace: Namespace) => boolean;
}

/** An owner that writes at the same moment makes a write conflict; it will not do so many times in a row. */
const TRIES = 5;

/** Patches an object, read anew after each conflict; false where it is gone, or `patchOf` finds nothing to do. */
export const patchAnew = async <T extends KubernetesObject>(
  client: Pick<Client, 'get' | 'patch'>,
  resource: Resource,
  first: T,
  patchOf: (object: T) => Fields | undefined,
  signal: AbortSignal,
): Promise<boolean> => {
  const ref = scopedRefOf(first);
  let object = first;
  for (let tries = 1; ; tries += 1) {
    const patch = patchOf(object);
    if (patch === undefined) return false;
    try {
      await client.patch(resource, ref, 'merge', lockedPatch(patch, object), {}, signal);
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      if (!isConflict(error) || tries === TRIES) throw error;
      object = await client.get<T>(resource, ref, signal);
    }
  }
};

const revertService = async (
  service: Service,
  { client, logger }: CleanupOptions,
  signal: AbortSignal,
): Promise<boolean> => {
  const patchOf = (object: Service) => {
    const plan = planSettings({ object, want: undefined });
    return plan.kind === 'unchanged' ? undefined : plan.patch;
  };
  const reverted = await patchAnew(client, SERVICES, service, patchOf, signal);
  if (reverted) logger.info('settings removed', { ...refOf(service) });
  return reverted;
};

/**
 * Removes our finalizer from Extensions of these classes: no controller would be left to release them. Of other classes another
 * installation takes care. None where Extensions are not served or may not be read.
 */
export const releaseExtensions = async (
  options: Omit<CleanupOptions, 'clock' | 'leaves'> & { readonly classes: readonly ExtensionClass[] },
  signal: AbortSignal,
): Promise<number> => {
  const { client, classes, logger } = options;
  const keep = (item: Extension) => (isResponsible(item, classes) && hasFinalizer(item) ? item : undefined);
  const ours = (await except(listKept(client, EXTENSIONS, keep, signal), isForbidden)) ?? [];
  const patchOf = (extension: Extension) =>
    hasFinalizer(extension)
      ? { metadata: { finalizers: extension.metadata?.finalizers?.filter((name) => name !== EXTENSION_FINALIZER) } }
      : undefined;
  let count = 0;
  for (const extension of ours) {
    if (!(await patchAnew(client, EXTENSIONS, extension, patchOf, signal))) continue;
    logger.info('finalizer removed', { extension: keyOf(extension) });
    count += 1;
  }
  return count;
};

/** Removes one label or annotation; false where the object is gone. */
const unmark = async (
  resource: Resource,
  object: KubernetesObject,
  metadata: Readonly<Record<string, Readonly<Record<string, null>>>>,
  { client, logger }: CleanupOptions,
  signal: AbortSignal,
): Promise<boolean> => {
  const ref = scopedRefOf(object);
  const written = await ifFound(client.patch(resource, ref, 'merge', { metadata }, {}, signal));
  if (written !== undefined) logger.info('label or annotation removed', { kind: resource.kind, ...ref });
  return written !== undefined;
};

const isTouched = (slice: EndpointSlice): EndpointSlice | undefined =>
  slice.metadata?.annotations?.[ANNOTATION_TOUCHED] === undefined ? undefined : { metadata: refOf(slice) };

/** Splits what carries a mark into what is reverted and the namespaces that are left. */
const createBoundary = async ({ leaves, client }: CleanupOptions, signal: AbortSignal) => {
  const isOthers = (item: Namespace): Namespace | undefined => (leaves?.(item) === true ? item : undefined);
  const others = leaves === undefined ? [] : await listKept<Namespace>(client, NAMESPACES, isOthers, signal);
  const names = new Set(others.map(nameOf));
  const left = new Set<string>();
  /** Of a namespace itself, or of what is in one. */
  const isWithin = (item: KubernetesObject): boolean => {
    const name = item.metadata?.namespace ?? nameOf(item);
    if (names.has(name)) left.add(name);
    return !names.has(name);
  };
  return { left, within: <T extends KubernetesObject>(items: readonly T[]): T[] => items.filter(isWithin) };
};

/** Hints of Etcds' client Services, which nothing asks for once the namespaces' label is gone. */
const removeHints = async (
  services: readonly Service[],
  options: CleanupOptions,
  signal: AbortSignal,
): Promise<void> => {
  const { client, clock, logger } = options;
  const known = new Map(services.filter(isEtcdClient).map((item) => [keyOf(item), item]));
  const view = {
    namespaces: { get: () => undefined },
    services: { get: ({ namespace = '', name }: ObjectRef) => known.get(`${namespace}/${name}`) },
  };
  for (let tries = 1; ; tries += 1) {
    const keep = (slice: EndpointSlice): EndpointSlice | undefined =>
      isLeftOver(slice, view) ? projectSlice(slice) : undefined;
    const slices = await listKept<EndpointSlice>(client, ENDPOINT_SLICES, keep, signal);
    const release = createHintRelease({ client, slices: () => slices, view, logger });
    const result = await release.reconcile('', signal);
    if (result.kind !== 'requeue' || tries === TRIES) return;
    await sleep(clock, result.afterMs, signal);
  }
};

/**
 * What carries our mark is found in the whole cluster, whatever modes are configured, but for `leaves`. Counts what was changed;
 * `leftToDruid`: Services of etcd-druid's that keep our settings until its next write, since no other writer may write them; `left`:
 * marked namespaces in which nothing was reverted.
 */
export const cleanUpSettings = async (options: CleanupOptions, signal: AbortSignal) => {
  const { client } = options;
  const report = { services: 0, namespaces: 0, slices: 0 };
  const { left, within } = await createBoundary(options, signal);
  const isInteresting = (item: Service): Service | undefined =>
    carriesApplied(item) || isEtcdClient(item) ? projectService(item) : undefined;
  const services = within(await listKept<Service>(client, SERVICES, isInteresting, signal));
  for (const service of services.filter((item) => !isMadeByDruid(item)))
    if (await revertService(service, options, signal)) report.services += 1;
  // Last: while the label is there, the settings webhook still knows our user's writes.
  const labels = { [LABEL_ROUTING]: null, [LABEL_ETCD_CLIENTS]: null };
  const isLabelled = (item: Namespace) =>
    Object.keys(labels).some((key) => item.metadata?.labels?.[key] !== undefined) ? item : undefined;
  for (const namespace of within(await listKept<Namespace>(client, NAMESPACES, isLabelled, signal)))
    if (await unmark(NAMESPACES, namespace, { labels }, options, signal)) report.namespaces += 1;
  // Last of all: a slice is written as its labels then say.
  const annotations = { [ANNOTATION_TOUCHED]: null };
  for (const slice of within(await listKept<EndpointSlice>(client, ENDPOINT_SLICES, isTouched, signal)))
    if (await unmark(ENDPOINT_SLICES, slice, { annotations }, options, signal)) report.slices += 1;
  await removeHints(services, options, signal);
  const leftToDruid = services.filter((item) => isMadeByDruid(item) && carriesApplied(item)).map(keyOf);
  return { ...report, leftToDruid: leftToDruid.sort(), left: [...left].sort() };
};
