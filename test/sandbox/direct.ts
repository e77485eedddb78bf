// Access to the store without HTTP, for tests and fixtures.
import { apiVersionOf, type Resource } from '../../pkg/apis/resources.ts';
import type { KubernetesObject, ObjectRef } from '../../pkg/apis/meta.ts';
import { badRequest } from './errors.ts';
import { fillSystemFields, tidyMetadata } from './metadata.ts';
import { clone, type StoredObject } from './object.ts';
import type { RuleContext, ServedResource } from './served-resource.ts';
import { resourceKey } from './store.ts';
import type { Sandbox } from './types.ts';
import { type SandboxParts, targetOf, type WriteContext } from './writer.ts';

interface Dependencies extends SandboxParts {
  readonly rules: () => RuleContext;
}

const CONTEXT: WriteContext = {
  actor: { username: 'system:sandbox', groups: ['system:masters', 'system:authenticated'] },
  withStatus: true,
};

/** A copy of a typed object in the form in which the sandbox keeps objects. */
const toStored = (object: KubernetesObject): StoredObject => {
  const copy: KubernetesObject & Record<string, unknown> = clone(object) as KubernetesObject & Record<string, unknown>;
  return { ...copy, metadata: copy.metadata ?? {} };
};

export const createDirectAccess = (
  dependencies: Dependencies,
): Pick<Sandbox, 'apply' | 'get' | 'list' | 'remove' | 'seed'> => {
  const { store, registry, writer, rules, now } = dependencies;
  const kindOf = (object: StoredObject): ServedResource => {
    const found = registry.findKind(object.apiVersion ?? '', object.kind ?? '');
    if (found === undefined)
      throw badRequest(
        `no resource is served for kind ${JSON.stringify(object.kind)} in ${JSON.stringify(object.apiVersion)}`,
      );
    return found;
  };

  const write = async (object: StoredObject): Promise<StoredObject> => {
    const resource = kindOf(object);
    const target = targetOf(resource, object);
    const known = store.get(resourceKey(resource), target.namespace, target.name) !== undefined;
    if (known) return writer.update(target, () => clone(object), CONTEXT);
    delete object.metadata.resourceVersion;
    return writer.create(resource, target.namespace, object, CONTEXT);
  };

  const seedOne = (object: StoredObject): void => {
    const resource = kindOf(object);
    resource.rules.normalize?.(object, rules());
    const { uid, creationTimestamp, generation } = object.metadata;
    fillSystemFields(object, resource, now());
    if (uid !== undefined) object.metadata.uid = uid;
    if (creationTimestamp !== undefined) object.metadata.creationTimestamp = creationTimestamp;
    if (generation !== undefined) object.metadata.generation = generation;
    const status = object['status'];
    resource.rules.prepareCreate?.(object, rules());
    if (status !== undefined) object['status'] = status;
    tidyMetadata(object);
    store.put(resource, object);
  };

  return {
    apply: async <T extends KubernetesObject>(object: T) => clone(await write(toStored(object))) as unknown as T,
    get<T extends KubernetesObject>(resource: Resource, { namespace, name }: ObjectRef) {
      const found = store.get(resourceKey(resource), resource.namespaced ? (namespace ?? '') : '', name);
      return found === undefined ? undefined : (clone(found) as unknown as T);
    },
    list: <T extends KubernetesObject>(resource: Resource, namespace?: string) =>
      clone([...store.list(resourceKey(resource), namespace)]) as unknown as T[],
    async remove(resource, { namespace, name }) {
      const found = registry.find(resource.group, resource.version, resource.plural);
      if (found === undefined) throw badRequest(`${apiVersionOf(resource)} ${resource.plural} is not served`);
      await writer.remove({ resource: found, namespace: found.namespaced ? (namespace ?? '') : '', name }, {}, CONTEXT);
    },
    seed(objects) {
      for (const object of objects) seedOne(toStored(object));
    },
  };
};

/** Namespaces that every cluster has. */
export const initialNamespaces = (): KubernetesObject[] =>
  ['default', 'kube-node-lease', 'kube-public', 'kube-system'].map((name) => ({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name },
  }));
