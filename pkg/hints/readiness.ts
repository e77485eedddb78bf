// Hints of endpoints that are not ready: for no client, and so that they say what the endpoint serves once it is ready.
//
// Cilium 1.18.5 to 1.20.1 leaves a zone without endpoints where the only one hinted for it is not ready (`DefaultSelectBackends` of
// pkg/loadbalancer/writer/writer.go), and 1.14 to 1.19 ignores all hints where one that terminates has none. A hint for a zone that no
// client is in does neither; kube-proxy looks at no hints of endpoints that are not ready (pkg/proxy/topology.go).
import { type EndpointHints, isEndpointReady } from '../apis/core.ts';
import { LABEL_SLICE_MANAGED_BY, NOT_READY, NOWHERE, SLICE_CONTROLLER, isNowhere } from '../apis/names.ts';
import { defined, isLabelValue } from '../apis/values.ts';

const DNS_LABEL = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/;
const MAX_NODE_NAME_LENGTH = 253;

/** Most entries that the API accepts in `forZones` and in `forNodes`. */
export const MAX_HINTS = 8;

/** A zone in which there may be clients. */
export const isZoneName = (value: unknown): value is string => isLabelValue(value) && !isNowhere(value);

/** A DNS subdomain of at most 253 characters. */
export const isNodeName = (value: unknown): value is string =>
  typeof value === 'string' &&
  value.length <= MAX_NODE_NAME_LENGTH &&
  value.split('.').every((label) => DNS_LABEL.test(label));

/**
 * Their reconcilers take every endpoint anew, without hints, when the conditions of one change (`reconcileByPortMapping` of
 * k8s.io/endpointslice reconciler.go and of pkg/controller/endpointslicemirroring, Kubernetes 1.36).
 */
const REBUILDING: ReadonlySet<unknown> = new Set([SLICE_CONTROLLER, 'endpointslicemirroring-controller.k8s.io']);

/**
 * Whether no endpoint of the slice becomes ready with the hints that it has now. A writer that changes `ready` in place would publish a ready
 * endpoint without clients while no webhook looks.
 */
export const isRebuilt = (labels: Readonly<Record<string, unknown>> | undefined): boolean =>
  REBUILDING.has(labels?.[LABEL_SLICE_MANAGED_BY]);

/** The name for which an endpoint is hinted once it is ready. */
export const whenReady = (name: string): string => (name.startsWith(NOT_READY) ? name.slice(NOT_READY.length) : name);

const waiting = (name: string): string => `${NOT_READY}${name}`;

const named = (names: readonly string[]) => (names.length === 0 ? undefined : names.map((name) => ({ name })));

export const hintsFor = (zones: readonly string[], nodes: readonly string[]): EndpointHints | undefined =>
  zones.length + nodes.length === 0 ? undefined : defined({ forZones: named(zones), forNodes: named(nodes) });

/** Zones whose names become too long are given up for the endpoint's own; Nodes altogether. Undefined: nothing is left. */
export const waitingHints = (
  { forZones, forNodes }: EndpointHints,
  zone: string | undefined,
): EndpointHints | undefined => {
  const zones = (forZones ?? []).map(({ name }) => waiting(name));
  const own = zone === undefined || !isLabelValue(waiting(zone)) ? NOWHERE : waiting(zone);
  const nodes = (forNodes ?? []).map(({ name }) => waiting(name));
  return hintsFor(zones.every(isLabelValue) ? zones : [own], nodes.every(isNodeName) ? nodes : []);
};

/**
 * The hints of an endpoint now.
 *
 * @param hints - those that it has when it is ready
 * @param rebuilt - of its slice: `isRebuilt`
 */
export const hintsNow = (
  endpoint: { readonly conditions?: unknown; readonly zone?: string },
  hints: EndpointHints | undefined,
  rebuilt: boolean,
): EndpointHints | undefined => {
  if (hints === undefined || isEndpointReady(endpoint)) return hints;
  return rebuilt ? waitingHints(hints, endpoint.zone) : undefined;
};

/** Gardener looks after these two namespaces and takes webhooks away that could stand in its way there. */
const GUARDED_NAMESPACES: readonly string[] = ['kube-system', 'default'];

/** Namespaces that are never served: the own and the guarded ones unless included, and those that are excluded. */
export const excludedNamespacesOf = (
  ownNamespace: string,
  { included, excluded }: { readonly included: readonly string[]; readonly excluded: readonly string[] },
): string[] =>
  [...new Set([ownNamespace, ...GUARDED_NAMESPACES, ...excluded])].filter((name) => !included.includes(name)).sort();
