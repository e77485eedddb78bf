// The EndpointSlice controller of the sandbox: follows Services, Pods and Nodes, writes slices through admission like everybody.
import { isDeepStrictEqual } from 'node:util';
import { LABEL_SERVICE_NAME } from '../../pkg/apis/names.ts';
import { ENDPOINT_SLICES, EVENTS, NODES, PODS, SERVICES } from '../../pkg/apis/resources.ts';
import { timestamp } from './metadata.ts';
import { asArray, asRecord, isRecord, labelsOf, nameOf, namespaceOf, type StoredObject } from './object.ts';
import type { ServedResource } from './served-resource.ts';
import { desiredEndpoints, selects, type Family } from './slice-endpoints.ts';
import { zoneRatios } from './slice-auto.ts';
import { applyHints, hintModeOf, type HintEvent } from './slice-hints.ts';
import { LABEL_MANAGED_BY, MANAGED_BY, planSlices, reuseNames, type SlicePlan } from './slice-plan.ts';
import { resourceKey, type Change } from './store.ts';
import { createTaskRunner, type TaskRunner } from './task-runner.ts';
import type { SandboxParts, WriteContext } from './writer.ts';

interface Dependencies extends SandboxParts {
  readonly minor: () => number;
}

/** As whom the controller writes. */
export const CONTROLLER_USER = 'system:serviceaccount:kube-system:endpointslice-controller';
const CONTEXT: WriteContext = {
  actor: {
    username: CONTROLLER_USER,
    groups: ['system:serviceaccounts', 'system:serviceaccounts:kube-system', 'system:authenticated'],
  },
};
const BATCH_MS = 2;
const FIRST_RETRY_MS = 1000;
const MAX_RETRY_MS = 1_000_000;
const MAX_RETRIES = 15;

const SLICES_KEY = resourceKey(ENDPOINT_SLICES);
const SERVICES_KEY = resourceKey(SERVICES);

const keyOf = (object: StoredObject): string => `${namespaceOf(object)}/${nameOf(object)}`;

/** The task that owns a slice of ours, or undefined. */
const ownerOf = (slice: StoredObject): string | undefined => {
  const labels = labelsOf(slice);
  const service = labels[LABEL_SERVICE_NAME];
  return service !== undefined && labels[LABEL_MANAGED_BY] === MANAGED_BY
    ? `${namespaceOf(slice)}/${service}`
    : undefined;
};

/** True when the controller looks after the Service's slices. */
const isManaged = (service: StoredObject): boolean => {
  const spec = asRecord(service['spec']);
  const selector = spec['selector'];
  return isRecord(selector) && Object.keys(selector).length > 0 && spec['type'] !== 'ExternalName';
};

export const createEndpointSliceController = ({ store, writer, registry, minor, now }: Dependencies): TaskRunner => {
  /** Generation of each slice as the server returned it: an event that is not newer is our own. */
  const generations = new Map<string, number>();
  const failures = new Map<string, number>();
  /** Services that the Auto heuristic hinted. */
  const hinted = new Set<string>();
  /** Services with Pods on Nodes that are not known. */
  const waiting = new Set<string>();

  const served = (resource: typeof SERVICES): ServedResource => {
    const found = registry.find(resource.group, resource.version, resource.plural);
    if (found === undefined) throw new Error(`${resource.plural} is not served`);
    return found;
  };

  const record = async (service: StoredObject, { type, reason, message }: HintEvent): Promise<void> => {
    const time = timestamp(now());
    const namespace = namespaceOf(service);
    const event: StoredObject = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { generateName: `${nameOf(service)}.`, namespace },
      involvedObject: {
        apiVersion: 'v1',
        kind: 'Service',
        namespace,
        name: nameOf(service),
        uid: service.metadata.uid,
      },
      type,
      reason,
      message,
      source: { component: 'endpoint-slice-controller' },
      reportingComponent: 'endpoint-slice-controller',
      firstTimestamp: time,
      lastTimestamp: time,
      count: 1,
    };
    const same = store
      .list(resourceKey(EVENTS), namespace)
      .find((old) =>
        isDeepStrictEqual(
          [old['involvedObject'], old['reason'], old['message']],
          [event['involvedObject'], reason, message],
        ),
      );
    if (same === undefined) await writer.create(served(EVENTS), namespace, event, CONTEXT);
    else {
      const target = { resource: served(EVENTS), namespace, name: nameOf(same) };
      await writer.update(
        target,
        (old) => ({ ...old, lastTimestamp: time, count: Number(old['count'] ?? 1) + 1 }),
        CONTEXT,
      );
    }
  };

  const remember = (slice: StoredObject): void =>
    void generations.set(slice.metadata.uid ?? '', slice.metadata.generation ?? 0);

  const write = async ({ create, update, remove }: SlicePlan): Promise<void> => {
    const resource = served(ENDPOINT_SLICES);
    for (const slice of create) remember(await writer.create(resource, namespaceOf(slice), slice, CONTEXT));
    for (const slice of update) {
      const target = { resource, namespace: namespaceOf(slice), name: nameOf(slice) };
      remember(await writer.update(target, () => structuredClone(slice), CONTEXT));
    }
    for (const slice of remove) {
      generations.delete(slice.metadata.uid ?? '');
      await writer.remove({ resource, namespace: namespaceOf(slice), name: nameOf(slice) }, {}, CONTEXT);
    }
  };

  const reconcileFamily = async (
    service: StoredObject,
    family: Family,
    slices: readonly StoredObject[],
  ): Promise<void> => {
    const key = keyOf(service);
    const { groups, missingNodes } = desiredEndpoints({
      service,
      pods: store.list(resourceKey(PODS), namespaceOf(service)),
      nodeOf: (name) => store.get(resourceKey(NODES), '', name),
      family,
    });
    if (missingNodes) waiting.add(key);
    const plan = planSlices(service, family, slices, groups);
    const mode = hintModeOf(service, minor());
    const ratios = mode === 'auto' ? zoneRatios(store.list(resourceKey(NODES))) : undefined;
    const result = applyHints(mode, plan, { ratios, family, minor: minor(), wasHinted: hinted.has(key) });
    if (result.hinted) hinted.add(key);
    else hinted.delete(key);
    for (const event of result.events) await record(service, event);
    await write(reuseNames(result.plan));
  };

  const reconcile = async (key: string): Promise<void> => {
    const [namespace = '', name = ''] = key.split('/');
    const service = store.get(SERVICES_KEY, namespace, name);
    if (service === undefined || !isManaged(service) || service.metadata.deletionTimestamp !== undefined) return;
    waiting.delete(key);
    const own = store
      .list(SLICES_KEY, namespace)
      .filter((slice) => ownerOf(slice) === key && slice.metadata.deletionTimestamp === undefined);
    const families = asArray(asRecord(service['spec'])['ipFamilies']).filter(
      (family): family is Family => family === 'IPv4' || family === 'IPv6',
    );
    for (const family of families)
      await reconcileFamily(
        service,
        family,
        own.filter((slice) => slice['addressType'] === family),
      );
    const stale = own.filter((slice) => !families.some((family) => family === slice['addressType']));
    await write({ create: [], update: [], unchanged: [], remove: stale });
  };

  const fail = async (key: string, error: unknown): Promise<void> => {
    const count = (failures.get(key) ?? 0) + 1;
    failures.set(key, count);
    if (count <= MAX_RETRIES) runner.enqueueAfter(key, Math.min(FIRST_RETRY_MS * 2 ** (count - 1), MAX_RETRY_MS));
    const [namespace = '', name = ''] = key.split('/');
    const service = store.get(SERVICES_KEY, namespace, name);
    if (service === undefined || service.metadata.deletionTimestamp !== undefined) return;
    const text = error instanceof Error ? error.message : String(error);
    const message = `Error updating Endpoint Slices for Service ${key}: ${text}`;
    // Recording is best effort: the namespace may be on its way out.
    await record(service, { type: 'Warning', reason: 'FailedToUpdateEndpointSlices', message }).catch(() => undefined);
  };

  const runner = createTaskRunner({
    batchMs: BATCH_MS,
    async run(key) {
      try {
        await reconcile(key);
        failures.delete(key);
      } catch (error) {
        await fail(key, error);
      }
    },
  });

  const onPod = ({ object, previous }: Change): void => {
    for (const service of store.list(SERVICES_KEY, namespaceOf(object))) {
      if (selects(service, object) || (previous !== undefined && selects(service, previous)))
        runner.enqueue(keyOf(service));
    }
  };

  const onSlice = ({ type, object }: Change): void => {
    const key = ownerOf(object);
    const uid = object.metadata.uid ?? '';
    if (key === undefined) return;
    const known = generations.get(uid);
    if (type === 'DELETED') {
      if (known === undefined) return;
      generations.delete(uid);
      runner.enqueue(key);
    } else if (known === undefined || (object.metadata.generation ?? 0) > known) runner.enqueue(key);
  };

  const onNode = ({ type, object, previous }: Change): void => {
    if (type === 'ADDED') for (const key of waiting) runner.enqueue(key);
    const topology = (node: StoredObject | undefined): unknown =>
      node === undefined ? undefined : [labelsOf(node), asRecord(node['status'])['conditions']];
    if (isDeepStrictEqual(topology(object), topology(previous))) return;
    for (const key of hinted) runner.enqueue(key);
  };

  const handlers: Readonly<Record<string, (change: Change) => void>> = {
    [SERVICES_KEY]: ({ type, object }) => {
      if (type === 'DELETED') hinted.delete(keyOf(object));
      else runner.enqueue(keyOf(object));
    },
    [resourceKey(PODS)]: onPod,
    [resourceKey(NODES)]: onNode,
    [SLICES_KEY]: onSlice,
  };
  store.subscribe((change) => handlers[resourceKey(change.resource)]?.(change));
  return runner;
};
