// Reverts what the flow controller wrote in the whole cluster: hints with our mark, labels, and FlowPolicies without a spec.
import type { LabelSelector } from '../../apis/admission.ts';
import type { EndpointSlice, Namespace, Service } from '../../apis/core.ts';
import type { FlowPolicy } from '../../apis/flow-policy.ts';
import type { KubernetesObject } from '../../apis/meta.ts';
import { ANNOTATION_APPLIED, ANNOTATION_PLAN } from '../../apis/names.ts';
import { refOf } from '../../apis/values.ts';
import { ENDPOINT_SLICES, FLOW_POLICIES, NAMESPACES, type Resource, SERVICES } from '../../apis/resources.ts';
import { revertPatch } from '../../flow/assemble/turn.ts';
import { createSliceProjection } from '../../flow/assemble/slice.ts';
import { isNotFound, isStalePatch } from '../../kubernetes/errors.ts';
import type { Client } from '../../kubernetes/types.ts';
import { matchesSelector } from '../../routing/types.ts';
import type { Logger } from '../../telemetry/log.ts';
import { isOwnPolicy, patchService, revertLabel } from './write.ts';

export interface CleanupOptions {
  client: Pick<Client, 'pages' | 'get' | 'patch' | 'delete'>;
  /** Whether the objects of a namespace are this controller's to clean up: another one may serve the others. */
  serves(namespace: string): boolean;
  logger: Logger;
}

/** Objects that were changed. */
export interface CleanupReport {
  readonly slices: number;
  readonly services: number;
  readonly policies: number;
}

/** A concurrent writer causes a write conflict; that does not happen many times in a row. */
const TRIES = 5;

/** All objects of a resource that fit; none where it is not served. */
const find = async <T extends KubernetesObject>(
  { client, serves }: CleanupOptions,
  resource: Resource,
  fits: (object: T) => boolean,
  signal: AbortSignal,
): Promise<T[]> => {
  const found: T[] = [];
  try {
    for await (const { items } of client.pages<T>(resource, {}, signal)) {
      found.push(...items.filter((item) => serves(item.metadata?.namespace ?? '') && fits(item)));
    }
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
  return found;
};

/** Tries again with the newer object while others write; false where there is nothing to do. */
const persist = async <T extends KubernetesObject>(
  first: T,
  write: (object: T) => Promise<boolean>,
  reread: () => Promise<T>,
): Promise<boolean> => {
  let object = first;
  for (let tries = 1; ; tries += 1) {
    try {
      return await write(object);
    } catch (error) {
      if (isNotFound(error)) return false;
      if (!isStalePatch(error) || tries === TRIES) throw error;
      object = await reread();
    }
  }
};

const isMarked = ({ metadata }: EndpointSlice): boolean => metadata?.annotations?.[ANNOTATION_PLAN] !== undefined;
const isApplied = ({ metadata }: Service): boolean => metadata?.annotations?.[ANNOTATION_APPLIED] !== undefined;

/**
 * Whether a namespace's objects are to be cleaned up under a selector. Without one everything is, also what an earlier
 * configuration left in namespaces that are excluded by now.
 */
export const servedNamespaces = async (
  client: Pick<Client, 'pages'>,
  selector: LabelSelector,
  signal: AbortSignal,
): Promise<CleanupOptions['serves']> => {
  const { matchLabels = {}, matchExpressions = [] } = selector;
  if (Object.keys(matchLabels).length === 0 && matchExpressions.length === 0) return () => true;
  const served = new Set<string>();
  for await (const { items } of client.pages<Namespace>(NAMESPACES, {}, signal)) {
    for (const { metadata } of items) {
      if (matchesSelector(selector, metadata?.labels ?? {})) served.add(metadata?.name ?? '');
    }
  }
  return (namespace) => served.has(namespace);
};

/** Labels first: the EndpointSlice controller takes hints off the slices when it mirrors that they are gone. */
export const cleanUpPlans = async (options: CleanupOptions, signal: AbortSignal): Promise<CleanupReport> => {
  const { client, logger } = options;
  const report = { slices: 0, services: 0, policies: 0 };
  for (const service of await find<Service>(options, SERVICES, isApplied, signal)) {
    const write = (object: Service): Promise<boolean> => patchService(object, revertLabel(object), client, signal);
    const done = await persist(service, write, () => client.get<Service>(SERVICES, refOf(service), signal));
    report.services += done ? 1 : 0;
  }
  const project = createSliceProjection();
  for (const slice of await find<EndpointSlice>(options, ENDPOINT_SLICES, isMarked, signal)) {
    const ref = refOf(project(slice));
    const write = async (object: EndpointSlice): Promise<boolean> => {
      const patch = revertPatch(project(object));
      if (patch === undefined) return false;
      await client.patch(ENDPOINT_SLICES, ref, 'json', patch, {}, signal);
      return true;
    };
    const done = await persist(slice, write, () => client.get<EndpointSlice>(ENDPOINT_SLICES, ref, signal));
    report.slices += done ? 1 : 0;
  }
  type Policy = FlowPolicy & KubernetesObject;
  for (const { metadata } of await find<Policy>(options, FLOW_POLICIES, isOwnPolicy, signal)) {
    const { namespace = '', name = '' } = metadata;
    const gone = client.delete(FLOW_POLICIES, { namespace, name }, {}, signal);
    await gone.catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
    report.policies += 1;
  }
  logger.info('cleaned up', { ...report });
  return report;
};
