// What clients ask to learn the API: groups, versions, resources and the server's version.
import type { Registry, ServedResource } from './served-resource.ts';

const VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];
const STATUS_VERBS = ['get', 'patch', 'update'];

const describe = (resource: ServedResource): Record<string, unknown>[] => {
  const { plural, singular, namespaced, kind, shortNames } = resource;
  const main = {
    name: plural,
    singularName: singular,
    namespaced,
    kind,
    verbs: VERBS,
    ...(shortNames.length > 0 ? { shortNames } : {}),
  };
  const status = { name: `${plural}/status`, singularName: '', namespaced, kind, verbs: STATUS_VERBS };
  return resource.status ? [main, status] : [main];
};

const groupOf = (name: string, versions: ReadonlySet<string>): Record<string, unknown> => {
  const list = [...versions].map((version) => ({ groupVersion: `${name}/${version}`, version }));
  return { name, versions: list, preferredVersion: list[0] };
};

/** /version as kube-apiserver words it. */
export const describeVersion = (gitVersion: string): Record<string, string> => {
  const [, major = '1', minor = '0'] = /^v?(\d+)\.(\d+)/.exec(gitVersion) ?? [];
  return {
    major,
    minor,
    gitVersion,
    gitCommit: '',
    gitTreeState: 'clean',
    buildDate: '1970-01-01T00:00:00Z',
    goVersion: '',
    compiler: '',
    platform: 'linux/amd64',
  };
};

const groups = (registry: Registry): Map<string, Set<string>> => {
  const result = new Map<string, Set<string>>();
  for (const { group, version } of registry.all()) {
    if (group === '') continue;
    result.set(group, (result.get(group) ?? new Set()).add(version));
  }
  return result;
};

const resourceList = (registry: Registry, group: string, version: string): Record<string, unknown> | undefined => {
  const resources = registry.all().filter((resource) => resource.group === group && resource.version === version);
  if (resources.length === 0) return undefined;
  return {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: group === '' ? version : `${group}/${version}`,
    resources: resources.flatMap((resource) => describe(resource)),
  };
};

/** The discovery document of a path, or undefined if there is none. */
export const discover = (registry: Registry, path: string): Record<string, unknown> | undefined => {
  const parts = path.split('/').filter((part) => part !== '');
  const [root, group = '', version = ''] = parts;
  if (root === 'api' && parts.length === 1)
    return { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] };
  if (root === 'api' && parts.length === 2) return resourceList(registry, '', group);
  if (root !== 'apis') return undefined;
  const known = groups(registry);
  if (parts.length === 1)
    return {
      kind: 'APIGroupList',
      apiVersion: 'v1',
      groups: [...known].map(([name, versions]) => groupOf(name, versions)),
    };
  const versions = known.get(group);
  if (versions === undefined) return undefined;
  if (parts.length === 2) return { kind: 'APIGroup', apiVersion: 'v1', ...groupOf(group, versions) };
  return parts.length === 3 ? resourceList(registry, group, version) : undefined;
};
