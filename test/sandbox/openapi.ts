// Just enough OpenAPI v3 for kubectl to see that the server validates fields itself; no schemas.
import type { Registry, ServedResource } from './served-resource.ts';

const pathOf = ({ group, version }: ServedResource): string =>
  group === '' ? `api/${version}` : `apis/${group}/${version}`;

const PATCH_PARAMETERS = ['dryRun', 'fieldManager', 'fieldValidation'].map((name) => ({
  name,
  in: 'query',
  schema: { type: 'string', uniqueItems: true },
}));

const describePaths = (resource: ServedResource): [string, unknown] => {
  const { group, version, kind, plural, namespaced } = resource;
  const path = `/${pathOf(resource)}/${namespaced ? 'namespaces/{namespace}/' : ''}${plural}/{name}`;
  const operation = {
    operationId: `patch${kind}`,
    parameters: PATCH_PARAMETERS,
    responses: { 200: { description: 'OK' } },
    'x-kubernetes-action': 'patch',
    'x-kubernetes-group-version-kind': { group, version, kind },
  };
  return [path, { patch: operation }];
};

/** The document of an /openapi path, or undefined. */
export const describeOpenApi = (registry: Registry, path: string): Record<string, unknown> | undefined => {
  const resources = registry.all();
  const [, wanted] = /^\/openapi\/v3(?:\/(.*))?$/.exec(path) ?? [];
  if (path === '/openapi/v3') {
    const paths = Object.fromEntries(
      resources.map((resource) => [pathOf(resource), { serverRelativeURL: `/openapi/v3/${pathOf(resource)}` }]),
    );
    return { paths };
  }
  const selected = resources.filter((resource) => pathOf(resource) === wanted);
  if (selected.length === 0) return undefined;
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version: 'sandbox' },
    paths: Object.fromEntries(selected.map((resource) => describePaths(resource))),
    components: { schemas: {} },
  };
};
