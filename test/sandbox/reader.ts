// Get and list: selectors, pages that stay consistent, and what resourceVersion means on a read.
import { apiVersionOf } from '../../pkg/apis/resources.ts';
import { badRequest, expired, invalidOptions, notFound, versionTooLarge } from './errors.ts';
import { labelsOf, type StoredObject } from './object.ts';
import type { Route } from './route.ts';
import { parseFieldSelector, parseLabelSelector } from './selectors.ts';
import type { ServedResource } from './served-resource.ts';
import { resourceKey, type ObjectStore } from './store.ts';

/** True for objects that the request selects. */
export type ObjectMatcher = (object: StoredObject) => boolean;

/** The request's selectors as one predicate. Throws a 400 Status error. */
export const matcherOf = (resource: ServedResource, { query }: Route): ObjectMatcher => {
  const labels = parseLabelSelector(query['labelSelector']);
  const fields = parseFieldSelector(query['fieldSelector'], resource.fields);
  return (object) => labels(labelsOf(object)) && (fields === undefined || fields(object));
};

/** Version number of a query parameter; undefined when unset. Throws a 400 Status error. */
export const versionOf = (text: string | undefined): number | undefined => {
  if (text === undefined || text === '') return undefined;
  if (!/^\d+$/.test(text))
    throw badRequest(
      `invalid resource version: resourceVersion: Invalid value: ${JSON.stringify(text)}: strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`,
    );
  return Number(text);
};

const checkReached = (text: string | undefined, store: ObjectStore): void => {
  const wanted = versionOf(text);
  if (wanted !== undefined && wanted > store.version) throw versionTooLarge(String(wanted), store.version);
};

interface Snapshot {
  readonly objects: readonly StoredObject[];
  readonly version: number;
}

/** What a page token says. */
interface Token {
  readonly id: number;
  readonly start: number;
}

const MAX_SNAPSHOTS = 200;
const EXPIRED_TOKEN =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter.';

const encodeToken = (token: Token): string =>
  Buffer.from(JSON.stringify({ v: 'sandbox/v1', ...token })).toString('base64url');

const decodeToken = (text: string): Token => {
  try {
    const { id, start } = JSON.parse(Buffer.from(text, 'base64url').toString('utf8')) as Partial<Token>;
    if (typeof id === 'number' && typeof start === 'number') return { id, start };
  } catch {
    // Falls through to the one answer for every unreadable token.
  }
  throw badRequest('invalid continue token: continue key is not valid');
};

export interface Reader {
  get(resource: ServedResource, route: Route): StoredObject;
  /** JSON text of one page. */
  list(resource: ServedResource, route: Route): string;
  /** Makes every page token answer 410. */
  expireTokens(): void;
}

export const createReader = (store: ObjectStore, toJson: (object: StoredObject) => string): Reader => {
  const snapshots = new Map<number, Snapshot>();
  let lastId = 0;

  const remember = (snapshot: Snapshot): number => {
    lastId += 1;
    snapshots.set(lastId, snapshot);
    const [oldest] = snapshots.keys();
    if (snapshots.size > MAX_SNAPSHOTS && oldest !== undefined) snapshots.delete(oldest);
    return lastId;
  };

  const select = (resource: ServedResource, route: Route): Snapshot => {
    const matches = matcherOf(resource, route);
    const namespace = resource.namespaced && route.namespace !== '' ? route.namespace : undefined;
    const all = store.list(resourceKey(resource), namespace);
    return { objects: all.filter((object) => matches(object)), version: store.version };
  };

  const checkVersion = ({ query }: Route): void => {
    const match = query['resourceVersionMatch'];
    const version = versionOf(query['resourceVersion']);
    if (match !== undefined && match !== '' && version === undefined)
      throw invalidOptions('ListOptions', {
        field: 'resourceVersionMatch',
        reason: 'FieldValueForbidden',
        message: 'Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided',
      });
    checkReached(query['resourceVersion'], store);
    // Only the newest state is kept: an exact older one is as if compacted.
    if (match === 'Exact' && version !== undefined && version !== store.version)
      throw expired(`The resourceVersion for the provided list is too old.`);
  };

  const page = (
    resource: ServedResource,
    route: Route,
    snapshot: Snapshot,
    start: number,
    id: number | undefined,
  ): string => {
    const limit = Number(route.query['limit'] ?? 0);
    const end = limit > 0 ? Math.min(start + limit, snapshot.objects.length) : snapshot.objects.length;
    const remaining = snapshot.objects.length - end;
    const selective = (route.query['labelSelector'] ?? '') !== '' || (route.query['fieldSelector'] ?? '') !== '';
    const metadata = {
      resourceVersion: String(snapshot.version),
      ...(remaining > 0 ? { continue: encodeToken({ id: id ?? remember(snapshot), start: end }) } : {}),
      ...(remaining > 0 && !selective ? { remainingItemCount: remaining } : {}),
    };
    const items = snapshot.objects.slice(start, end).map((object) => toJson(object));
    const head = JSON.stringify({ kind: `${resource.kind}List`, apiVersion: apiVersionOf(resource), metadata });
    return `${head.slice(0, -1)},"items":[${items.join(',')}]}`;
  };

  return {
    get(resource, route) {
      checkReached(route.query['resourceVersion'], store);
      const object = store.get(resourceKey(resource), resource.namespaced ? route.namespace : '', route.name);
      if (object === undefined) throw notFound(resource, route.name);
      return object;
    },
    list(resource, route) {
      const token = route.query['continue'] ?? '';
      if (token === '') {
        checkVersion(route);
        return page(resource, route, select(resource, route), 0, undefined);
      }
      if ((route.query['resourceVersion'] ?? '0') !== '0' && route.query['resourceVersion'] !== '')
        throw badRequest('specifying resource version is not allowed when using continue');
      const { id, start } = decodeToken(token);
      const snapshot = snapshots.get(id);
      if (snapshot === undefined) throw expired(EXPIRED_TOKEN);
      return page(resource, route, snapshot, start, id);
    },
    expireTokens: () => snapshots.clear(),
  };
};
