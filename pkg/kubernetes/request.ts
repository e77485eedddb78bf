// Builds paths, queries and content types of Kubernetes REST requests; nothing here sends anything.
import type { ObjectRef } from '../apis/meta.ts';
import type { Resource } from '../apis/resources.ts';
import type { ListOptions, PatchType, Selection, WatchOptions, WriteOptions } from './types.ts';

/** Values of undefined are left out. */
export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export const CONTENT_TYPES: Readonly<Record<PatchType, string>> = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  // The server parses YAML here, of which JSON is a subset; `application/apply-patch+json` does not exist.
  apply: 'application/apply-patch+yaml',
};

/** Page size of lists; the size that client-go's pager and kubectl use. */
export const DEFAULT_PAGE_SIZE = 500;

const rootOf = ({ group, version }: Resource): string =>
  group === '' ? `/api/${version}` : `/apis/${group}/${version}`;

export const withQuery = (path: string, query: Query): string => {
  const parameters = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) if (value !== undefined) parameters.append(key, String(value));
  const encoded = parameters.toString();
  if (encoded === '') return path;
  return `${path}${path.includes('?') ? '&' : '?'}${encoded}`;
};

/**
 * Path of the collection: of one namespace, or of all when `namespace` is omitted.
 *
 * @throws TypeError for a namespace on a cluster-scoped resource: the request would silently mean something else.
 */
export const collectionPath = (resource: Resource, namespace?: string): string => {
  if (namespace === undefined) return `${rootOf(resource)}/${resource.plural}`;
  if (!resource.namespaced) {
    throw new TypeError(`${resource.plural} is cluster-scoped, but namespace "${namespace}" was given`);
  }
  if (namespace === '') throw new TypeError(`${resource.plural}: the namespace is empty`);
  return `${rootOf(resource)}/namespaces/${encodeURIComponent(namespace)}/${resource.plural}`;
};

/**
 * Path of one object, with its subresource if given. Names are kept in their case.
 *
 * @throws TypeError when the name, or the namespace of a namespaced resource, is missing.
 */
export const objectPath = (resource: Resource, { namespace, name }: ObjectRef, subresource?: string): string => {
  if (name === '') throw new TypeError(`${resource.plural}: the object has no name`);
  if (resource.namespaced && namespace === undefined) {
    throw new TypeError(`${resource.plural} "${name}": the namespace is missing`);
  }
  const path = `${collectionPath(resource, resource.namespaced ? namespace : undefined)}/${encodeURIComponent(name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
};

const selectionQuery = ({ labelSelector, fieldSelector }: Selection): Query => ({ labelSelector, fieldSelector });

/** `limit: 0` asks for everything in one answer. */
export const listQuery = (options: ListOptions): Query => {
  const limit = options.limit ?? DEFAULT_PAGE_SIZE;
  return {
    ...selectionQuery(options),
    limit: limit === 0 ? undefined : limit,
    continue: options.continue,
    // With a continue token the server refuses both: the token names the version.
    resourceVersion: options.continue === undefined ? options.resourceVersion : undefined,
    resourceVersionMatch: options.continue === undefined ? options.resourceVersionMatch : undefined,
  };
};

export const watchQuery = (options: WatchOptions, timeoutSeconds: number): Query => ({
  watch: 1,
  ...selectionQuery(options),
  resourceVersion: options.resourceVersion,
  allowWatchBookmarks: options.allowWatchBookmarks ?? true,
  timeoutSeconds,
});

export const writeQuery = ({ dryRun, fieldManager, force }: WriteOptions): Query => ({
  dryRun: dryRun === true ? 'All' : undefined,
  fieldManager,
  force: force === true ? true : undefined,
});
