// Gateways before a Service that no route names: a waypoint of Istio, and the ingress gateway before the API servers of Shoots.
import { type Service, zoneOfNode } from '../../apis/core.ts';
import type { StringMap } from '../../apis/meta.ts';
import { defined, keyOf, nameOf, objectTitle, refOf } from '../../apis/values.ts';
import { matchesSelector } from '../../routing/types.ts';
import type { EntryObject, PodSummary } from '../snapshot.ts';
import type { BypassIndex } from './bypass-index.ts';
import type { Found } from './members.ts';
import { OF_GARDENER, USE, namesWaypoint } from './settings.ts';

const GATEWAY = 'gateway.networking.k8s.io/gateway-name';

/** Labels of its Namespace, where it names no waypoint itself: istio.io "Configure waypoint proxies". */
const spaceOf = (service: Service, { kinds }: Pick<BypassIndex, 'kinds'>): StringMap => {
  const { namespace } = refOf(service);
  return kinds.get('Namespace')?.find(({ name }) => name === namespace && !namesWaypoint(service))?.annotations ?? {};
};

/** istio/istio manifests/charts/istio-control/istio-discovery/files/waypoint.yaml; the name is the usual one. */
export const isWaypointPod = ({ labels }: PodSummary): boolean =>
  labels['gateway.istio.io/managed'] === 'istio.io-mesh-controller' || labels[GATEWAY] === 'waypoint';

/** That of its namespace, by its Gateway, or its Pods where no Gateway was read; where other Services name theirs, this one may have none. */
export const byWaypoint = (service: Service, { entries, kinds, pods, choosing }: BypassIndex): Found[] => {
  const { namespace, name } = refOf(service);
  const { [USE]: named } = spaceOf(service, { kinds });
  const gateway = entries.find((each) => each.namespace === namespace && each.className === 'istio-waypoint');
  const pod = pods.get(namespace)?.find(isWaypointPod);
  const value = named ?? gateway?.name ?? pod?.labels[GATEWAY];
  if (value === undefined || [name, 'none'].includes(value) || namesWaypoint(service)) return [];
  const object = named ? `Namespace ${namespace}` : gateway ? objectTitle(gateway) : `Pod ${namespace}/${pod?.name}`;
  const evidence = { object, field: named ? 'metadata.labels' : 'metadata.name', value };
  return [{ client: 'istio-waypoint', evidence, possible: !named && choosing.has(namespace) }];
};

/** istio/istio#55283 */
const EVERY_ZONE =
  'Pods of the waypoint in every zone that has clients (by an autoscaler, or from Istio 1.26 on parametersRef of its Gateway), see `kubectl topology explain {at}/{value}`';

export const zonesOfPods = ({ nodes }: BypassIndex, pods: readonly PodSummary[] = []): string[] => {
  const hosts = new Set(pods.map(({ nodeName }) => nodeName));
  return [...new Set(nodes.filter((node) => hosts.has(nameOf(node))).map(zoneOfNode))];
};

/** Where clients that are seen run, or a gateway of Istio, if not in all zones: by the label that its Gateways select (istio/istio#40113). */
export const runsIn = ({ from = '', clients, all }: Partial<Found>, index: BypassIndex) => {
  const isIt = ({ labels: { istio = '' } }: PodSummary): boolean => /^(?!pilot$)./.test(istio);
  const zones = zonesOfPods(index, clients ? clients.filter(() => all) : index.pods.get(from)?.filter(isIt));
  return [0, new Set(index.nodes.map(zoneOfNode)).size].includes(zones.length) ? undefined : zones;
};

/** Where the Pods of a waypoint are seen to be: clients of other zones cross to them, whatever its Envoy does then. */
export const ofWaypoint = (name: string, service: Service, index: BypassIndex) => {
  const marks = { ...spaceOf(service, index), ...service.metadata?.labels };
  const at = marks['istio.io/use-waypoint-namespace'] ?? refOf(service).namespace;
  const pods = index.pods.get(at)?.filter(({ labels }) => labels[GATEWAY] === name);
  const zones = zonesOfPods(index, pods);
  const isEverywhere = zones.length > 0 && index.nodes.every((node) => zones.includes(zoneOfNode(node)));
  const restart = 'of kgateway, a restart of the waypoint after each change of trafficDistribution';
  const isOf = (own: EntryObject) => own.className.startsWith('kgateway') && own.name === name && own.namespace === at;
  const todo = [isEverywhere ? [] : EVERY_ZONE.replace('{at}', at), index.entries.some(isOf) ? restart : []].flat();
  const controller = `in ${zones.length === 0 ? 'whatever zone' : zones.join(', ')}`;
  return { controller, own: todo.length === 0 ? {} : { keeps: false, setting: todo.join('; ') } };
};

export const OF_SUBSET = 'Pods of that subset in every zone that has clients';

/** Of a DestinationRule: a subset that is not in every zone that has Pods of the Service. */
export const splitText = (service: Service, index: BypassIndex): string => {
  const podsWith = (matchLabels: StringMap): PodSummary[] =>
    index.podsOf(service).filter(({ labels }) => matchesSelector({ matchLabels }, labels));
  const within = (labels: StringMap = {}): string[] => zonesOfPods(index, podsWith(labels));
  const own = index.rules.filter(({ services }) => services.includes(keyOf(service)));
  const parts = own.flatMap(({ subsets = [] }) => subsets.map((labels) => ({ labels, zones: within(labels) })));
  const split = parts.find(({ zones }) => zones.length > 0 && zones.length < within().length);
  const named = Object.entries(split?.labels ?? {}).map((pair) => pair.join('='));
  return split ? `; its subset ${named.join()} is in ${split.zones.join()} alone: what goes to that crosses` : '';
};

const BY_ADDRESS = {
  decides: 'it names the cluster IP, which Cilium from 1.18 on leaves to the Service: nothing is redirected',
  setting: 'a new policy with `serviceMatcher` in place of `addressMatcher`',
  unsure: true,
} as const;

/** What is sent from Nodes without a Pod for it: cilium/cilium#41450, #41463; from the network that the Pod is in: #28918, #26144; what is named by the cluster IP: #43800, #45412; of several ports Pods have to name theirs alike: #28469, #28558. */
export const ofRedirect = ({ takers, ports, ...entry }: EntryObject, { pods, nodes, images }: BypassIndex) => {
  const isOf = (tag: RegExp): boolean => images.some((image) => tag.test(image));
  if (entry.settings['address'] !== undefined) return isOf(/\bcilium:v1\.(?:1[89]|2)/) ? BY_ADDRESS : undefined;
  const all = takers && pods.get(entry.namespace)?.filter((pod) => pod.ready && matchesSelector(takers, pod.labels));
  const own = all?.filter((pod) => ports[1] === undefined || pod.ports.some((port) => ports.includes(port)));
  if (own?.some(({ inHost }) => inHost) && isOf(/\bcilium:v1\.(?:\d|1[0-4])\./)) {
    const decides =
      'its Pod is in the network of the host: what other Pods send was seen to reach that one, and elsewhere the Pods of the Service (cilium/cilium#28918, #18603), and up to Cilium 1.14 what others in that network send gets no answer';
    const setting = 'that Pod without `hostNetwork`, or Cilium 1.15 or newer for what others in that network send';
    return { decides, setting, fails: 'NoLocalEndpoints', unsure: true } as const;
  }
  const bare = nodes.map(nameOf).filter((node) => own?.every(({ nodeName }) => nodeName !== node));
  if (all === undefined || all.length === 0 || bare.length === 0) return undefined;
  const fails = isOf(/\bcilium:v1\.18\.[01]\b/) ? ('NoLocalEndpoints' as const) : undefined;
  const there = fails ? 'fails in 1.18.0 and 1.18.1' : 'goes through the Service';
  const decides = `Cilium hands what Pods send to it to a Pod on their own Node; what is sent from ${bare.length} of ${nodes.length} Nodes, which have none${own?.[all.length - 1] ? '' : ` with a port named ${ports.slice(0, 5).join(' or ')}`} (${bare.slice(0, 3).join(', ')}${bare.length > 3 ? ', …' : ''}), ${there}`;
  const setting = `${own?.[all.length - 1] ? 'such a Pod' : 'a Pod whose containers give their ports these names'} on every Node${fails ? ', or Cilium 1.18.2' : ''}`;
  return { decides, setting, unsure: true, ...defined({ fails }) } as const;
};

/** gardener/gardener docs/operations/kube_apiserver_loadbalancing.md; #6653 */
const BY_GATEWAY =
  'clients of the Shoot come through the Istio ingress gateway, whose Envoy goes by its own zone, or with layer-7 load balancing by trafficDistribution; with one API server in each zone, keeping to zones and even load exclude each other';

/** API servers that Gardener has Istio's gateway expose, where none of its objects was read. */
export const ofShoot = (service: Service, { images, byService }: BypassIndex): Found[] => {
  const key = keyOf(service);
  const isExposed = /^(?:shoot--.+|garden)\/(?:virtual-garden-)?kube-apiserver$/.test(key) && !byService.has(key);
  if (!isExposed || !images.some((image) => /\/(?:pilot|proxyv2):/.test(image))) return [];
  const evidence = { object: `Service ${key}`, field: 'metadata.namespace', value: key };
  return [{ client: 'istio-gateway', evidence, own: { decides: BY_GATEWAY, setting: OF_GARDENER, keeps: false } }];
};
