// Who may go around proxies although no object says so: workloads that may watch endpoints everywhere and receive traffic of others.
import type { Service } from '../../apis/core.ts';
import { isAnyAgent } from '../routers/planes.ts';
import { withLabels } from './kinds.ts';
import { keyOf, objectTitle, refOf } from '../../apis/values.ts';
import { matchesSelector } from '../../routing/types.ts';
import type { ClusterSnapshot } from '../snapshot.ts';
import { type CollectionName, type EntryObject, type PodSummary, ROLES, type Workload, itemsOf } from '../snapshot.ts';

/** Proxies whose Ingresses and routes are read: those name the Services that they send to. */
const BY_ROUTES =
  /ingress-nginx|nginx-(?:(?:plus-)?ingress|gateway-fabric)|traefik|haproxy-ingress|haproxytech\/kubernetes-ingress|appscode\/(?:voyager|haproxy)|contour|envoyproxy\/gateway|\bkong\b|apisix|skipper|bigip-ctlr|cntr-ingress-svcs|agentgateway|inference-(?:scheduler|extension)|\bgloo\b|pomerium|emissary|http-add-on-interceptor/;
/** What says whom those send to: a class, a Gateway or a rule does not. */
const ROUTES = /Route|^(?:(?:TCP|UDP)?Ingress|HTTPProxy|HTTPScaledObject)$|(?:Mapping|TransportServer)$|^Virtual/;
/** Istio's gateways: nothing beside the proxy, whose image injection may fill in. */
export const GATEWAY = /istio(?:-release)?\/proxyv2|^auto$/;
/** Other proxies, and what programs load balancers outside (NetScaler, Avi), by their images. */
const PROXIES =
  /(?<!cilium-)\b(?:netscaler-k8s|citrix-k8s|ako|envoy|ambassador|kong|apisix|gloo|higress|haproxy|nginx-gateway|voyager)\b/;

/** What runs Pods, as far as it shows what these are and may do. */
export type Runner = Pick<Workload, 'kind' | 'namespace' | 'name' | 'podLabels' | 'serviceAccount' | 'images'> &
  Partial<Pick<Workload, 'replicas' | 'steering' | 'calls' | 'registry' | 'selectors' | 'set'>>;

type Account = Pick<Runner, 'namespace'> & Partial<Pick<Runner, 'serviceAccount'>>;

const accountOf = ({ namespace, serviceAccount = '' }: Account): string => `${namespace}/${serviceAccount}`;

/** Workloads, but no ReplicaSet whose Deployment is there, DaemonSets that are no data plane, and Pods of ServiceAccounts that no workload seen has, each of these once. */
const runnersOf = ({ routers, workloads, pods }: ClusterSnapshot): Runner[] => {
  const seen = new Set(itemsOf(workloads).map(({ kind, namespace, name }) => `${kind} ${namespace}/${name}`));
  const own = itemsOf(workloads).filter(
    ({ kind, namespace, marks }) =>
      kind === 'Deployment' || !marks?.ownerReferences?.some((by) => seen.has(`${by.kind} ${namespace}/${by.name}`)),
  );
  const daemonSets = itemsOf(routers).filter((set) => set.kind === 'DaemonSet' && !isAnyAgent(set));
  const sets = daemonSets.map(({ serviceAccount = '', labels: podLabels, containers, ...set }) => {
    const images = containers.map(({ image }) => image);
    return { ...set, podLabels, serviceAccount, images };
  });
  const owned = new Set([...own, ...sets].map(accountOf));
  const others = itemsOf(pods).filter((pod) => !owned.has(accountOf(pod)));
  const ofPods = others.map((pod) => ({ kind: 'Pod', podLabels: pod.labels, images: [], ...pod }));
  return [...own, ...sets, ...new Map(ofPods.map((pod) => [accountOf(pod), pod])).values()];
};

/** What ServiceAccounts may watch, where (empty: everywhere), and by which binding. */
export const endpointRights = ({ clusterRoles, clusterRoleBindings }: ClusterSnapshot) => {
  const roles = new Map(itemsOf(clusterRoles).map((role) => [`${role.namespace}/${role.name}`, role]));
  const rights = itemsOf(clusterRoleBindings).flatMap(({ namespace: within, name: binding, role, accounts }) => {
    const right = roles.get(role);
    return right ? accounts.map((account) => ({ ...right, within, account, binding })) : [];
  });
  const byAccount = Map.groupBy(rights, ({ account }) => account);
  return {
    /** Of ServiceAccounts that may, whatever they name; a star: all namespaces. */
    namespaces: [...new Set(rights.flatMap((own) => (own.ifNamed ? [] : own.account.split('/').slice(0, 1))))],
    /** Bindings name an account, all of its namespace, or all. */
    of: (own: Account) => [accountOf(own), `${own.namespace}/*`, '*/*'].flatMap((name) => byAccount.get(name) ?? []),
  };
};

export const selects = ({ metadata, spec }: Service, own: Pick<Runner, 'namespace' | 'podLabels'>) =>
  metadata?.namespace === own.namespace &&
  Object.keys(spec?.selector ?? {}).length > 0 &&
  matchesSelector({ matchLabels: spec?.selector ?? {} }, own.podLabels);

export const isExported = ({ namespace, settings: { exportTo = '*' } }: EntryObject, from: string): boolean =>
  exportTo.split(',').some((to) => to === '*' || (to === '.' ? namespace : to) === from);

/** Finds the Pods of a Service without a look at all of its namespace: thousands of Services ask. */
export const podFinder = (pods: ReadonlyMap<string, readonly PodSummary[]>) => {
  const byLabel = new Map<string, ReadonlyMap<string | undefined, readonly PodSummary[]>>();
  return (service: Service): readonly PodSummary[] => {
    const { namespace } = refOf(service);
    const [label = '', value] = Object.entries(service.spec?.selector ?? {})[0] ?? [];
    const key = `${namespace}/${label}`;
    const byValue = byLabel.get(key) ?? Map.groupBy(pods.get(namespace) ?? [], ({ labels }) => labels[label]);
    byLabel.set(key, byValue);
    return (byValue.get(value) ?? []).filter(({ labels: podLabels }) => selects(service, { namespace, podLabels }));
  };
};

/** Scrapes what it watches, and sends no traffic of others; OpenFaaS has a row of its own. */
const SCRAPER = /prometheus|vmagent|grafana-agent|openfaas/;

/** Some of its Pods, where others add labels to them: the name of a member, or its role. */
export const maySelect = ({ spec: { selector = {} } = {} }: Service, { podLabels }: Runner): boolean =>
  Object.keys(selector).some((key) => podLabels[key] !== undefined) &&
  Object.entries(selector).every(([key, value]) => (podLabels[key] ?? value) === value);

const OF_GKE = 'kube-system/default-http-backend'; // It answers 404 to what no route takes: kubernetes/ingress-gce#385.
/** For all Services: workloads that receive traffic of others, which of them are suspected, and who else may watch endpoints. */
export const watcherIndex = (snapshot: ClusterSnapshot) => {
  const rights = endpointRights(snapshot);
  const entrances = itemsOf(snapshot.services).filter(({ spec: { type = '' } = {} }) => /^Load|^NodeP/.test(type));
  const runners = runnersOf(snapshot);
  const all = runners.map((runner) => {
    const own = rights.of(runner);
    const wide = own.filter(({ within }) => within === '');
    const may = wide.find(({ everything }) => !everything) ?? wide[0];
    /** Its routes name the Services that it sends to. */
    const isGateway = runner.images.length > 0 && runner.images.every((image) => GATEWAY.test(image));
    const routed = isGateway || runner.images.some((image) => BY_ROUTES.test(image));
    const proxy = runner.images.find((image) => PROXIES.test(image));
    const door = entrances.find((each) => keyOf(each) !== OF_GKE && selects(each, runner));
    const entrance = door ? `${door.spec?.type} Service ${keyOf(door)}` : proxy && `image ${proxy}`;
    // The rights of an administrator say nothing of endpoints.
    const suspected = !routed && entrance !== undefined && may && (proxy !== undefined || !may.everything);
    // What a whole group may says nothing of one that receives no traffic of others.
    const isScraper = [runner.name, ...runner.images].some((text) => SCRAPER.test(text));
    const near = own
      .filter(({ within, lookups }) => within !== '' || (lookups && !suspected && runner.kind !== 'Pod'))
      .filter(({ everything, writes }) => !everything && (!writes || runner.selectors) && !isScraper && !routed)
      .filter(({ account }) => entrance !== undefined || !account.endsWith('/*'))
      .map((right) => ({ runner, may: right }));
    return { runner, may, near, routed, isGateway, isProxy: routed || proxy !== undefined, entrance, suspected };
  });
  const near = all.flatMap((each) => each.near);
  const [gatewaySpace, ...more] = new Set(all.flatMap((own) => (own.isGateway ? own.runner.namespace : [])));
  return {
    runners: Map.groupBy(runners, ({ namespace }) => namespace),
    /** What controls a mesh: its proxies connect to it by its cluster IP. */
    controls: runners.filter(({ images }) => /\/pilot:|linkerd\/controller:|kuma-cp:|consul-k8s/.test(images.join())),
    /** By namespace: who may watch the endpoints of that one alone or looks up those of its own, and does not write them. */
    near: Map.groupBy(near, ({ may, runner }) => may.within || runner.namespace),
    /** Where gateways of Istio run, if that is one namespace. */
    gatewaySpace: more.length === 0 ? gatewaySpace : undefined,
    receivers: all.filter(({ entrance, routed }) => entrance !== undefined || routed),
    others: all.filter(({ suspected, may, runner }) => !suspected && may !== undefined && runner.kind !== 'Pod'),
  };
};

type WatcherIndex = ReturnType<typeof watcherIndex>;

/** Whose Pods are the Service's own does not go around it. */
const receiversBeside = (service: Service, { receivers }: WatcherIndex) =>
  receivers.filter(({ runner }) => !selects(service, runner));

/** What was not read of that which shows who goes around. A cluster was asked for all of it; of files what could matter counts. */
export const unseenWatchers = (snapshot: ClusterSnapshot, service: Service, index: WatcherIndex): CollectionName[] => {
  const missing = (...names: CollectionName[]) =>
    names.filter((name) => snapshot[name].kind === 'unknown' || 'without' in snapshot[name]);
  if (snapshot.version !== undefined) return missing('pods', 'workloads', 'ingresses', ...ROLES);
  // An Ingress without a controller shows nothing.
  if (missing('pods', 'workloads').length === 2) return missing('pods', 'workloads', 'ingresses');
  const beside = receiversBeside(service, index);
  // Waypoints of Istio have no entrance.
  const isDoor = ({ routed, isGateway, entrance }: (typeof beside)[number]) => routed && (!isGateway || entrance);
  const hasRoutes = itemsOf(snapshot.ingresses).some(({ kind }) => ROUTES.test(kind));
  return [
    ...missing('workloads'),
    ...(index.controls.some((own) => !selects(service, own)) ? missing('pods') : []),
    ...(!hasRoutes && beside.some(isDoor) ? ['ingresses' as const] : []),
    ...(beside.some(({ routed }) => !routed) ? missing(...ROLES) : []),
  ];
};

const OF_LIBRARIES =
  'Spring Cloud Kubernetes: `spring.cloud.kubernetes.loadbalancer.mode=SERVICE`; Micronaut: `kubernetes.client.discovery.mode: service`; Quarkus: a URL without `stork://`; Ocelot: `DownstreamHostAndPorts` of its routes without provider `Kube`; Armeria: a client without `KubernetesEndpointGroup`';
const OF_CONTROLLERS = 'of controllers of Ingresses or Gateways often by an annotation: see their documentation';

/** Suspected by what they may do, not by name; `callers`: workloads that name the Service; `isRouted`: an unknown controller sends to it. */
export const watchersOf = (service: Service, index: WatcherIndex, callers: readonly Runner[], isRouted: boolean) => {
  const { namespace: space } = refOf(service);
  const watching = index.near.get(space) ?? [];
  const pods = watching.length === 0 ? [] : (index.runners.get(space) ?? []).filter((each) => selects(service, each));
  const looksFor = (labels: string): boolean =>
    withLabels(labels).some((own) => pods.some(({ podLabels }) => matchesSelector(own, podLabels)));
  const near = watching
    .filter(({ runner, may: { ifNamed, writes, watches } }) => {
      const isNamed = runner.selectors?.some(looksFor) === true || (watches !== 'Pods' && callers.includes(runner));
      return !selects(service, runner) && (isNamed || (!ifNamed && !writes));
    })
    .map((own) => ({ ...own, why: own.may.within ? 'of this namespace' : 'everywhere', byName: OF_LIBRARIES }));
  const wide = receiversBeside(service, index).flatMap(({ runner, entrance = '', may, suspected, isProxy }) => {
    const byName = isRouted || isProxy ? OF_CONTROLLERS : OF_LIBRARIES;
    return may && suspected ? [{ runner, may, why: `and receives traffic of others (${entrance})`, byName }] : [];
  });
  return [...near, ...wide].map(({ runner, may, why, byName }) => {
    const { watches, binding, name: role, namespace, within, ifNamed } = may;
    const value = `${ifNamed ? 'names the Service or its Pods, and may read' : 'may watch'} ${watches}`;
    const field = namespace === '' ? `ClusterRole ${role}` : `Role ${namespace}/${role}`;
    return {
      client: runner.name,
      evidence: { object: objectTitle(runner), field, value },
      decides: `it ${value} ${why}: where it chooses endpoints itself, hints count only if it reads them`,
      setting: `have it connect to the name of the Service (${byName}), or set zones in its own configuration`,
      all: false,
      possible: true,
      source: within === '' ? `ClusterRoleBinding ${binding}` : `RoleBinding ${within}/${binding}`,
      watches: ifNamed ? undefined : watches,
    };
  });
};

/** Of what names the Service: suspicions, one for each kind, but for what made it: its owner, or whose name a label of its group has. */
export const referrersOf = (service: Service, references: ClusterSnapshot['references'] = []) => {
  const { labels = {}, ownerReferences = [] } = service.metadata ?? {};
  const isMaker = (own: (typeof references)[number]): boolean =>
    ownerReferences.some(({ kind, name }) => kind === own.kind && name === own.name) ||
    Object.entries(labels).some(
      ([label, name]) => name === own.name && `.${own.group}/`.endsWith(`.${/^.+\//.exec(label)?.[0]}`),
    );
  const found = references.filter((own) => !isMaker(own));
  return [...new Map(found.map((own) => [`${own.kind}.${own.group}`, own])).values()].map((own) => ({
    client: own.group,
    evidence: { object: objectTitle(own), field: 'spec', value: keyOf(service) },
    decides: 'it names the Service; whether what acts on it goes around is not known here',
    setting: '',
    all: false,
    possible: true,
    names: true as const,
    source: own.group,
  }));
};
