// Who may go around proxies although no object says so: workloads that may watch endpoints everywhere and receive traffic of others.
import type { Service } from '../../apis/core.ts';
import { isAnyAgent } from '../routers/planes.ts';
import { matchesSelector } from '../../routing/types.ts';
import { serviceKeyOfRef, serviceRefOf } from '../models/lookup.ts';
import { type ClusterSnapshot, type CollectionName, ROLES, itemsOf } from '../snapshot.ts';

/** Proxies whose Ingresses and routes are read: those name the Services that they send to. */
const BY_ROUTES =
  /ingress-nginx|nginx-ingress|traefik|haproxy-ingress|haproxytech\/kubernetes-ingress|contour|envoyproxy\/gateway|\bkong\b|apisix/;
/** Other proxies, by their images. */
const PROXIES =
  /(?<!cilium-)\b(?:envoy|emissary|ambassador|kong|skipper|apisix|gloo|higress|haproxy|nginx-gateway|voyager)\b/;

export interface Runner {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly podLabels: Readonly<Record<string, string>>;
  readonly serviceAccount: string;
  readonly images: readonly string[];
}

const accountOf = ({ namespace, serviceAccount }: Pick<Runner, 'namespace' | 'serviceAccount'>): string =>
  `${namespace}/${serviceAccount}`;

/** DaemonSets that are no data plane: an ingress controller may well be one. They are read in every namespace. */
const daemonSetsOf = ({ routers }: ClusterSnapshot): Runner[] =>
  itemsOf(routers).flatMap((set) =>
    set.kind !== 'DaemonSet' || isAnyAgent(set)
      ? []
      : [
          {
            ...set,
            podLabels: set.labels,
            serviceAccount: set.serviceAccount ?? '',
            images: set.containers.map(({ image }) => image),
          },
        ],
  );

/** Workloads, and Pods of ServiceAccounts that no workload seen has, each of these once. */
const runnersOf = (snapshot: ClusterSnapshot): Runner[] => {
  const workloads = [...itemsOf(snapshot.workloads), ...daemonSetsOf(snapshot)];
  const owned = new Set(workloads.map(accountOf));
  const others = itemsOf(snapshot.pods).filter((pod) => !owned.has(accountOf(pod)));
  const ofPods = new Map(
    others.map((pod) => [accountOf(pod), { kind: 'Pod', podLabels: pod.labels, images: [], ...pod }]),
  );
  return [...workloads, ...ofPods.values()];
};

type Roles = Pick<ClusterSnapshot, 'clusterRoles' | 'clusterRoleBindings'>;

/** What each ServiceAccount, `namespace/name`, may watch, where (empty: everywhere), and by which binding. */
const rightsOf = ({ clusterRoles, clusterRoleBindings }: Roles) => {
  const roles = new Map(itemsOf(clusterRoles).map((role) => [`${role.namespace}/${role.name}`, role]));
  return itemsOf(clusterRoleBindings).flatMap(({ namespace: within, name, role, accounts }) =>
    [roles.get(role) ?? []]
      .flat()
      .flatMap((right) => accounts.map((account) => ({ ...right, within, account, binding: name }))),
  );
};

/** By account, in every namespace; one that names endpoints before one of everything. */
const accountsOf = (snapshot: Roles) => {
  const rights = rightsOf(snapshot).filter(({ within }) => within === '');
  const sorted = rights.sort((a, b) => Number(b.everything) - Number(a.everything));
  return new Map(sorted.map((right) => [right.account, right]));
};

/** ServiceAccounts that may watch endpoints, `namespace/name`. */
export const watchingAccounts = (snapshot: Roles): ReadonlySet<string> =>
  new Set(rightsOf(snapshot).map(({ account }) => account));

/** Of ServiceAccounts that may watch endpoints. */
export const watchingNamespaces = (snapshot: Roles): string[] => [
  ...new Set([...watchingAccounts(snapshot)].map((account) => account.split('/')[0] ?? '')),
];

const ENTRANCES: ReadonlySet<string | undefined> = new Set(['LoadBalancer', 'NodePort']);

const selects = ({ metadata, spec }: Service, { namespace, podLabels }: Runner): boolean =>
  (metadata?.namespace ?? 'default') === namespace &&
  Object.keys(spec?.selector ?? {}).length > 0 &&
  matchesSelector({ matchLabels: spec?.selector ?? {} }, podLabels);

/** For all Services: workloads that receive traffic of others, which of them are suspected, and who else may watch endpoints. */
export const watcherIndex = (snapshot: ClusterSnapshot) => {
  const accounts = accountsOf(snapshot);
  const entrances = itemsOf(snapshot.services).filter(({ spec }) => ENTRANCES.has(spec?.type));
  const all = runnersOf(snapshot).map((runner) => {
    const may = accounts.get(accountOf(runner)) ?? accounts.get(`${runner.namespace}/*`);
    const service = entrances.find((each) => selects(each, runner));
    /** Its routes name the Services that it sends to. */
    const routed = runner.images.some((image) => BY_ROUTES.test(image));
    const proxy = runner.images.find((image) => PROXIES.test(image));
    const entrance =
      service === undefined
        ? proxy && `image ${proxy}`
        : `${service.spec?.type ?? ''} Service ${serviceKeyOfRef(serviceRefOf(service))}`;
    // The rights of an administrator say nothing of endpoints.
    const suspected =
      !routed && entrance !== undefined && may !== undefined && (proxy !== undefined || !may.everything);
    return { runner, may, routed, entrance, suspected };
  });
  return {
    near: nearIndex(snapshot),
    receivers: all.filter(({ entrance, routed }) => entrance !== undefined || routed),
    others: all.filter(({ suspected, may, runner }) => !suspected && may !== undefined && runner.kind !== 'Pod'),
  };
};

/** Scrapes what it watches, and sends no traffic of others. */
const SCRAPER = /prometheus|vmagent|grafana-agent/;

/** By namespace: who may watch the endpoints of that one alone, and does not write them. */
const nearIndex = (snapshot: ClusterSnapshot) => {
  const rights = rightsOf(snapshot).filter(({ within, everything, writes }) => within !== '' && !everything && !writes);
  if (rights.length === 0) return new Map<string, never[]>();
  const runners = Map.groupBy(runnersOf(snapshot), accountOf);
  const near = rights.flatMap((may) =>
    (runners.get(may.account) ?? [])
      .filter(({ name, images }) => ![name, ...images].some((text) => SCRAPER.test(text)))
      .map((runner) => ({ runner, may })),
  );
  return Map.groupBy(near, ({ may }) => may.within);
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
  return [
    ...(beside.some(({ routed }) => routed) ? missing('ingresses') : []),
    ...(beside.some(({ routed }) => !routed) ? missing(...ROLES) : []),
  ];
};

/** Suspected by what they may do, not by name. */
export const watchersOf = (service: Service, index: WatcherIndex) => {
  const near = (index.near.get(serviceRefOf(service).namespace) ?? [])
    .filter(({ runner }) => !selects(service, runner))
    .map((each) => ({ ...each, why: 'of this namespace' }));
  const wide = receiversBeside(service, index).flatMap(({ runner, entrance, may, suspected }) =>
    may === undefined || !suspected ? [] : [{ runner, may, why: `and receives traffic of others (${entrance ?? ''})` }],
  );
  return [...near, ...wide].map(({ runner, may: { watches, binding, name: role, namespace, within }, why }) => ({
    client: runner.name,
    evidence: {
      object: `${runner.kind} ${runner.namespace}/${runner.name}`,
      field: namespace === '' ? `ClusterRole ${role}` : `Role ${namespace}/${role}`,
      value: `may watch ${watches}`,
    },
    decides: `it may watch ${watches} ${why}: where it chooses endpoints itself, hints count only if it reads them`,
    setting: 'have it connect to the name of the Service, or set zones in its own configuration',
    all: false,
    possible: true,
    source: within === '' ? `ClusterRoleBinding ${binding}` : `RoleBinding ${within}/${binding}`,
    watches,
  }));
};
