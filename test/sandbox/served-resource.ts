// What the sandbox knows about a resource that it serves, and the registry in which routes find it.
import type { Resource } from '../../pkg/apis/resources.ts';
import type { FieldError } from './errors.ts';
import { nameOf, namespaceOf, type StoredObject } from './object.ts';

/** Facts that decide rules by version. */
export interface RuleContext {
  /** Minor of the served Kubernetes version, for example 36. */
  readonly minor: number;
  /** Next free virtual IP of a family. */
  allocateClusterIP(family: 'IPv4' | 'IPv6'): string;
  allocateNodePort(): number;
}

/** The rules of one kind; every function may mutate the object it is given (it is never a stored one). */
export interface KindRules {
  /** Drops what the type does not have, fills what it always has. Runs before and after admission. */
  readonly normalize?: (object: StoredObject, context: RuleContext) => void;
  /** Allocations and initial status, after admission. */
  readonly prepareCreate?: (object: StoredObject, context: RuleContext) => void;
  readonly prepareUpdate?: (object: StoredObject, old: StoredObject, context: RuleContext) => void;
  readonly validate?: (object: StoredObject, old: StoredObject | undefined, context: RuleContext) => FieldError[];
}

/** A resource as the sandbox serves it. */
export interface ServedResource extends Resource {
  readonly singular: string;
  readonly shortNames: readonly string[];
  /** Has a status subresource. */
  readonly status: boolean;
  /** Defined by a CRD: no strategic merge patch, PUT needs a resourceVersion. */
  readonly custom: boolean;
  /** none: never set; content: rises on changes outside metadata (and status); labels: also on label changes. */
  readonly generation: 'none' | 'content' | 'labels';
  /** PUT without a resourceVersion replaces whatever is there. */
  readonly unconditionalUpdate: boolean;
  /** PUT of a missing object creates it. */
  readonly createOnUpdate: boolean;
  /** A POST keeps the status that it carries (nodes). */
  readonly statusOnCreate: boolean;
  readonly rules: KindRules;
  /** Field selectors beside metadata.name and metadata.namespace. */
  readonly fields: Readonly<Record<string, (object: StoredObject) => string>>;
}

/** Builds a resource from what differs from the defaults of a built-in kind. */
export const served = (resource: Resource, overrides: Partial<ServedResource> = {}): ServedResource => ({
  singular: resource.kind.toLowerCase(),
  shortNames: [],
  status: false,
  custom: false,
  generation: 'none',
  unconditionalUpdate: true,
  createOnUpdate: false,
  statusOnCreate: false,
  rules: {},
  ...resource,
  ...overrides,
  fields: {
    'metadata.name': nameOf,
    ...(resource.namespaced ? { 'metadata.namespace': namespaceOf } : {}),
    ...overrides.fields,
  },
});

/** A resource with the behaviour of a custom resource. */
export const servedCustom = (resource: Resource, overrides: Partial<ServedResource> = {}): ServedResource =>
  served(resource, { custom: true, generation: 'content', unconditionalUpdate: false, ...overrides });

export interface Registry {
  /** The resource at a URL, or undefined. */
  find(group: string, version: string, plural: string): ServedResource | undefined;
  /** By apiVersion and kind of an object. */
  findKind(apiVersion: string, kind: string): ServedResource | undefined;
  all(): ServedResource[];
  set(resource: ServedResource): void;
  delete(resource: Resource): void;
}

const urlKey = (group: string, version: string, plural: string): string => `${group}/${version}/${plural}`;

export const createRegistry = (initial: readonly ServedResource[]): Registry => {
  const byUrl = new Map<string, ServedResource>();
  const byKind = new Map<string, ServedResource>();
  const kindKey = (apiVersion: string, kind: string): string => `${apiVersion}#${kind}`;
  const apiVersion = ({ group, version }: Resource): string => (group === '' ? version : `${group}/${version}`);
  const registry: Registry = {
    find: (group, version, plural) => byUrl.get(urlKey(group, version, plural)),
    findKind: (version, kind) => byKind.get(kindKey(version, kind)),
    all: () => [...byUrl.values()],
    set(resource) {
      byUrl.set(urlKey(resource.group, resource.version, resource.plural), resource);
      byKind.set(kindKey(apiVersion(resource), resource.kind), resource);
    },
    delete(resource) {
      byUrl.delete(urlKey(resource.group, resource.version, resource.plural));
      byKind.delete(kindKey(apiVersion(resource), resource.kind));
    },
  };
  for (const resource of initial) registry.set(resource);
  return registry;
};
