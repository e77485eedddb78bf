// What a cluster does by itself about deletion: namespaces are emptied, dependents of gone owners are collected.
import { labelsOf, nameOf, namespaceOf, type StoredObject } from './object.ts';
import type { ServedResource } from './served-resource.ts';
import { resourceKey, type Change, type ObjectStore } from './store.ts';
import { createTaskRunner, type TaskRunner } from './task-runner.ts';
import type { SandboxParts, WriteContext, Writer } from './writer.ts';

const NAMESPACES = '/namespaces';

const contextOf = (name: string): WriteContext => ({
  actor: {
    username: `system:serviceaccount:kube-system:${name}`,
    groups: ['system:serviceaccounts', 'system:serviceaccounts:kube-system', 'system:authenticated'],
  },
});

/** Objects to delete, one after another; those that finalizers hold are left marked. */
const removeAll = async (
  writer: Writer,
  context: WriteContext,
  found: readonly [ServedResource, StoredObject][],
): Promise<void> => {
  for (const [resource, object] of found) {
    // Another writer may have been faster; a webhook that refuses is asked again at the next change.
    await writer
      .remove({ resource, namespace: namespaceOf(object), name: nameOf(object) }, {}, context)
      .catch(() => undefined);
  }
};

/** Empties terminating namespaces, then lets them go. */
export const createNamespaceController = ({ store, writer, registry }: Omit<SandboxParts, 'now'>): TaskRunner => {
  const contents = (namespace: string): [ServedResource, StoredObject][] =>
    registry
      .all()
      .filter(({ namespaced }) => namespaced)
      .flatMap((resource) =>
        store
          .list(resourceKey(resource), namespace)
          .map((object): [ServedResource, StoredObject] => [resource, object]),
      );

  const isTerminating = (name: string): boolean =>
    store.get(NAMESPACES, '', name)?.metadata.deletionTimestamp !== undefined;

  const runner = createTaskRunner({
    batchMs: 0,
    async run(name) {
      if (!isTerminating(name)) return;
      await removeAll(writer, contextOf('namespace-controller'), contents(name));
      const namespace = store.get(NAMESPACES, '', name);
      const resource = registry.find('', 'v1', 'namespaces');
      if (namespace === undefined || resource === undefined || contents(name).length > 0) return;
      if ((namespace.metadata.finalizers ?? []).length === 0) store.remove(resource, '', name);
    },
  });

  store.subscribe(({ resource, object, type }: Change) => {
    const namespace = resource.namespaced ? namespaceOf(object) : nameOf(object);
    const concerns = resource.namespaced
      ? type === 'DELETED'
      : resourceKey(resource) === NAMESPACES && type === 'MODIFIED';
    if (concerns && isTerminating(namespace)) runner.enqueue(namespace);
  });
  return runner;
};

interface Dependent {
  readonly resource: ServedResource;
  readonly namespace: string;
  readonly name: string;
}

/** Deletes what a gone object owned, unless another writer still owns it. */
export const createGarbageCollector = ({ store, writer }: Omit<SandboxParts, 'now'>): TaskRunner => {
  const dependents = new Map<string, Map<string, Dependent>>();
  /** Owners that were seen going: an object that names one comes too late. */
  const gone = new Set<string>();

  const runner = createTaskRunner({
    batchMs: 0,
    async run(uid) {
      const found = [...(dependents.get(uid)?.values() ?? [])].flatMap(
        ({ resource, namespace, name }): [ServedResource, StoredObject][] => {
          const object = store.get(resourceKey(resource), namespace, name);
          const owners = object?.metadata.ownerReferences ?? [];
          const orphaned = owners.some((owner) => owner.uid === uid) && owners.every((owner) => gone.has(owner.uid));
          return object !== undefined && orphaned ? [[resource, object]] : [];
        },
      );
      dependents.delete(uid);
      await removeAll(writer, contextOf('generic-garbage-collector'), found);
    },
  });

  store.subscribe(({ type, resource, object }: Change) => {
    if (type === 'DELETED') {
      const uid = object.metadata.uid ?? '';
      gone.add(uid);
      if (dependents.has(uid)) runner.enqueue(uid);
      return;
    }
    for (const { uid } of object.metadata.ownerReferences ?? []) {
      const entry = { resource, namespace: namespaceOf(object), name: nameOf(object) };
      dependents.set(
        uid,
        (dependents.get(uid) ?? new Map()).set(`${resourceKey(resource)}/${entry.namespace}/${entry.name}`, entry),
      );
      if (gone.has(uid)) runner.enqueue(uid);
    }
  });
  return runner;
};

/** The ready address behind a port of a Service, as a call from the API server would find it. */
export const createServiceResolver =
  (store: ObjectStore) =>
  (namespace: string, name: string, port: number): { host: string; port: number } | undefined => {
    const service = store.get('/services', namespace, name);
    const ports = (service?.['spec'] as { ports?: { port: number; name?: string }[] } | undefined)?.ports ?? [];
    const wanted = ports.find((candidate) => candidate.port === port)?.name ?? '';
    const slices = store
      .list('discovery.k8s.io/endpointslices', namespace)
      .filter((slice) => labelsOf(slice)['kubernetes.io/service-name'] === name);
    for (const slice of slices) {
      const target = (slice['ports'] as { name?: string; port?: number }[] | null)?.find(
        (candidate) => (candidate.name ?? '') === wanted,
      )?.port;
      const endpoints =
        (slice['endpoints'] as { addresses: string[]; conditions?: { ready?: boolean } }[] | null) ?? [];
      const host = endpoints.find(({ conditions }) => conditions?.ready !== false)?.addresses[0];
      if (host !== undefined && target !== undefined) return { host, port: target };
    }
    return undefined;
  };
