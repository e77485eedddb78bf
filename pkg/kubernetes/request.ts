// Paths and queries of Kubernetes REST requests, what counts as an answer of the API server, and lists page by page.
import { setImmediate } from 'node:timers/promises';
import { type Fields, defined, isFields } from '../apis/values.ts';
import type { KubernetesObject, ObjectList, ObjectRef } from '../apis/meta.ts';
import { type Resource, apiVersionOf } from '../apis/resources.ts';
import { ConnectionError, type RequestIdentity, ifFound } from './errors.ts';
import { AnswerTooLongError } from './exchange.ts';
import type { Client, ListOptions, PatchType, WatchOptions, WriteOptions } from './types.ts';

/** Values of undefined are left out. */
type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export const CONTENT_TYPES: Readonly<Record<PatchType, string>> = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
};

/** The patch under optimistic lock: a conflict where the object is no longer the one that was read. */
export const lockedPatch = (patch: { readonly metadata?: unknown }, { metadata }: KubernetesObject): object => ({
  ...patch,
  metadata: { ...(patch.metadata as object | undefined), resourceVersion: metadata?.resourceVersion },
});

/** Page size of lists; the size that client-go's pager and kubectl use. */
const DEFAULT_PAGE_SIZE = 500;

const rootOf = (resource: Resource): string => `${resource.group === '' ? '/api' : '/apis'}/${apiVersionOf(resource)}`;

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
  if (!resource.namespaced)
    throw new TypeError(`${resource.plural} is cluster-scoped, but namespace "${namespace}" was given`);
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
  if (resource.namespaced && namespace === undefined)
    throw new TypeError(`${resource.plural} "${name}": the namespace is missing`);
  const path = `${collectionPath(resource, resource.namespaced ? namespace : undefined)}/${encodeURIComponent(name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
};

export const listQuery = (options: ListOptions): Query => {
  const { labelSelector, fieldSelector, limit = DEFAULT_PAGE_SIZE } = options;
  return { labelSelector, fieldSelector, limit, continue: options.continue };
};

export const watchQuery = (options: WatchOptions, timeoutSeconds: number): Query => ({
  watch: 1,
  labelSelector: options.labelSelector,
  fieldSelector: options.fieldSelector,
  resourceVersion: options.resourceVersion,
  allowWatchBookmarks: true,
  timeoutSeconds,
});

export const writeQuery = ({ dryRun, fieldManager }: WriteOptions): Query => ({
  dryRun: dryRun === true ? 'All' : undefined,
  fieldManager,
});

/** The answer is not what the protocol allows. Messages never quote it: it may hold anything. */
export const invalidAnswer = (request: RequestIdentity, message: string): ConnectionError =>
  new ConnectionError({ ...request, reason: 'InvalidResponse', message });

const nameIn = (value: Fields): unknown => (isFields(value['metadata']) ? value['metadata']['name'] : undefined);

/** Kinds that are answered and not stored: they have no name. */
const NAMELESS = new Set(['TokenReview', 'SubjectAccessReview', 'TokenRequest']);

/**
 * A single object as the API server answers it.
 *
 * @param name - The object asked for; undefined where the server chooses.
 * @throws ConnectionError `InvalidResponse` for JSON that is not this object: an answer of `{}` to the renewal of a Lease would make
 * a leader of a process whose write never arrived.
 */
export const asObject = <T extends KubernetesObject>(
  value: unknown,
  { kind }: Resource,
  name: string | undefined,
  request: RequestIdentity,
): T => {
  if (!isFields(value) || value['kind'] !== kind) throw invalidAnswer(request, `the answer is no ${kind}`);
  if (NAMELESS.has(kind)) return value as T;
  const answered = nameIn(value);
  if (typeof answered !== 'string' || answered === '' || (name !== undefined && answered !== name))
    throw invalidAnswer(request, `the answer is another ${kind} than the one that was asked for`);
  return value as T;
};

/** Items come without apiVersion and kind, events of a watch with them; caches want one shape. */
const asItem = <T extends KubernetesObject>(item: unknown, resource: Resource, request: RequestIdentity): T => {
  if (!isFields(item) || typeof nameIn(item) !== 'string' || nameIn(item) === '')
    throw invalidAnswer(request, `the ${resource.kind}List has an item without a name`);
  const object = item as T;
  object.apiVersion ??= apiVersionOf(resource);
  object.kind ??= resource.kind;
  return object;
};

const stringOrAbsent = (value: unknown): boolean => value === undefined || typeof value === 'string';

/**
 * One page of a list.
 *
 * client-go refuses an answer without kind as well (runtime.NewMissingKindErrWithBody).
 *
 * @throws ConnectionError `InvalidResponse` for JSON that is not the list that was asked for: a proxy's `{}` must not read as
 * "nothing is there".
 */
export const asList = <T extends KubernetesObject>(
  value: unknown,
  resource: Resource,
  request: RequestIdentity,
): ObjectList<T> => {
  const kind = `${resource.kind}List`;
  if (!isFields(value) || value['kind'] !== kind) throw invalidAnswer(request, `the answer is no ${kind}`);
  const metadata = value['metadata'] ?? {};
  // Go encodes an empty list of some aggregated servers as null.
  const items = value['items'] === null ? [] : value['items'];
  if (!isFields(metadata) || !Array.isArray(items)) throw invalidAnswer(request, `the ${kind} has no items`);
  if (!stringOrAbsent(metadata['resourceVersion']) || !stringOrAbsent(metadata['continue']))
    throw invalidAnswer(request, `the ${kind} has metadata that is no text`);
  return { ...value, metadata, items: items.map((item) => asItem<T>(item, resource, request)) };
};

export type FetchPage<T extends KubernetesObject> = (
  options: ListOptions,
  signal?: AbortSignal,
) => Promise<ObjectList<T>>;

/** Kubernetes is made for 150,000 Pods (kubernetes.io/docs/setup/best-practices/cluster-large); no resource read here has more. */
const MAX_ITEMS = 500_000;
/** Pages may be short, even empty, but not without end. */
const MAX_PAGES = 10_000;

/** A token holds a version and a key in etcd, less than a thousand characters. */
const MAX_TOKEN_LENGTH = 4_096;

/** Counts what came, and refuses what no API server would send. */
const createLimits = (request: RequestIdentity) => {
  const seen = new Set<string>();
  let items = 0;
  const refuse = (message: string): never => {
    throw invalidAnswer(request, message);
  };
  /** Token of the next page; undefined after the last. */
  return ({ metadata, items: { length } }: ObjectList<KubernetesObject>): string | undefined => {
    items += length;
    if (items > MAX_ITEMS) refuse(`the list has more than ${MAX_ITEMS} items`);
    const token = metadata.continue;
    if (token === undefined || token === '') return undefined;
    if (token.length > MAX_TOKEN_LENGTH) refuse('the list names its next page with a token that is too long');
    if (seen.has(token)) refuse('the list names the same next page twice');
    if (seen.size >= MAX_PAGES) refuse(`the list has more than ${MAX_PAGES} pages`);
    seen.add(token);
    return token;
  };
};

/** The page, in as many halves as its length asks for; the size that was read goes with it. */
const fetchWithin = async <T extends KubernetesObject>(
  fetchPage: FetchPage<T>,
  options: ListOptions,
  signal: AbortSignal | undefined,
): Promise<{ page: ObjectList<T>; limit: number | undefined }> => {
  let { limit } = options;
  for (;;) {
    try {
      return { page: await fetchPage({ ...options, ...defined({ limit }) }, signal), limit };
    } catch (error) {
      const size = limit ?? DEFAULT_PAGE_SIZE;
      if (!(error instanceof AnswerTooLongError) || size <= 1) throw error;
      limit = Math.ceil(size / 2);
    }
  }
};

/**
 * Yields every page of a list; `request` is what errors name. A page that is too long for one answer is asked for again with half as many items, and so are those
 * after it.
 *
 * @throws ApiError 410 when the continue token expired between two pages: the list must begin anew, since the pages
 * before it belong to a version that the server no longer has. ConnectionError `InvalidResponse` for a list without end.
 */
export const pagesOf = async function* <T extends KubernetesObject>(
  fetchPage: FetchPage<T>,
  request: RequestIdentity,
  options: ListOptions,
  signal?: AbortSignal,
): AsyncGenerator<ObjectList<T>, void> {
  const next = createLimits(request);
  let asked = options;
  for (;;) {
    const { page, limit } = await fetchWithin(fetchPage, asked, signal);
    const token = next(page);
    yield page;
    if (token === undefined) return;
    // Parsing a page of 500 blocks for about 12 ms; webhook answers and lease renewals get their turn in between.
    await setImmediate();
    signal?.throwIfAborted();
    // All pages over the connection of the first.
    const { newConnection: _opened, ...same } = options;
    asked = { ...same, ...defined({ limit }), continue: token };
  }
};

export const listAll = async <T extends KubernetesObject>(
  client: Pick<Client, 'pages'>,
  ...asked: Parameters<Client['pages']>
): Promise<T[]> => (await Array.fromAsync(client.pages<T>(...asked), ({ items }) => items)).flat();

/** What `keep` makes of all objects of a resource, page by page; none where the resource is not served. */
export const listKept = async <T extends KubernetesObject, Kept = T>(
  client: Pick<Client, 'pages'>,
  resource: Resource,
  keep: (object: T) => Kept | undefined,
  signal: AbortSignal,
): Promise<Kept[]> => {
  const pages = client.pages<T>(resource, {}, signal);
  const kept = Array.fromAsync(pages, ({ items }) => items.flatMap((item) => keep(item) ?? []));
  return ((await ifFound(kept)) ?? []).flat();
};
