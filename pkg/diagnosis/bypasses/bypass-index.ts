// What is known of a whole cluster about who goes around the proxies of Services, worked out once.
import { refOf } from '../../apis/values.ts';
import type { StringMap } from '../../apis/meta.ts';
import { isEnabled } from '../../upstream/index.ts';
import { controlPlaneVersion } from '../models/lookup.ts';
import { type ClusterSnapshot, itemsOf } from '../snapshot.ts';
import { SOCKETS } from './kinds.ts';
import { memberIndex, servicesOf } from './members.ts';
import { isUpstream, namesWaypoint, ofCache } from './settings.ts';
import { podFinder, watcherIndex } from './watchers.ts';

export const bypassIndex = (snapshot: ClusterSnapshot) => {
  const [entries, services, nodes] = [itemsOf(snapshot.ingresses), itemsOf(snapshot.services), itemsOf(snapshot.nodes)];
  const version = controlPlaneVersion(snapshot, undefined);
  const labels = [...new Set(nodes.flatMap(({ metadata }) => Object.keys(metadata?.labels ?? {})))];
  const daemonSets = itemsOf(snapshot.routers).filter(({ kind }) => kind === 'DaemonSet');
  const maps = itemsOf(snapshot.routers).filter(({ kind, name }) => kind === 'ConfigMap' && name.startsWith('istio'));
  const config = Object.assign({}, ...maps.map(({ settings }) => settings)) as StringMap;
  const { rootNamespace: root = 'istio-system', ...locality } = config;
  const { 'localityLbSetting.enabled': off = '', 'localityLbSetting.distribute': distribute = '' } = locality;
  const containers = daemonSets.flatMap((set) => set.containers);
  const workloads = itemsOf(snapshot.workloads);
  const images = [...new Set([...workloads.flatMap((each) => each.images), ...containers.map(({ image }) => image)])];
  const steering = [...containers.flatMap(({ args }) => args), ...workloads.map((each) => each.steering ?? '')];
  const watchers = watcherIndex(snapshot);
  const configured = itemsOf(snapshot.routers).map((each) => Object.entries(each.settings).join(';'));
  const { runners } = watchers;
  const pods = Map.groupBy(itemsOf(snapshot.pods), ({ namespace }) => namespace);
  const ways = entries.flatMap((entry) => servicesOf(entry, services, runners).map((service) => ({ service, entry })));
  return {
    byService: Map.groupBy(ways, ({ service }) => service),
    entries,
    references: Map.groupBy(snapshot.references ?? [], ({ service }) => service),
    services,
    /** Of Emissary, where no Mapping names another. */
    resolver: entries.find(({ kind }) => kind === 'Module')?.settings['resolver'] ?? '',
    upstreams: new Set(entries.flatMap(({ client, parents }) => (client === 'gloo' ? parents : []))),
    mesh: { off, distribute, root, tracer: locality['defaultConfig.tracing.zipkin.address'] ?? '' },
    direct: entries.filter(({ settings }) => settings['direct'] !== undefined),
    rules: entries.filter(({ settings }) => settings['locality'] !== undefined),
    sidecars: entries.filter(({ settings }) => settings['knows'] !== undefined),
    /** Services that a VirtualService sends to from sidecars, of whatever namespace. */
    meshed: new Set(entries.flatMap(({ settings: { sidecars = '' } }) => sidecars.split(','))),
    meshes: Map.groupBy(itemsOf(snapshot.pods), ({ mesh }) => mesh),
    pods,
    podsOf: podFinder(pods),
    watchers,
    /** Of Gateways, by the label that Envoy Gateway and kgateway give them. */
    proxies: itemsOf(snapshot.pods).filter((pod) => /gateway-name$/m.test(Object.keys(pod.labels).join('\n'))),
    kinds: Map.groupBy(entries, ({ kind }) => kind),
    members: memberIndex(services, watchers.runners, entries),
    hasField: isEnabled('ServiceTrafficDistribution', version),
    daemonSets,
    containers,
    images,
    pilots: images.filter((image) => image.includes('/pilot:')),
    /** What proxies that are Deployments were started with. */
    steering: steering.join(' '),
    /** East-west gateways show a mesh of several clusters (istio/istio#30832, #46427). */
    joined: services.some(({ metadata }) => metadata?.labels?.['topology.istio.io/network'] !== undefined)
      ? '; the mesh has other clusters, whose endpoints are among its own, and what they send here passes an east-west gateway, which balances connections, not requests'
      : '',
    choosing: new Set(services.filter(namesWaypoint).map((each) => refOf(each).namespace)),
    nginxUpstream: configured.some((own) => own.includes('service-upstream,true')),
    ofCache: ofCache(services.find(isUpstream)),
    nodes,
    labels,
    isHosted: nodes.length > 0 && !labels.some((label) => /control-?plane|role\.kubernetes\.io\/master/.test(label)),
    isGke: labels.some((label) => label.startsWith('cloud.google.com/gke-')),
    sockets: SOCKETS.filter(([, by, unless]) => configured.some((own) => by.test(own) && !unless.test(own))),
  };
};

export type BypassIndex = ReturnType<typeof bypassIndex>;
