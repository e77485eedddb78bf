// Gateways before a Service that no route names: a waypoint of Istio, and the ingress gateway before the API servers of Shoots.
import { type Node, type Service, zoneOfNode } from '../../apis/core.ts';
import { nameOf, objectTitle } from '../../apis/values.ts';
import { keyOfService, serviceRefOf } from '../models/lookup.ts';
import type { EntryObject, PodSummary } from '../snapshot.ts';
import type { Found } from './members.ts';
import { OF_GARDENER } from './settings.ts';

interface Around {
  readonly entries: readonly EntryObject[];
  readonly images: readonly string[];
  readonly pods: ReadonlyMap<string, readonly PodSummary[]>;
  readonly choosing: ReadonlySet<string>;
  readonly byService: ReadonlyMap<string, readonly unknown[]>;
}

const GATEWAY = 'gateway.networking.k8s.io/gateway-name';

export const namesWaypoint = ({ metadata }: Service): boolean =>
  metadata?.labels?.['istio.io/use-waypoint'] !== undefined;

/** istio/istio manifests/charts/istio-control/istio-discovery/files/waypoint.yaml; the name is the usual one. */
const isWaypointPod = ({ labels }: PodSummary): boolean =>
  labels['gateway.istio.io/managed'] === 'istio.io-mesh-controller' || labels[GATEWAY] === 'waypoint';

/** That of its namespace, by its Gateway, or its Pods where no Gateway was read; where other Services name theirs, this one may have none. */
export const byWaypoint = (service: Service, { entries, pods, choosing }: Around): Found[] => {
  const { namespace, name } = serviceRefOf(service);
  const gateway = entries.find((each) => each.namespace === namespace && each.className === 'istio-waypoint');
  const pod = pods.get(namespace)?.find(isWaypointPod);
  const value = gateway?.name ?? pod?.labels[GATEWAY];
  if (value === undefined || value === name || namesWaypoint(service)) return [];
  const object = gateway ? objectTitle(gateway) : `Pod ${namespace}/${pod?.name}`;
  const evidence = { object, field: 'metadata.name', value };
  return [{ client: 'istio-waypoint', evidence, possible: choosing.has(namespace) }];
};

const EVERY_ZONE =
  'Pods of the waypoint in every zone that has clients (by an autoscaler, or parametersRef of its Gateway), see `kubectl topology explain {namespace}/{value}`';

/** Where the Pods of a waypoint are seen to be: clients of other zones cross to them, whatever its Envoy does then. */
export const ofWaypoint = (name: string, pods: readonly PodSummary[] = [], nodes: readonly Node[]) => {
  const hosts = new Set(pods.flatMap(({ labels, nodeName }) => (labels[GATEWAY] === name ? nodeName : [])));
  const zones = new Set(nodes.filter((node) => hosts.has(nameOf(node))).map(zoneOfNode));
  const isEverywhere = zones.size > 0 && nodes.every((node) => zones.has(zoneOfNode(node)));
  return {
    controller: `in ${zones.size === 0 ? 'whatever zone' : [...zones].join(', ')}`,
    own: isEverywhere ? {} : { keeps: false, setting: EVERY_ZONE },
  };
};

/** gardener/gardener docs/operations/kube_apiserver_loadbalancing.md; #6653 */
const BY_GATEWAY =
  'clients of the Shoot come through the Istio ingress gateway, whose Envoy goes by its own zone, or with layer-7 load balancing by trafficDistribution; with one API server in each zone, keeping to zones and even load exclude each other';

/** API servers that Gardener has Istio's gateway expose, where none of its objects was read. */
export const ofShoot = (service: Service, { images, byService }: Around): Found[] => {
  const key = keyOfService(service);
  const isExposed = /^(?:shoot--.+|garden)\/(?:virtual-garden-)?kube-apiserver$/.test(key) && !byService.has(key);
  if (!isExposed || !images.some((image) => /\/(?:pilot|proxyv2):/.test(image))) return [];
  const evidence = { object: `Service ${key}`, field: 'metadata.namespace', value: key };
  return [{ client: 'istio-gateway', evidence, own: { decides: BY_GATEWAY, setting: OF_GARDENER, keeps: false } }];
};
