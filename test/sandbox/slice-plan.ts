// Which slices to create, update, delete or leave, so that they hold the desired endpoints with as few writes as possible.
import { isDeepStrictEqual } from 'node:util';
import type { Endpoint } from '../../pkg/apis/core.ts';
import { LABEL_SERVICE_NAME } from '../../pkg/apis/names.ts';
import { asArray, clone, labelsOf, nameOf, namespaceOf, type JsonRecord, type StoredObject } from './object.ts';
import type { Family, PortGroup } from './slice-endpoints.ts';

/** The controller's default of endpoints in one slice. */
export const MAX_ENDPOINTS_PER_SLICE = 100;
export const LABEL_MANAGED_BY = 'endpointslice.kubernetes.io/managed-by';
export const MANAGED_BY = 'endpointslice-controller.k8s.io';
const LABEL_HEADLESS = 'service.kubernetes.io/headless';
const RESERVED = new Set([LABEL_SERVICE_NAME, LABEL_MANAGED_BY, LABEL_HEADLESS]);

/** A slice and what should become of it. */
export interface SlicePlan {
  readonly create: StoredObject[];
  readonly update: StoredObject[];
  readonly unchanged: StoredObject[];
  readonly remove: StoredObject[];
}

/** Labels of a Service's slices: the Service's own, and the reserved ones. */
export const sliceLabels = (service: StoredObject): Record<string, string> => ({
  ...Object.fromEntries(Object.entries(labelsOf(service)).filter(([key]) => !RESERVED.has(key))),
  ...((service['spec'] as JsonRecord)['clusterIP'] === 'None' ? { [LABEL_HEADLESS]: '' } : {}),
  [LABEL_SERVICE_NAME]: nameOf(service),
  [LABEL_MANAGED_BY]: MANAGED_BY,
});

const newSlice = (service: StoredObject, family: Family, ports: JsonRecord[], endpoints: Endpoint[]): StoredObject => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: {
    generateName: `${nameOf(service)}-`,
    namespace: namespaceOf(service),
    labels: sliceLabels(service),
    ownerReferences: [
      {
        apiVersion: 'v1',
        kind: 'Service',
        name: nameOf(service),
        uid: service.metadata.uid ?? '',
        controller: true,
        blockOwnerDeletion: true,
      },
    ],
  },
  addressType: family,
  endpoints,
  ports,
});

export const endpointsOf = (slice: StoredObject): Endpoint[] => asArray(slice['endpoints']) as Endpoint[];

const withoutHints = ({ hints: _, ...endpoint }: Endpoint): Endpoint => endpoint;

/** Identity of an endpoint: a change of anything else updates it in its slice. */
const identity = ({ addresses, nodeName, targetRef }: Endpoint): string =>
  JSON.stringify([addresses, nodeName ?? '', targetRef?.namespace ?? '', targetRef?.name ?? '']);

/** The slice with other endpoints; what was hinted is gone, as in the original. */
const withEndpoints = (slice: StoredObject, endpoints: Endpoint[], labels: Record<string, string>): StoredObject => ({
  ...slice,
  metadata: { ...slice.metadata, labels },
  endpoints: endpoints.map((endpoint) => clone(endpoint)),
});

interface Draft {
  readonly slice: StoredObject;
  readonly endpoints: Endpoint[];
  changed: boolean;
}

/** Keeps what is still wanted in the slices where it is; returns what has no place yet. */
const keepWanted = (slices: readonly StoredObject[], wanted: readonly Endpoint[], labels: Record<string, string>) => {
  const left = new Map(wanted.map((endpoint) => [identity(endpoint), endpoint]));
  const drafts = slices.map((slice): Draft => {
    let changed = !isDeepStrictEqual(labelsOf(slice), labels);
    const endpoints: Endpoint[] = [];
    for (const endpoint of endpointsOf(slice)) {
      const match = left.get(identity(endpoint));
      if (match === undefined) changed = true;
      else {
        left.delete(identity(endpoint));
        endpoints.push(match);
        if (!isDeepStrictEqual(withoutHints(endpoint), match)) changed = true;
      }
    }
    return { slice, endpoints, changed };
  });
  return { drafts, left: [...left.values()] };
};

/** Puts homeless endpoints into slices that are written anyway, then into the one best filled that can take all of them. */
const fill = (drafts: Draft[], left: Endpoint[]): Endpoint[] => {
  let rest = left;
  const room = (draft: Draft): number => MAX_ENDPOINTS_PER_SLICE - draft.endpoints.length;
  for (const draft of drafts.filter((candidate) => candidate.changed && candidate.endpoints.length > 0)) {
    const taken = Math.max(0, room(draft));
    draft.endpoints.push(...rest.slice(0, taken));
    rest = rest.slice(taken);
  }
  if (rest.length === 0 || rest.length > MAX_ENDPOINTS_PER_SLICE) return rest;
  const fitting = drafts
    .filter((draft) => !draft.changed && room(draft) >= rest.length)
    .sort((a, b) => room(a) - room(b));
  const [best] = fitting;
  if (best === undefined) return rest;
  best.endpoints.push(...rest);
  best.changed = true;
  return [];
};

const planGroup = (
  service: StoredObject,
  family: Family,
  slices: readonly StoredObject[],
  group: PortGroup,
): SlicePlan => {
  const labels = sliceLabels(service);
  const { drafts, left } = keepWanted(slices, group.endpoints, labels);
  const rest = fill(drafts, left);
  const create: StoredObject[] = [];
  for (let start = 0; start < rest.length; start += MAX_ENDPOINTS_PER_SLICE)
    create.push(newSlice(service, family, group.ports, clone(rest.slice(start, start + MAX_ENDPOINTS_PER_SLICE))));
  const alive = drafts.filter(({ endpoints }) => endpoints.length > 0);
  return {
    create,
    update: alive
      .filter(({ changed }) => changed)
      .map(({ slice, endpoints }) => withEndpoints(slice, endpoints, labels)),
    unchanged: alive.filter(({ changed }) => !changed).map(({ slice }) => slice),
    remove: drafts.filter(({ endpoints }) => endpoints.length === 0).map(({ slice }) => slice),
  };
};

const portsKey = (slice: StoredObject): string => JSON.stringify(slice['ports'] ?? []);

/** A Service without endpoints keeps one empty slice. */
const withPlaceholder = (service: StoredObject, family: Family, plan: SlicePlan): SlicePlan => {
  if (plan.create.length + plan.update.length + plan.unchanged.length > 0) return plan;
  const labels = sliceLabels(service);
  const empty = plan.remove.find((slice) => endpointsOf(slice).length === 0 && asArray(slice['ports']).length === 0);
  if (empty === undefined) return { ...plan, create: [newSlice(service, family, [], [])] };
  const remove = plan.remove.filter((slice) => slice !== empty);
  return isDeepStrictEqual(labelsOf(empty), labels)
    ? { ...plan, unchanged: [empty], remove }
    : { ...plan, update: [withEndpoints(empty, [], labels)], remove };
};

/** Plans the slices of one Service and address family. */
export const planSlices = (
  service: StoredObject,
  family: Family,
  slices: readonly StoredObject[],
  groups: ReadonlyMap<string, PortGroup>,
): SlicePlan => {
  const plans = [...groups].map(([key, group]) =>
    planGroup(
      service,
      family,
      slices.filter((slice) => portsKey(slice) === key),
      group,
    ),
  );
  const stale = slices.filter((slice) => !groups.has(portsKey(slice)));
  return withPlaceholder(service, family, {
    create: plans.flatMap(({ create }) => create),
    update: plans.flatMap(({ update }) => update),
    unchanged: plans.flatMap(({ unchanged }) => unchanged),
    remove: [...plans.flatMap(({ remove }) => remove), ...stale],
  });
};

/** New slices take the names of those that would be deleted, so that fewer objects come and go. */
export const reuseNames = ({ create, update, unchanged, remove }: SlicePlan): SlicePlan => {
  const reused = Math.min(create.length, remove.length);
  const renamed = remove.slice(0, reused).map((old, index): StoredObject => {
    const slice = create[create.length - 1 - index] ?? old;
    return { ...slice, metadata: { ...slice.metadata, name: nameOf(old) } };
  });
  return {
    create: create.slice(0, create.length - reused),
    update: [...update, ...renamed],
    unchanged,
    remove: remove.slice(reused),
  };
};
