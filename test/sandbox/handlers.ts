// What each verb does with an authenticated request for a served resource.
import { apiVersionOf } from '../../pkg/apis/resources.ts';
import { parse as parseYaml } from 'yaml';
import {
  badRequest,
  internal,
  invalid,
  invalidOptions,
  methodNotAllowed,
  notFound,
  unknownResource,
  unprocessable,
  unsupportedMediaType,
} from './errors.ts';
import { parseJson, type Exchange } from './exchange.ts';
import { asRecord, asString, isRecord, nameOf, type StoredObject } from './object.ts';
import { applyJsonPatch, applyMergePatch, decodeJsonPatch, PatchError } from './patch-json.ts';
import { applyStrategicMergePatch } from './patch-strategic.ts';
import { matcherOf, type Reader } from './reader.ts';
import type { Route } from './route.ts';
import type { ServedResource } from './served-resource.ts';
import { resourceKey, type ObjectStore } from './store.ts';
import type { WatchHub } from './watch.ts';
import type { Actor, DeleteInput, Target, WriteContext, Writer } from './writer.ts';

export interface HandlerDependencies {
  readonly store: ObjectStore;
  readonly reader: Reader;
  readonly writer: Writer;
  readonly watches: WatchHub;
  readonly toJson: (object: StoredObject) => string;
}

export interface Call {
  readonly resource: ServedResource;
  readonly route: Route;
  readonly actor: Actor;
  readonly exchange: Exchange;
}

/** Kinds of which the last state is the answer to a DELETE; others answer a Status. */
const RETURN_DELETED = new Set(['/pods', '/services', '/serviceaccounts']);
const JSON_TYPES = ['application/json', 'application/yaml'];
const PATCH_JSON = 'application/json-patch+json';
const PATCH_MERGE = 'application/merge-patch+json';
const PATCH_STRATEGIC = 'application/strategic-merge-patch+json';

const contentType = (exchange: Exchange): string =>
  exchange.header('content-type').split(';')[0]?.trim().toLowerCase() ?? '';

const contextOf = ({ route, actor, exchange }: Call, kind: string): WriteContext => {
  const { dryRun, fieldManager, fieldValidation } = route.query;
  if (dryRun !== undefined && dryRun !== 'All')
    throw invalidOptions(kind, {
      field: 'dryRun',
      reason: 'FieldValueNotSupported',
      message: `Unsupported value: ${JSON.stringify([dryRun])}: supported values: "All"`,
    });
  return {
    actor,
    dryRun: dryRun === 'All',
    ...(route.subresource === 'status' ? { subresource: 'status' } : {}),
    warn: (message) => exchange.warn(message),
    options: {
      kind,
      apiVersion: 'meta.k8s.io/v1',
      ...(dryRun === undefined ? {} : { dryRun: [dryRun] }),
      ...(fieldManager === undefined ? {} : { fieldManager }),
      ...(fieldValidation === undefined ? {} : { fieldValidation }),
    },
  };
};

const decodeBody = async (exchange: Exchange): Promise<unknown> => {
  const type = contentType(exchange);
  if (type !== '' && !JSON_TYPES.includes(type)) throw unsupportedMediaType(JSON_TYPES);
  const body = await exchange.body();
  return type === 'application/yaml' ? parseYaml(body.toString('utf8')) : parseJson(body);
};

/** Checks that a body is an object of the resource; fills in what the URL already says. */
const asObject = (value: unknown, resource: ServedResource): StoredObject => {
  if (!isRecord(value)) throw badRequest(`the object provided is unrecognized (must be of type ${resource.kind})`);
  const apiVersion = apiVersionOf(resource);
  const kind = value['kind'];
  const version = value['apiVersion'];
  if (
    kind !== undefined &&
    kind !== '' &&
    (kind !== resource.kind || (version !== undefined && version !== apiVersion))
  ) {
    const given = asString(kind);
    throw badRequest(
      `${given} in version ${JSON.stringify(version)} cannot be handled as a ${resource.kind}: no kind ${JSON.stringify(given)} is registered for it`,
    );
  }
  const metadata = value['metadata'];
  if (metadata !== undefined && metadata !== null && !isRecord(metadata))
    throw badRequest(
      `${resource.kind} in version "${resource.version}" cannot be handled as a ${resource.kind}: json: cannot unmarshal metadata into Go value of type v1.ObjectMeta`,
    );
  for (const map of ['labels', 'annotations']) {
    if (Object.values(asRecord(asRecord(metadata)[map])).some((item) => typeof item !== 'string'))
      throw badRequest(
        `${resource.kind} in version "${resource.version}" cannot be handled as a ${resource.kind}: json: cannot unmarshal into Go struct field ObjectMeta.metadata.${map} of type string`,
      );
  }
  return { kind: resource.kind, apiVersion, ...value, metadata: { ...asRecord(metadata) } };
};

const targetOf = ({ resource, route }: Call): Target => ({
  resource,
  namespace: resource.namespaced ? route.namespace : '',
  name: route.name,
});

const applyPatch = (type: string, resource: ServedResource, patch: unknown, stored: StoredObject): unknown => {
  if (type === PATCH_JSON) return applyJsonPatch(stored, decodeJsonPatch(patch));
  return type === PATCH_MERGE ? applyMergePatch(stored, patch) : applyStrategicMergePatch(stored, patch);
};

/** The stored object changed as the patch says. Throws 400, 422 or 500 Status errors. */
const patchObject = (type: string, resource: ServedResource, patch: unknown, stored: StoredObject): StoredObject => {
  let patched: unknown;
  try {
    patched = applyPatch(type, resource, patch, stored);
  } catch (error) {
    if (!(error instanceof PatchError)) throw error;
    if (error.kind === 'undecodable') throw badRequest(`error decoding patch: ${error.message}`);
    throw unprocessable();
  }
  if (!isRecord(patched)) throw internal('patch removed the object');
  const object = asObject(patched, resource);
  const { uid } = object.metadata;
  if (uid !== undefined && uid !== stored.metadata.uid) {
    const message = `Invalid value: ${JSON.stringify(uid)}: field is immutable`;
    throw invalid(resource, nameOf(stored), [{ field: 'metadata.uid', reason: 'FieldValueInvalid', message }]);
  }
  return object;
};

export const createHandlers = ({ store, reader, writer, watches, toJson }: HandlerDependencies) => {
  const create = async (call: Call): Promise<void> => {
    if (call.route.name !== '') throw methodNotAllowed();
    const context = contextOf(call, 'CreateOptions');
    const object = asObject(await decodeBody(call.exchange), call.resource);
    const created = await writer.create(call.resource, call.route.namespace, object, context);
    call.exchange.json(201, created);
  };

  const update = async (call: Call): Promise<void> => {
    const { resource, route, exchange } = call;
    const context = contextOf(call, 'UpdateOptions');
    const object = asObject(await decodeBody(exchange), resource);
    const target = targetOf(call);
    const known = store.get(resourceKey(resource), target.namespace, target.name) !== undefined;
    if (
      !known &&
      resource.createOnUpdate &&
      route.subresource === '' &&
      (object.metadata.resourceVersion ?? '') === ''
    ) {
      object.metadata.name ??= route.name;
      exchange.json(201, await writer.create(resource, route.namespace, object, context));
      return;
    }
    if (known && !resource.unconditionalUpdate && (object.metadata.resourceVersion ?? '') === '') {
      const message = 'Invalid value: 0: must be specified for an update';
      throw invalid(resource, route.name, [
        { field: 'metadata.resourceVersion', reason: 'FieldValueInvalid', message },
      ]);
    }
    exchange.rawJson(200, toJson(await writer.update(target, () => structuredClone(object), context)));
  };

  const patch = async (call: Call): Promise<void> => {
    const { resource, exchange } = call;
    const accepted = [PATCH_JSON, PATCH_MERGE, ...(resource.custom ? [] : [PATCH_STRATEGIC])];
    const type = contentType(exchange);
    if (!accepted.includes(type)) throw unsupportedMediaType(accepted);
    const context = contextOf(call, 'PatchOptions');
    const document = parseJson(await exchange.body());
    const updated = await writer.update(
      targetOf(call),
      (stored) => patchObject(type, resource, document, stored),
      context,
    );
    exchange.rawJson(200, toJson(updated));
  };

  const deleteOptions = async ({ exchange, route }: Call): Promise<{ input: DeleteInput; dryRun: boolean }> => {
    const body = await exchange.body();
    const parsed = body.length === 0 ? {} : asRecord(parseJson(body));
    const { uid, resourceVersion } = asRecord(parsed['preconditions']);
    return {
      dryRun: (Array.isArray(parsed['dryRun']) && parsed['dryRun'].includes('All')) || route.query['dryRun'] === 'All',
      input: {
        preconditions: {
          ...(typeof uid === 'string' ? { uid } : {}),
          ...(typeof resourceVersion === 'string' ? { resourceVersion } : {}),
        },
      },
    };
  };

  const remove = async (call: Call): Promise<void> => {
    const { resource, route, exchange } = call;
    const { input, dryRun } = await deleteOptions(call);
    const target = targetOf(call);
    const before = store.get(resourceKey(resource), target.namespace, target.name);
    if (before === undefined) throw notFound(resource, route.name);
    const left = await writer.remove(target, input, { ...contextOf(call, 'DeleteOptions'), dryRun });
    if (left !== undefined || RETURN_DELETED.has(resourceKey(resource))) {
      exchange.json(200, left ?? before);
      return;
    }
    const details = {
      name: route.name,
      ...(resource.group === '' ? {} : { group: resource.group }),
      kind: resource.plural,
      uid: before.metadata.uid,
    };
    exchange.json(200, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details });
  };

  const removeAll = async (call: Call): Promise<void> => {
    const { resource, route, exchange } = call;
    const { input, dryRun } = await deleteOptions(call);
    const matches = matcherOf(resource, route);
    const namespace = resource.namespaced && route.namespace !== '' ? route.namespace : undefined;
    const gone = store.list(resourceKey(resource), namespace).filter((object) => matches(object));
    const context = { ...contextOf(call, 'DeleteOptions'), dryRun };
    for (const object of gone) {
      await writer.remove(
        { resource, namespace: object.metadata.namespace ?? '', name: nameOf(object) },
        input,
        context,
      );
    }
    const items = gone.map((object) => toJson(object)).join(',');
    exchange.rawJson(
      200,
      `{"kind":"${resource.kind}List","apiVersion":"${apiVersionOf(resource)}","metadata":{"resourceVersion":"${store.version}"},"items":[${items}]}`,
    );
  };

  const get = ({ resource, route, exchange }: Call): void => exchange.rawJson(200, toJson(reader.get(resource, route)));
  const list = ({ resource, route, exchange }: Call): void => exchange.rawJson(200, reader.list(resource, route));
  const watch = ({ resource, route, actor, exchange }: Call): void =>
    watches.serve(resource, route, actor.username, exchange);

  const verbs: Readonly<Record<string, (call: Call) => void | Promise<void>>> = {
    create,
    update,
    patch,
    get,
    list,
    watch,
    delete: remove,
    deletecollection: removeAll,
  };

  /** Runs the verb; a subresource is only known where the resource has it. */
  return async (call: Call): Promise<void> => {
    const { resource, route } = call;
    if (route.subresource !== '' && !(route.subresource === 'status' && resource.status)) throw unknownResource();
    const handler = verbs[route.verb];
    const needsName = ['update', 'patch'].includes(route.verb);
    const badForStatus = route.subresource === 'status' && !['get', 'update', 'patch'].includes(route.verb);
    if (handler === undefined || (needsName && route.name === '') || badForStatus) throw methodNotAllowed();
    await handler(call);
  };
};
