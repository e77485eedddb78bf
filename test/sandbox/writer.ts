// Create, update and delete as the API server performs them: defaults, admission, validation, then the store.
import { isDeepStrictEqual } from 'node:util';
import type { Admission } from './admission-types.ts';
import { alreadyExists, badRequest, conflict, forbidden, invalid, notFound, unclassified } from './errors.ts';
import {
  fillSystemFields,
  keepSystemFields,
  raiseGeneration,
  tidyMetadata,
  timestamp,
  validateMetadata,
  wipeSystemFields,
} from './metadata.ts';
import { asArray, asRecord, asString, clone, nameOf, namespaceOf, type StoredObject } from './object.ts';
import type { Registry, RuleContext, ServedResource } from './served-resource.ts';
import { resourceKey, type ObjectStore } from './store.ts';

/** Who writes. */
export interface Actor {
  readonly username: string;
  readonly groups: readonly string[];
}

export interface WriteContext {
  readonly actor: Actor;
  readonly dryRun?: boolean;
  readonly subresource?: 'status';
  /** The fixture writer sets status together with the rest. */
  readonly withStatus?: boolean;
  /** Called with each warning of a webhook. */
  readonly warn?: (message: string) => void;
  /** Sent to webhooks as `options`. */
  readonly options?: Record<string, unknown>;
}

export interface Target {
  readonly resource: ServedResource;
  readonly namespace: string;
  readonly name: string;
}

export interface DeleteInput {
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
}

export interface Writer {
  create(
    resource: ServedResource,
    namespace: string,
    object: StoredObject,
    context: WriteContext,
  ): Promise<StoredObject>;
  /** `change` gets a copy of the stored object and returns the wanted one; it is called again after a lost race. */
  update(target: Target, change: (stored: StoredObject) => StoredObject, context: WriteContext): Promise<StoredObject>;
  /** Returns the object as it is now, or undefined once it is gone. */
  remove(target: Target, input: DeleteInput, context: WriteContext): Promise<StoredObject | undefined>;
}

/** What works inside the sandbox is made with. */
export interface SandboxParts {
  readonly store: ObjectStore;
  readonly writer: Writer;
  readonly registry: Registry;
  readonly now: () => number;
}

interface Dependencies {
  readonly store: ObjectStore;
  readonly rules: () => RuleContext;
  readonly admission: Admission;
  readonly now: () => number;
}

const NAMESPACES_KEY = '/namespaces';
const NAMESPACE_SUBJECT = { group: '', plural: 'namespaces', kind: 'Namespace' };
const RACE_RETRIES = 5;

const checkNamespace = (store: ObjectStore, { resource, namespace, name }: Target): void => {
  if (!resource.namespaced) return;
  const found = store.get(NAMESPACES_KEY, '', namespace);
  if (found === undefined) throw notFound(NAMESPACE_SUBJECT, namespace);
  if (found.metadata.deletionTimestamp === undefined) return;
  const text = `unable to create new content in namespace ${namespace} because it is being terminated`;
  throw forbidden(resource, name, text, [
    {
      reason: 'NamespaceTerminating',
      message: `namespace ${namespace} is being terminated`,
      field: 'metadata.namespace',
    },
  ]);
};

const prepareNew = (object: StoredObject, resource: ServedResource, namespace: string): StoredObject => {
  const prepared = clone(object);
  prepared.metadata ??= {};
  const version = prepared.metadata.resourceVersion;
  if (version !== undefined && version !== '' && version !== '0')
    throw unclassified('resourceVersion should not be set on objects to be created');
  delete prepared.metadata.resourceVersion;
  if (resource.namespaced) {
    const own = prepared.metadata.namespace ?? '';
    if (own !== '' && own !== namespace)
      throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
    prepared.metadata.namespace = namespace;
  } else delete prepared.metadata.namespace;
  wipeSystemFields(prepared);
  return prepared;
};

const check = (
  object: StoredObject,
  old: StoredObject | undefined,
  resource: ServedResource,
  rules: RuleContext,
): void => {
  const errors = [...validateMetadata(object, resource), ...(resource.rules.validate?.(object, old, rules) ?? [])];
  if (errors.length > 0) throw invalid(resource, nameOf(object), errors);
};

const settleStatus = (object: StoredObject, old: StoredObject, context: WriteContext): StoredObject => {
  if (context.subresource === 'status')
    return {
      ...clone(old),
      ...(object['status'] === undefined ? { status: undefined } : { status: object['status'] }),
    };
  if (context.withStatus === true && object['status'] !== undefined) return object;
  if (old['status'] === undefined) delete object['status'];
  else object['status'] = clone(old['status']);
  return object;
};

/** Checks what a writer claims to know about the stored object. */
const checkPreconditions = (
  object: StoredObject,
  stored: StoredObject,
  { resource, name, namespace }: Target,
): void => {
  if (nameOf(object) !== name)
    throw badRequest(`the name of the object (${nameOf(object)}) does not match the name on the URL (${name})`);
  if (resource.namespaced && (object.metadata.namespace ?? namespace) !== namespace)
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  const version = object.metadata.resourceVersion ?? '';
  if (version !== '' && version !== stored.metadata.resourceVersion) throw conflict(resource, name);
  const uid = object.metadata.uid ?? '';
  if (uid !== '' && uid !== stored.metadata.uid)
    throw conflict(
      resource,
      name,
      `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${stored.metadata.uid ?? ''}`,
    );
};

const dropUndefined = (object: StoredObject): StoredObject => {
  if ('status' in object && object['status'] === undefined) delete object['status'];
  return object;
};

export const createWriter = ({ store, rules, admission, now }: Dependencies): Writer => {
  const create: Writer['create'] = async (resource, namespace, input, context) => {
    const prepared = prepareNew(input, resource, namespace);
    const target = { resource, namespace: resource.namespaced ? namespace : '', name: nameOf(prepared) };
    checkNamespace(store, target);
    resource.rules.normalize?.(prepared, rules());
    const object = await admission.admit({ operation: 'CREATE', ...target, object: prepared, context });
    resource.rules.normalize?.(object, rules());
    fillSystemFields(object, resource, now());
    const status = object['status'];
    if (resource.status && !resource.statusOnCreate) delete object['status'];
    resource.rules.prepareCreate?.(object, rules());
    if (context.withStatus === true && status !== undefined) object['status'] = status;
    // A generated name is known only now.
    resource.rules.normalize?.(object, rules());
    tidyMetadata(object);
    check(object, undefined, resource, rules());
    if (store.get(resourceKey(resource), target.namespace, nameOf(object)) !== undefined)
      throw alreadyExists(resource, nameOf(object));
    checkNamespace(store, { ...target, name: nameOf(object) });
    return context.dryRun === true ? object : store.put(resource, object);
  };

  /** One attempt; undefined when another writer was faster and trying again is allowed. */
  const attempt = async (
    target: Target,
    stored: StoredObject,
    change: (stored: StoredObject) => StoredObject,
    context: WriteContext,
  ): Promise<StoredObject | undefined> => {
    const { resource } = target;
    const wanted = change(clone(stored));
    wanted.metadata ??= {};
    checkPreconditions(wanted, stored, target);
    const locked =
      (wanted.metadata.resourceVersion ?? '') !== '' &&
      wanted.metadata.resourceVersion === stored.metadata.resourceVersion;
    if (resource.namespaced) wanted.metadata.namespace = target.namespace;
    else delete wanted.metadata.namespace;
    keepSystemFields(wanted, stored);
    resource.rules.normalize?.(wanted, rules());
    const admitted = await admission.admit({ operation: 'UPDATE', ...target, object: wanted, old: stored, context });
    keepSystemFields(admitted, stored);
    const object = resource.status ? dropUndefined(settleStatus(admitted, stored, context)) : admitted;
    resource.rules.normalize?.(object, rules());
    if (context.subresource === undefined) resource.rules.prepareUpdate?.(object, stored, rules());
    tidyMetadata(object);
    raiseGeneration(object, stored, resource);
    check(object, stored, resource, rules());
    const current = store.get(resourceKey(resource), target.namespace, target.name);
    if (current === undefined) throw notFound(resource, target.name);
    if (current !== stored) {
      if (locked && context.subresource === undefined) throw conflict(resource, target.name);
      return undefined;
    }
    return commit(target, object, stored, context);
  };

  const commit = (target: Target, object: StoredObject, stored: StoredObject, context: WriteContext): StoredObject => {
    if (isDeepStrictEqual(object, stored)) return stored;
    if (context.dryRun === true) return object;
    if (object.metadata.deletionTimestamp !== undefined && isReleased(target.resource, object)) {
      store.remove(target.resource, target.namespace, target.name);
      return object;
    }
    return store.put(target.resource, object);
  };

  const update: Writer['update'] = async (target, change, context) => {
    for (let tries = 0; tries < RACE_RETRIES; tries += 1) {
      const stored = store.get(resourceKey(target.resource), target.namespace, target.name);
      if (stored === undefined) throw notFound(target.resource, target.name);
      const result = await attempt(target, stored, change, context);
      if (result !== undefined) return result;
    }
    throw conflict(target.resource, target.name);
  };

  const remove: Writer['remove'] = async (target, { preconditions }, context) => {
    const { resource, namespace, name } = target;
    const stored = store.get(resourceKey(resource), namespace, name);
    if (stored === undefined) throw notFound(resource, name);
    await admission.admit({ operation: 'DELETE', ...target, old: stored, context });
    const current = store.get(resourceKey(resource), namespace, name);
    if (current === undefined) throw notFound(resource, name);
    const { uid, resourceVersion } = preconditions ?? {};
    if (uid !== undefined && uid !== current.metadata.uid)
      throw conflict(
        resource,
        name,
        `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${current.metadata.uid ?? ''}`,
      );
    if (resourceVersion !== undefined && resourceVersion !== current.metadata.resourceVersion)
      throw conflict(
        resource,
        name,
        `Precondition failed: ResourceVersion in precondition: ${resourceVersion}, ResourceVersion in object meta: ${current.metadata.resourceVersion ?? ''}`,
      );
    if (context.dryRun === true) return current;
    if (isReleased(resource, current)) {
      store.remove(resource, namespace, name);
      return undefined;
    }
    return current.metadata.deletionTimestamp === undefined
      ? store.put(resource, marked(current, resource, now()))
      : current;
  };

  return { create, update, remove };
};

/** True when nothing keeps a deleted object from going. */
const isReleased = ({ group, plural }: ServedResource, object: StoredObject): boolean => {
  if ((object.metadata.finalizers ?? []).length > 0) return false;
  if (group !== '' || plural !== 'namespaces') return true;
  return asArray(asRecord(object['spec'])['finalizers']).length === 0;
};

/** The object with its deletion under way. */
const marked = (object: StoredObject, { group, plural, generation }: ServedResource, now: number): StoredObject => {
  const result = clone(object);
  result.metadata.deletionTimestamp = timestamp(now);
  if (generation !== 'none') result.metadata.generation = (object.metadata.generation ?? 0) + 1;
  if (group === '' && plural === 'namespaces')
    result['status'] = { ...asRecord(object['status']), phase: 'Terminating' };
  return result;
};

export const targetOf = (resource: ServedResource, object: StoredObject): Target => ({
  resource,
  namespace: resource.namespaced ? namespaceOf(object) : '',
  name: asString(object.metadata.name),
});
