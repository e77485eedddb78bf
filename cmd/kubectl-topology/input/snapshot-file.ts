// A cluster in one file: the snapshot that the commands work on, without what looks like a secret.
import type { ObjectMeta, StringMap } from '../../../pkg/apis/meta.ts';
import { CONFIG_GROUP, GROUP } from '../../../pkg/apis/names.ts';
import { type Fields, isFields } from '../../../pkg/apis/values.ts';
import { SERVICE_MARKS, steersClient } from '../../../pkg/diagnosis/bypasses/kinds.ts';
import { withoutOtherHosts } from '../../../pkg/diagnosis/bypasses/members.ts';
import { endpointRights } from '../../../pkg/diagnosis/bypasses/watchers.ts';
import { namesBalancer } from '../../../pkg/diagnosis/explain/balancers.ts';
import { parseTraffic, trafficDocument } from '../../../pkg/diagnosis/measured.ts';
import { FieldError, asFields } from '../../../pkg/diagnosis/project/fields.ts';
import { PLANE_FLAGS, isAnyAgent } from '../../../pkg/diagnosis/routers/planes.ts';
import { flagValue } from '../../../pkg/diagnosis/routers/kube-proxy.ts';
import type { RouterObject } from '../../../pkg/diagnosis/routers/types.ts';
import { COLLECTIONS, type ClusterSnapshot, changeItems, itemsOf } from '../../../pkg/diagnosis/snapshot.ts';
import { maskValue } from '../../../pkg/telemetry/redact.ts';
import { withCertificates } from './resources.ts';

const API_VERSION = `status.${GROUP}/v1alpha1`;
const KIND = 'TopologySnapshot';

/** Begin the names of annotations that say how a Service is routed, and what was done about it. */
const ANNOTATIONS: readonly string[] = [
  `${GROUP}/`,
  `${CONFIG_GROUP}/`,
  'service.kubernetes.io/',
  'service.cilium.io/',
  'apps.kubeedge.io/',
  'argocd.argoproj.io/tracking-id',
  'meta.helm.sh/release-name',
  'objectset.rio.cattle.io/owner-',
  'loadbalancer.openstack.org/enable-health-monitor',
  'metallb.io/ip-allocated-from-pool',
  'metallb.universe.tf/ip-allocated-from-pool',
  'k3s.io/node-args',
  'rke2.io/node-args',
  ...SERVICE_MARKS.map(([key]) => key),
];

/** Of the arguments that k3s and RKE2 keep on a Node, tokens among them, what switches kube-proxy off. */
const DISABLES_PROXY = /"--disable-kube-proxy(?:=(?:true|false))?"(?:,\s*"(?:true|false)")?/;

/** Flags that say what a data plane does with hints, and all that their values may be. */
const FLAGS = ['feature-gates', 'proxy-mode', 'enable-lb', ...PLANE_FLAGS];
const FLAG_VALUE =
  /^(?:true|false|strict|partial|probe|disabled|iptables|ipvs|nftables|userspace|kernelspace|(?:[A-Z]\w{0,62}=(?:true|false)(?:,(?=[A-Z])|$))+)$/;

/** Settings of ConfigMaps and custom resources. */
const SETTINGS =
  /^(?:kube-proxy-replacement|enable-service-topology|enable-lb|nodeClass|zones|full|class|service-upstream|bpf-lb-sock(?:-hostns-only)?|ipam|localityLbSetting\.enabled|rootNamespace|mode|featureGates\..*|antreaProxy\..*|spec\.ipAddressPools|spec\.bpfEnabled|spec\.calicoNetwork\.linuxDataplane|spec\.defaultNetwork\.type)$/;

/** DaemonSets beside those of data planes that say how clients reach Services. */
const OTHER_SETS: ReadonlySet<string> = new Set(['ztunnel', 'kmesh', 'node-local-dns']);

const keptArgs = (args: readonly string[]): string[] => [
  ...FLAGS.flatMap((name) => {
    const value = flagValue(args, name);
    return value !== undefined && FLAG_VALUE.test(value) ? [`--${name}=${value}`] : [];
  }),
  // That it reads a file is enough to know.
  ...(flagValue(args, 'config') === undefined ? [] : ['--config']),
];

const entriesOf = (values: StringMap, keep: (name: string) => boolean): StringMap =>
  Object.fromEntries(Object.entries(values).filter(([name]) => keep(name)));

const routerWithoutSecrets = ({ calls: _, ...router }: RouterObject): RouterObject => ({
  ...router,
  settings: entriesOf(router.settings, (name) => SETTINGS.test(name)),
  containers: router.containers.map(({ name, image, args, env }) => ({
    name,
    image,
    args: keptArgs(args),
    env: entriesOf(env, (own) => /^(?:FELIX_BPFENABLED|svc_election|bgp_enable|vip_arp|vip_routingtable)$/.test(own)),
  })),
});

const keptAnnotations = (annotations: StringMap): StringMap =>
  Object.fromEntries(
    Object.entries(annotations).flatMap(([name, text]) => {
      // Which load balancer it is shows in the name, and whether it is switched on in the value.
      if (!steersClient(name) && !ANNOTATIONS.some((prefix) => name.startsWith(prefix)))
        return namesBalancer(name) ? [[name, /^(?:true|false)$/.exec(text)?.[0] ?? '']] : [];
      if (!name.endsWith('.io/node-args')) return [[name, text]];
      const [disables] = DISABLES_PROXY.exec(text) ?? [];
      return disables === undefined ? [] : [[name, `[${disables}]`]];
    }),
  );

const withoutAnnotations = <T extends { metadata?: ObjectMeta }>(object: T): T => {
  const { metadata } = object;
  if (metadata?.annotations === undefined) return object;
  return { ...object, metadata: { ...metadata, annotations: keptAnnotations(metadata.annotations) } };
};

/** Everything in it is masked; what could hold a secret under any name is chosen by name. */
export const snapshotDocument = ({ traffic, references: _references, ...snapshot }: ClusterSnapshot): object => {
  const { nodes, services, slices, routers, webhooks, clusterRoles, clusterRoleBindings } = withCertificates(snapshot);
  const rights = endpointRights(snapshot);
  const isKept = (router: RouterObject): boolean =>
    router.kind !== 'DaemonSet' || isAnyAgent(router) || OTHER_SETS.has(router.name) || rights.of(router).length > 0;
  const watching = new Set(itemsOf(clusterRoles).map(({ namespace, name }) => `${namespace}/${name}`));
  const kept = {
    ...snapshot,
    clusterRoleBindings: changeItems(clusterRoleBindings, (items) => items.filter(({ role }) => watching.has(role))),
    nodes: changeItems(nodes, (items) => items.map(withoutAnnotations)),
    services: changeItems(services, (items) => items.map(withoutAnnotations)),
    slices: changeItems(slices, (items) => items.map(withoutAnnotations)),
    workloads: changeItems(snapshot.workloads, (items) => items.map(withoutOtherHosts(snapshot))),
    webhooks: changeItems(webhooks, (items) => items.map(({ caBundle: _, ...webhook }) => webhook)),
    routers: changeItems(routers, (items) => items.filter(isKept).map(routerWithoutSecrets)),
  };
  return {
    apiVersion: API_VERSION,
    kind: KIND,
    metadata: { name: 'snapshot' },
    ...(maskValue(kept) as Fields),
    ...(traffic === undefined ? {} : { traffic: trafficDocument(traffic) }),
  };
};

const isCollection = (value: unknown): boolean =>
  isFields(value) &&
  (value['kind'] === 'known'
    ? Array.isArray(value['items']) && value['items'].every(isFields)
    : value['kind'] === 'unknown' && typeof value['why'] === 'string');

const isVersion = (value: unknown): boolean =>
  value === undefined || (isFields(value) && Number.isInteger(value['major']) && Number.isInteger(value['minor']));

/**
 * What `snapshotDocument` wrote; undefined for any other object.
 *
 * @throws FieldError where this is not what it writes.
 */
export const parseSnapshot = (object: unknown): ClusterSnapshot | undefined => {
  if (!isFields(object) || object['kind'] !== KIND) return undefined;
  if (object['apiVersion'] !== API_VERSION) throw new FieldError(['apiVersion'], API_VERSION, object['apiVersion']);
  for (const name of COLLECTIONS)
    if (!isCollection(object[name])) throw new FieldError([name], 'a collection of a snapshot', object[name]);
  const { version, traffic } = object;
  if (!isVersion(version)) throw new FieldError(['version'], 'a version of Kubernetes', version);
  const snapshot = { ...object, references: [] } as unknown as ClusterSnapshot;
  return traffic === undefined ? snapshot : { ...snapshot, traffic: parseTraffic(asFields(traffic)) };
};
