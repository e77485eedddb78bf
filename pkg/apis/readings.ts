// Small readings of core objects.
import type { Namespace, Node } from './core.ts';
import { isFields } from './fields.ts';
import { ANNOTATION_HINTS, HINTS_OFF, LABEL_ZONE, SWITCH_NAMESPACE, isNowhere } from './names.ts';
import type { KubernetesObject, ObjectRef } from './meta.ts';

/** Why nothing is done while the switch is off, for conditions, decisions and events. */
export const SWITCHED_OFF = {
  reason: 'SwitchedOff',
  message: 'hints are switched off in the whole cluster; `kubectl topology on` switches them on',
} as const;

const isOff = (namespace: Namespace | undefined): boolean =>
  namespace?.metadata?.annotations?.[ANNOTATION_HINTS] === HINTS_OFF;

/** @param namespaces - which may be unknown: then it is on. */
export const isSwitchedOff = (namespaces: { get(ref: ObjectRef): Namespace | undefined }): boolean =>
  isOff(namespaces.get({ name: SWITCH_NAMESPACE }));

/** Whether this change of a namespace turned the switch. */
export const isSwitching = (namespace: Namespace, previous: Namespace | undefined): boolean =>
  namespace.metadata?.name === SWITCH_NAMESPACE && isOff(namespace) !== isOff(previous);

/** Empty where a label, or a field that was copied from one, names no zone; a hint for no client is none, also where a Node has it. */
export const zoneIn = (value: string | undefined): string => (value === undefined || isNowhere(value) ? '' : value);

/** Empty where the Node has no zone. */
export const zoneOfNode = ({ metadata }: KubernetesObject): string => zoneIn(metadata?.labels?.[LABEL_ZONE]);

/** Of all Nodes that have one, in name order. */
export const zonesOfNodes = (nodes: readonly Node[]): string[] =>
  [...new Set(nodes.map(zoneOfNode))].filter((zone) => zone !== '').sort();

export const isNodeReady = ({ status }: Node): boolean =>
  (status?.conditions ?? []).some(({ type, status: value }) => type === 'Ready' && value === 'True');

/**
 * An endpoint that does not state it counts as ready. The API documents so (k8s.io/api discovery/v1, EndpointConditions), and proxies do it:
 * kube-proxy (pkg/proxy/endpointslicecache.go, Kubernetes 1.36) and Cilium (pkg/k8s/endpoints.go, 1.16 to 1.20: `Ready == nil || *Ready`).
 * Upstream's control plane reads absence as not ready (k8s.io/endpointslice topologycache/utils.go, EndpointReady) but never leaves it out.
 *
 * @param endpoint - checked or not
 */
export const isEndpointReady = ({ conditions }: { readonly conditions?: unknown }): boolean =>
  !isFields(conditions) || conditions['ready'] !== false;
