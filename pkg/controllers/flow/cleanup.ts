// Reverts what the flow controller wrote in the whole cluster: hints with our mark, labels, and FlowPolicies without a spec.
import type { LabelSelector } from '../../apis/admission.ts';
import type { EndpointSlice, Namespace, Service } from '../../apis/core.ts';
import type { FlowPolicy } from '../../apis/flow-policy.ts';
import type { KubernetesObject } from '../../apis/meta.ts';
import { nameOf, refOf } from '../../apis/values.ts';
import { ENDPOINT_SLICES, FLOW_POLICIES, NAMESPACES, type Resource, SERVICES } from '../../apis/resources.ts';
import { revertPatch } from '../../flow/assemble/turn.ts';
import { createSliceProjection } from '../../flow/assemble/slice.ts';
import { ifFound } from '../../kubernetes/errors.ts';
import { listKept } from '../../kubernetes/request.ts';
import type { Client, Uses } from '../../kubernetes/types.ts';
import { matchesSelector } from '../../routing/types.ts';
import { isOwnPolicy, revertLabel, writePlannedSlices, writeService } from './write.ts';

export interface CleanupOptions extends Uses<'client' | 'logger', 'pages' | 'patch' | 'delete'> {
  /** Whether the objects of a namespace are this controller's to clean up: another one may serve the others. */
  serves(namespace: string): boolean;
}

/** A concurrent writer causes a write conflict; that does not happen many times in a row. */
const PASSES = 5;

const find = async <T extends KubernetesObject>(
  { client, serves }: CleanupOptions,
  resource: Resource,
  fits: (object: T) => boolean,
  signal: AbortSignal,
): Promise<T[]> => {
  const isOurs = (item: T): boolean => serves(item.metadata?.namespace ?? '') && fits(item);
  return await listKept<T>(client, resource, (item) => (isOurs(item) ? item : undefined), signal);
};

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
  const nameOfServed = (namespace: Namespace): string | undefined =>
    matchesSelector(selector, namespace.metadata?.labels ?? {}) ? nameOf(namespace) : undefined;
  const names = new Set(await listKept<Namespace, string>(client, NAMESPACES, nameOfServed, signal));
  return (namespace) => names.has(namespace);
};

/**
 * Labels first: the EndpointSlice controller takes hints off the slices when it mirrors that they are gone. What others wrote meanwhile
 * is found again by the next pass.
 */
export const cleanUpPlans = async (options: CleanupOptions, signal: AbortSignal) => {
  const { client, logger } = options;
  const report = { slices: 0, services: 0, policies: 0 };
  const project = createSliceProjection();
  const isLabelled = (service: Service): boolean => revertLabel(service).kind === 'patch';
  const isPlanned = (slice: EndpointSlice): boolean => revertPatch(project(slice)) !== undefined;
  for (let pass = 1; ; pass += 1) {
    const services = await find<Service>(options, SERVICES, isLabelled, signal);
    for (const service of services)
      if (await writeService(service, revertLabel(service), client, signal)) report.services += 1;
    const slices = (await find<EndpointSlice>(options, ENDPOINT_SLICES, isPlanned, signal)).map(project);
    const { written } = await writePlannedSlices(slices, revertPatch, client, signal);
    report.slices += written;
    if (services.length + slices.length === 0) break;
    if (pass === PASSES)
      throw new Error(`Services and EndpointSlices are written by others: not clean after ${pass} passes`);
  }
  for (const policy of await find<FlowPolicy>(options, FLOW_POLICIES, isOwnPolicy, signal)) {
    await ifFound(client.delete(FLOW_POLICIES, refOf(policy), {}, signal));
    report.policies += 1;
  }
  logger.info('cleaned up', { ...report });
  return report;
};
