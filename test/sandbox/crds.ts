// Custom resource definitions: creating one serves its resource, deleting it takes resource and objects away.
import { CUSTOM_RESOURCE_DEFINITIONS } from '../fixtures/crds.ts';
import { timestamp } from './metadata.ts';
import { asArray, asRecord, asString, isRecord, nameOf, namespaceOf } from './object.ts';
import type { JsonRecord, StoredObject } from './object.ts';
import { conform, validateSchema } from './schema.ts';
import { servedCustom, type KindRules, type ServedResource } from './served-resource.ts';
import { resourceKey, type Change } from './store.ts';
import { createTaskRunner, type TaskRunner } from './task-runner.ts';
import type { SandboxParts, WriteContext } from './writer.ts';

const CRDS_KEY = resourceKey(CUSTOM_RESOURCE_DEFINITIONS);
const CONTEXT: WriteContext = {
  actor: { username: 'system:apiserver', groups: ['system:masters'] },
  subresource: 'status',
};

const rulesFor = (version: JsonRecord): KindRules => {
  const schema = asRecord(version['schema'])['openAPIV3Schema'];
  if (!isRecord(schema)) return {};
  return { normalize: (object) => conform(object, schema), validate: (object) => validateSchema(object, schema) };
};

/** The resource of the version that is stored and served, or undefined. */
export const resourceOfCrd = (crd: StoredObject): ServedResource | undefined => {
  const spec = asRecord(crd['spec']);
  const names = asRecord(spec['names']);
  const version = asArray(spec['versions'])
    .map((item) => asRecord(item))
    .find((item) => item['storage'] === true && item['served'] !== false);
  if (version === undefined) return undefined;
  const kind = asString(names['kind']);
  return servedCustom(
    {
      group: asString(spec['group']),
      version: asString(version['name']),
      kind,
      plural: asString(names['plural']),
      namespaced: spec['scope'] === 'Namespaced',
    },
    {
      singular: asString(names['singular']) || kind.toLowerCase(),
      shortNames: asArray(names['shortNames']).map((name) => asString(name)),
      status: isRecord(asRecord(version['subresources'])['status']),
      rules: rulesFor(version),
    },
  );
};

export const createCrdController = ({ store, writer, registry, now }: SandboxParts): TaskRunner => {
  /** What was served under the same name before a CRD took it. */
  const replaced = new Map<string, ServedResource>();

  const condition = (type: string, reason: string, message: string): JsonRecord => ({
    type,
    status: 'True',
    lastTransitionTime: timestamp(now()),
    reason,
    message,
  });

  const establish = async (name: string): Promise<void> => {
    const crd = store.get(CRDS_KEY, '', name);
    const definitions = registry.find('apiextensions.k8s.io', 'v1', 'customresourcedefinitions');
    if (crd === undefined || definitions === undefined) return;
    const spec = asRecord(crd['spec']);
    if (asArray(asRecord(crd['status'])['conditions']).length > 0) return;
    const stored = asArray(spec['versions'])
      .map((item) => asRecord(item))
      .filter((item) => item['storage'] === true);
    const status = {
      conditions: [
        condition('NamesAccepted', 'NoConflicts', 'no conflicts found'),
        condition('Established', 'InitialNamesAccepted', 'the initial names have been accepted'),
      ],
      acceptedNames: spec['names'],
      storedVersions: stored.map((item) => item['name']),
    };
    // Gone again meanwhile: nothing to establish.
    await writer
      .update({ resource: definitions, namespace: '', name }, (old) => ({ ...old, status }), CONTEXT)
      .catch(() => undefined);
  };

  const runner = createTaskRunner({ batchMs: 0, run: establish });

  const serve = (crd: StoredObject): void => {
    const resource = resourceOfCrd(crd);
    if (resource === undefined) return;
    const before = registry.find(resource.group, resource.version, resource.plural);
    if (before !== undefined && !replaced.has(nameOf(crd))) replaced.set(nameOf(crd), before);
    registry.set(resource);
    runner.enqueue(nameOf(crd));
  };

  const withdraw = (crd: StoredObject): void => {
    const resource = resourceOfCrd(crd);
    if (resource === undefined) return;
    for (const object of store.list(resourceKey(resource))) store.remove(resource, namespaceOf(object), nameOf(object));
    registry.delete(resource);
    const before = replaced.get(nameOf(crd));
    replaced.delete(nameOf(crd));
    if (before !== undefined) registry.set(before);
  };

  store.subscribe(({ resource, type, object, previous }: Change) => {
    if (resourceKey(resource) !== CRDS_KEY) return;
    if (type === 'DELETED') withdraw(object);
    else if (previous === undefined || previous.metadata.generation !== object.metadata.generation) serve(object);
  });
  return runner;
};
