// From a URL and a method to what is asked for.

/** A request for a resource, or for a raw path. */
export interface Route {
  /** get, list, watch, create, update, patch, delete, deletecollection, raw. */
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly namespace: string;
  readonly name: string;
  readonly subresource: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
}

const isTrue = (value: string | undefined): boolean => value === 'true' || value === '1';

const verbOf = (method: string, name: string, query: Readonly<Record<string, string>>): string => {
  switch (method) {
    case 'GET':
    case 'HEAD':
      if (name !== '') return isTrue(query['watch']) ? 'watch' : 'get';
      return isTrue(query['watch']) ? 'watch' : 'list';
    case 'POST':
      return 'create';
    case 'PUT':
      return 'update';
    case 'PATCH':
      return 'patch';
    case 'DELETE':
      return name === '' ? 'deletecollection' : 'delete';
    default:
      return method.toLowerCase();
  }
};

/** The parts after the group version. */
const resourceParts = (parts: readonly string[]): Pick<Route, 'plural' | 'namespace' | 'name' | 'subresource'> => {
  const [first = '', second = '', third = '', fourth = '', fifth = ''] = parts;
  const namespaceItself = parts.length <= 2 || (parts.length === 3 && (third === 'status' || third === 'finalize'));
  if (first !== 'namespaces' || namespaceItself)
    return { plural: first, namespace: '', name: second, subresource: third };
  return { plural: third, namespace: second, name: fourth, subresource: fifth };
};

/** The route of a request that names no resource. */
export const NO_RESOURCE: Route = {
  verb: 'raw',
  group: '',
  version: '',
  plural: '',
  namespace: '',
  name: '',
  subresource: '',
  path: '/',
  query: {},
};

/** Parses the request target. Throws URIError on broken percent encoding. */
export const parseRoute = (method: string, target: string): Route => {
  const [path = '', search = ''] = target.split('?', 2);
  const query = Object.fromEntries(new URLSearchParams(search));
  const parts = path
    .split('/')
    .filter((part) => part !== '')
    .map((part) => decodeURIComponent(part));
  const raw = { ...NO_RESOURCE, path, query };
  const core = parts[0] === 'api';
  const head = core ? 2 : 3;
  if ((!core && parts[0] !== 'apis') || parts.length <= head) return raw;
  const rest = resourceParts(parts.slice(head));
  return {
    ...raw,
    ...rest,
    verb: verbOf(method, rest.name, query),
    group: core ? '' : (parts[1] ?? ''),
    version: (core ? parts[1] : parts[2]) ?? '',
  };
};
