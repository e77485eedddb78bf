// Which clients of a Service do not pass the rules of its proxies, by the objects that show it.
import type { Service } from '../../apis/core.ts';
import { serviceKeyOfRef, serviceRefOf } from '../models/lookup.ts';
import { routerObjectTitle } from '../routers/kube-proxy.ts';
import type { Evidence } from '../routers/types.ts';
import { type ClusterSnapshot, itemsOf } from '../snapshot.ts';
import {
  API_SERVER,
  API_SERVER_KINDS,
  AWS_TARGETS,
  GATEWAY_CONTROLLERS,
  HEADLESS,
  HEADLESS_TWIN,
  ISTIO_AMBIENT,
  INGRESS_CONTROLLERS,
  MESHES,
  NODE_LOCAL_DNS,
  OWN_ROUTES,
  SERVICE_MARKS,
  UNKNOWN_GATEWAY,
  UNKNOWN_INGRESS,
} from './clients.ts';
import type { Bypass, Client, EntryObject } from './clients.ts';
import { byText } from '../../apis/values.ts';

/** Namespace and selector; undefined without selector. */
const podsOf = (service: Service): string | undefined => {
  const selector = Object.entries(service.spec?.selector ?? {}).sort(([a], [b]) => byText(a, b));
  return selector.length === 0 ? undefined : JSON.stringify([serviceRefOf(service).namespace, selector]);
};

/** What many Services of one snapshot share. */
export const bypassIndex = (snapshot: ClusterSnapshot) => {
  const entries = itemsOf(snapshot.ingresses);
  const pairs = entries.flatMap((entry) => entry.services.map((service) => [service, entry] as const));
  const groups = Map.groupBy(pairs, ([service]) => service);
  const meshed = itemsOf(snapshot.pods).filter(({ mesh }) => mesh !== undefined);
  return {
    byService: new Map([...groups].map(([service, own]) => [service, own.map(([, entry]) => entry)])),
    entries,
    /** Pods with a sidecar by the name of its mesh. */
    meshes: Map.groupBy(meshed, ({ mesh = '' }) => mesh),
    /** Headless Services by what they select. */
    headless: Map.groupBy(
      itemsOf(snapshot.services).filter(({ spec }) => spec?.clusterIP === 'None'),
      podsOf,
    ),
    daemonSets: itemsOf(snapshot.routers).filter(({ kind }) => kind === 'DaemonSet'),
  };
};

type BypassIndex = ReturnType<typeof bypassIndex>;

const entryName = ({ kind, namespace, name }: EntryObject): string =>
  `${kind} ${namespace === '' ? '' : `${namespace}/`}${name}`;

interface Found {
  readonly client: Client;
  readonly evidence: Evidence;
  readonly all?: boolean;
  readonly possible?: boolean;
}

const classOf = ({ className, annotations }: EntryObject): string =>
  className === '' ? (annotations['kubernetes.io/ingress.class'] ?? '') : className;

const ingressClient = (entry: EntryObject, { entries }: BypassIndex): Client => {
  const className = classOf(entry);
  const known = entries.find(({ kind, name }) => kind === 'IngressClass' && name === className)?.controller;
  const row = INGRESS_CONTROLLERS.find(({ controller, className: usual }) =>
    known === undefined ? className !== '' && usual.test(className) : controller.test(known),
  );
  return row ?? UNKNOWN_INGRESS;
};

const gatewayClient = (entry: EntryObject, { entries }: BypassIndex): Client => {
  const gateways = entries.filter(
    ({ kind, namespace, name }) => kind === 'Gateway' && entry.parents.includes(`${namespace}/${name}`),
  );
  const names = new Set(gateways.map(({ className }) => className));
  const controller = entries.find(({ kind, name }) => kind === 'GatewayClass' && names.has(name))?.controller;
  return GATEWAY_CONTROLLERS.find((row) => row.controller.test(controller ?? '')) ?? UNKNOWN_GATEWAY;
};

const isTrue = (value: string | undefined): boolean => value === 'true';

const clientOf = (entry: EntryObject, index: BypassIndex): Client | undefined => {
  if (API_SERVER_KINDS.has(entry.kind)) return API_SERVER;
  if (entry.kind === 'Ingress') return ingressClient(entry, index);
  if (entry.kind === 'TargetGroupBinding') return entry.settings['targetType'] === 'ip' ? AWS_TARGETS : undefined;
  if (entry.kind === 'IngressRoute' && isTrue(entry.settings['nativeLB'])) return undefined;
  return OWN_ROUTES[entry.kind] ?? gatewayClient(entry, index);
};

/** An ALB with instance targets goes through node ports. */
const passesProxy = (client: Client, entry: EntryObject, service: Service): boolean => {
  const own = service.metadata?.annotations ?? {};
  if (client.client === 'aws-alb' && entry.annotations['alb.ingress.kubernetes.io/target-type'] !== 'ip') return true;
  return (client.usesClusterIp ?? []).some((key) => isTrue(entry.annotations[key]) || isTrue(own[key]));
};

const byEntries = (service: Service, index: BypassIndex): Found[] =>
  (index.byService.get(serviceKeyOfRef(serviceRefOf(service))) ?? []).flatMap((entry) => {
    const client = clientOf(entry, index);
    if (client === undefined || passesProxy(client, entry, service)) return [];
    const field = entry.kind === 'Ingress' ? 'spec.ingressClassName' : 'service';
    const value = entry.kind === 'Ingress' ? classOf(entry) : serviceKeyOfRef(serviceRefOf(service));
    return [{ client, evidence: { object: entryName(entry), field, value: value === '' ? '(default)' : value } }];
  });

const byTwins = (service: Service, { headless }: BypassIndex): Found[] => {
  const own = podsOf(service);
  const twins = own === undefined || service.spec?.clusterIP === 'None' ? [] : (headless.get(own) ?? []);
  return twins.slice(0, 1).map((twin) => {
    const object = `Service ${serviceKeyOfRef(serviceRefOf(twin))}`;
    const evidence = { object, field: 'spec.selector', value: 'the same Pods, without cluster IP' };
    return { client: HEADLESS_TWIN, evidence, possible: true };
  });
};

const byMarks = ({ metadata }: Service, name: string): Found[] =>
  SERVICE_MARKS.flatMap(([key, pattern, client]) => {
    const { annotations = {}, labels = {} } = metadata ?? {};
    const field = annotations[key] === undefined ? `metadata.labels[${key}]` : `metadata.annotations[${key}]`;
    const value = annotations[key] ?? labels[key];
    const [other = '', staying] = client.unless ?? [];
    if (value === undefined || !pattern.test(value) || (client.unless && annotations[other] === staying)) return [];
    return [{ client, evidence: { object: `Service ${name}`, field, value } }];
  });

const byDaemonSet = (name: string, client: Client, daemonSets: BypassIndex['daemonSets']): Found[] =>
  daemonSets
    .filter((set) => set.name === name)
    .slice(0, 1)
    .map((set) => ({ client, evidence: { object: routerObjectTitle(set), field: 'metadata.name', value: name } }));

/** Clients in the same namespace are taken for clients of the Service; of others it is not known. */
const byMeshes = (namespace: string, { meshes, daemonSets }: BypassIndex): Found[] => {
  const sidecars = [...meshes].flatMap(([mesh, pods]): Found[] => {
    const client = MESHES[mesh];
    const near = pods.find((pod) => pod.namespace === namespace);
    const pod = near ?? pods[0];
    if (client === undefined || pod === undefined) return [];
    const value = `${pods.length} Pod${pods.length === 1 ? '' : 's'} with its sidecar`;
    const evidence = { object: `Pod ${pod.namespace}/${pod.name}`, field: 'sidecar', value };
    return [{ client, evidence, possible: near === undefined }];
  });
  return [...sidecars, ...byDaemonSet('ztunnel', ISTIO_AMBIENT, daemonSets)];
};

const DNS = 'kube-system/kube-dns';

/** Clients of the Service that go around its proxies, each kind once for each object, in name order. */
export const bypassesOf = (service: Service, index: BypassIndex): Bypass[] => {
  const { namespace, name } = serviceRefOf(service);
  if (service.spec?.type === 'ExternalName') return [];
  const key = `${namespace}/${name}`;
  const isHeadless = service.spec?.clusterIP === 'None';
  const headless = { object: `Service ${key}`, field: 'spec.clusterIP', value: 'None' };
  const found: Found[] = [
    ...(isHeadless ? [{ client: HEADLESS, evidence: headless, all: true }] : []),
    ...byEntries(service, index),
    ...byMarks(service, key),
    ...(key === DNS ? byDaemonSet('node-local-dns', NODE_LOCAL_DNS, index.daemonSets) : []),
    ...byMeshes(namespace, index),
    ...byTwins(service, index),
  ];
  return found
    .map(({ client, evidence, all = false, possible = false }) => ({
      client: client.client,
      evidence,
      decides: client.decides,
      setting: client.setting
        .replaceAll('{service}', name)
        .replaceAll('{name}', evidence.object.split('/').at(-1) ?? name)
        .replaceAll('{namespace}', namespace),
      all,
      possible,
      source: client.source,
    }))
    .sort((a, b) => byText(a.client, b.client) || byText(a.evidence.object, b.evidence.object));
};
