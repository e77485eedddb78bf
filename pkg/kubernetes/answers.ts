// What counts as an answer of the API server: any other JSON with status 200 comes from something in between.
import { isFields } from '../apis/fields.ts';
import type { Fields } from '../apis/fields.ts';
import type { KubernetesObject, ObjectList } from '../apis/meta.ts';
import { apiVersionOf } from '../apis/resources.ts';
import type { Resource } from '../apis/resources.ts';
import { ConnectionError } from './errors.ts';
import type { RequestIdentity } from './errors.ts';

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
  if (typeof answered !== 'string' || answered === '' || (name !== undefined && answered !== name)) {
    throw invalidAnswer(request, `the answer is another ${kind} than the one that was asked for`);
  }
  return value as T;
};

/** Items come without apiVersion and kind, events of a watch with them; caches want one shape. */
const asItem = <T extends KubernetesObject>(item: unknown, resource: Resource, request: RequestIdentity): T => {
  if (!isFields(item) || typeof nameIn(item) !== 'string' || nameIn(item) === '') {
    throw invalidAnswer(request, `the ${resource.kind}List has an item without a name`);
  }
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
  if (!stringOrAbsent(metadata['resourceVersion']) || !stringOrAbsent(metadata['continue'])) {
    throw invalidAnswer(request, `the ${kind} has metadata that is no text`);
  }
  return { ...value, metadata, items: items.map((item) => asItem<T>(item, resource, request)) };
};
