// Sidecars and tunnels of meshes: whose clients they are, and which connections they take.
import type { Service } from '../../apis/core.ts';
import { objectTitle, refOf } from '../../apis/values.ts';
import { compareVersions } from '../../routing/version.ts';
import { keyOfAddress, keyOfRange } from '../../traffic/addresses.ts';
import { versionText } from '../../upstream/proxy/hint-rule.ts';
import { hasSelector } from '../models/lookup.ts';
import type { EntryObject, PodSummary } from '../snapshot.ts';
import type { BypassIndex } from './bypass-index.ts';
import { CLIENTS, type ClientName } from './clients.ts';
import { isWaypointPod } from './gateways.ts';
import { type Found, callingOf, podsRunBy } from './members.ts';
import { imageRelease } from './settings.ts';
import type { Client } from './types.ts';
import { selects } from './watchers.ts';

/** Rules for what others send, and what programs take to cluster IPs. */
export const SENDS_NOTHING =
  /^(?:DestinationRule|TargetGroupConfiguration|ServiceResolver|ProxyDefaults|UpstreamSettingsPolicy|HTTPScaledObject|InterceptorRoute|Backend|EnvoyFilter|Prometheus|MeshLoadBalancing)/;

/** What differs under `internalTrafficPolicy: Local`; undefined: it keeps to the Node, as the Service's proxies do. */
const underLocal = ({ since: { local } = {} }: Client, image = 'no image'): Partial<Client> | undefined => {
  if (local === undefined) return {};
  const seen = imageRelease(image);
  if (seen !== undefined && compareVersions(seen, local) >= 0) return undefined;
  const since = `from ${versionText(local)} on it keeps to the Node (internalTrafficPolicy)`;
  const setting = `an update to ${versionText(local)} or newer`;
  return { decides: `${since}, before it sends to Pods on any; seen: ${image}`, setting, byHints: false };
};

/** By a Sidecar, of the namespace of a client or of the mesh, that hides the Service from Istio's proxies there. */
const hiddenBy = (service: Service, from: string, sidecars: readonly EntryObject[], root: string) => {
  const { namespace, name } = refOf(service);
  const [own] = [from, root].flatMap((at) => sidecars.find((each) => each.namespace === at) ?? []);
  const isKnown = own?.settings['knows']?.split(',').some((host) => {
    const [at = '', dns = ''] = host.replace(/^\.\//, `${from}/`).split('/');
    return ['*', namespace].includes(at) && `${name}.${namespace}.svc.cluster.local`.endsWith(dns.replace('*', ''));
  });
  const sidecar = own ? objectTitle(own) : '';
  const decides = `${sidecar} hides this Service: sidecars of ${from} pass what is for it on to the cluster IP (with outboundTrafficPolicy REGISTRY_ONLY they refuse it), with no rule and no balancing of requests`;
  const setting = `\`${namespace}/*\` among \`spec.egress[].hosts\` of ${sidecar}`;
  return isKnown === false ? { decides, setting } : undefined;
};

/** Ports, or `from-to`, among which all of the Service are, or a range with its address: its connections do not pass the sidecar. */
const leaves = ({ spec }: Service, left: readonly string[] = []): boolean => {
  const isIn = (range: string) => keyOfAddress(spec?.clusterIP ?? '').startsWith(keyOfRange(range.trim()) ?? '-');
  const taken = left.flatMap((range) => (range.startsWith('!') ? range.slice(1) : []));
  const ranges = left.map((range) => range.split('-').map(Number));
  return (
    left.some(isIn) ||
    (taken.length > 0 && !taken.some((range) => range === '*' || isIn(range))) ||
    spec?.ports?.every(({ port }) => ranges.some(([from = 0, to = from]) => from <= port && port <= to)) === true
  );
};

export const byDaemonSet = (name: string, client: ClientName, daemonSets: BypassIndex['daemonSets']): Found[] => {
  // kubespray's has another name.
  const isIt = ({ image }: { image: string }) => name === 'node-local-dns' && image.includes('k8s-dns-node-cache');
  const set = daemonSets.find((each) => each.name === name || each.containers.some(isIt));
  return set ? [{ client, evidence: { object: objectTitle(set), field: 'metadata.name', value: name } }] : [];
};

/** Clients in the same namespace, or that name the Service, are taken for its own; of others it is not known. `around`: by entries, of which `routes` send. */
export const byMeshes = (service: Service, around: readonly Found[], routes: number, index: BypassIndex): Found[] => {
  const { meshes, pods, daemonSets, watchers, steering, podsOf } = index;
  // Sidecars and ztunnel take TCP only.
  const isUdp = service.spec?.ports?.every(({ protocol }) => protocol === 'UDP') ?? false;
  if (isUdp || watchers.controls.some((own) => selects(service, own))) return [];
  const isLocal = service.spec?.internalTrafficPolicy === 'Local';
  const { namespace, name } = refOf(service);
  /** Sidecars send spans to its cluster IP, by no DestinationRule (istio/istio#26658). */
  const isTracer = index.mesh.tracer.split(/\.svc\b|:/)[0] === `${name}.${namespace}`;
  // A gateway that chooses Pods leaves its sidecar nothing to choose (istio/istio#36386).
  const gateways = watchers.receivers.filter(({ routed }) => routed && around.length > 0);
  const inside = new Set([...podsOf(service), ...gateways.flatMap(({ runner }) => podsRunBy(runner, pods))]);
  const isOther = (pod: PodSummary) => !inside.has(pod) && !isWaypointPod(pod);
  const callers = callingOf(service, index).callerPods.filter(({ pod }) => isOther(pod));
  const beside = (index.meshed.has(`${namespace}/${name}`) ? meshes.get('istio') : pods.get(namespace)) ?? [];
  const clients = callers.length > 0 ? callers.map(({ pod }) => pod) : beside.filter(isOther);
  const areInside = (service.spec?.type ?? 'ClusterIP') === 'ClusterIP' && clients.length > 0;
  const areKnown = areInside && routes === around.length;
  const sidecars = [...meshes].flatMap(([mesh, all]): Found[] => {
    if (mesh === undefined) return [];
    const isPaid = mesh === 'linkerd' && all.some(({ meshImage = '' }) => meshImage.includes(':enterprise-'));
    const client = !isPaid ? mesh : steering.includes('zone-weights') ? 'linkerd/hazl' : 'linkerd/enterprise';
    const row = CLIENTS[client];
    const passes = (own: PodSummary) => !isLocal || underLocal(row, own.meshImage) !== undefined;
    const counts = (own: PodSummary) => own.mesh === mesh && !leaves(service, own.leftPorts) && passes(own);
    const near = beside.filter(counts);
    const caller = callers.find((each) => counts(each.pod))?.pod;
    const pod = caller ?? near.find(isOther) ?? all.find((each) => isOther(each) && counts(each)) ?? near[0];
    if (pod === undefined || (isTracer && caller === undefined)) return [];
    const { namespace: from, meshImage: image } = pod;
    const value = `${all.length} Pod${all.length === 1 ? '' : 's'} with its sidecar`;
    const evidence = { object: `Pod ${from}/${pod.name}`, field: 'sidecar', value };
    const bare = caller || near.some(isOther) ? undefined : callers.find((each) => each.pod.mesh === undefined);
    const outside = bare && {
      decides: `${objectTitle(bare.runner)} (${bare.by} names this Service) has no such sidecar and takes the cluster IP: each chooses for what its own Pod sends`,
      setting: 'the sidecar in Pods of clients too',
      byHints: false,
    };
    const hidden = mesh === 'istio' ? hiddenBy(service, from, index.sidecars, index.mesh.root) : undefined;
    const own = outside ?? hidden ?? (isLocal ? underLocal(row, image) : {});
    // Where no client at all is seen, nor a route, the Service's own sidecars stand for theirs.
    const isFar = near.length === 0 || (clients.length + routes > 0 && !near.some(isOther));
    const possible = hidden !== undefined || bare !== undefined || (isFar && caller === undefined);
    const among = { image, controller: image, from, clients: [pod, ...clients.filter(counts)] };
    return [{ client, evidence, possible, all: areKnown && clients.every(counts), own, ...among }];
  });
  const taken = clients.filter(({ ambient }) => ambient === true);
  const all = areKnown && taken.length === clients.length;
  const marks = taken.map((pod) => ({ object: `Pod ${pod.namespace}/${pod.name}`, field: 'ambient', value: 'true' }));
  const [evidence = marks[0]] = byDaemonSet('ztunnel', 'istio-ambient', daemonSets).map((each) => each.evidence);
  const client = hasSelector(service) ? 'istio-ambient' : 'istio-ambient/unselected';
  const ztunnel: Found[] = evidence ? [{ client, evidence, all }] : [];
  return [...sidecars, ...ztunnel, ...byDaemonSet('kmesh', 'kmesh', daemonSets)];
};
