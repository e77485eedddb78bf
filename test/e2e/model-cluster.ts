// A cluster of random cases in the bed: its Nodes, kube-proxies, changes and connections.
import type { FeatureGates } from '../../pkg/upstream/index.ts';
import { ApiFailure } from './bed/api.ts';
import { defaultVersion } from './bed/binaries.ts';
import type { Bed, BedNode } from './bed/index.ts';
import { waitFor } from './bed/machine.ts';
import type { ServiceOptions } from './bed/pod.ts';
import { each } from './hints-support.ts';
import type { ClusterCase, EndpointCase, NodeCase, PodCase, ServiceCase } from './model-cases.ts';
import { readRules } from './proxy-rules.ts';
import { describeDisagreements, disagreements, predictedEndpoints, readStoredObjects } from './traffic-agreement.ts';

const zoneLabel = 'topology.kubernetes.io/zone';
const controlPlaneLabel = 'node-role.kubernetes.io/control-plane';
const serviceNameLabel = 'kubernetes.io/service-name';
/** Requests that are under way at a time. */
const lanes = 12;

/** The port of every Service, and of every endpoint behind it. */
export const servicePort = 80;
const targetPort = 8080;

export const serviceName = (index: number): string => `s${index}`;
const nodeName = (index: number): string => `n${index}`;
const ipv4 = (group: number, index: number): string => `198.19.${group}.${index + 1}`;
const ipv6 = (index: number): string => `2001:db8:19::aaaa:${(index + 1).toString(16)}`;

/** Writes the Nodes as the case has them; those without a kube-proxy are objects only. */
const applyNodes = async ({ api }: Bed, nodes: readonly NodeCase[], fleet: readonly BedNode[]): Promise<void> => {
  await each(nodes, lanes, async ({ zone, cpu, controlPlane, ready }, index) => {
    const name = nodeName(index);
    const labels = { [zoneLabel]: zone === '' ? null : zone, [controlPlaneLabel]: controlPlane ? '' : null };
    const present = Object.fromEntries(Object.entries(labels).filter(([, value]) => value !== null));
    if (index < fleet.length) await api.patch(`/api/v1/nodes/${name}`, { metadata: { labels } });
    else await api.create('/api/v1/nodes', { metadata: { name, labels: present } });
    // Without capacity the API server has nothing to take for what is allocatable.
    const resources = cpu === '' ? { memory: '8Gi', cpu: null } : { memory: '8Gi', cpu };
    await api.patch(`/api/v1/nodes/${name}/status`, {
      status: {
        capacity: resources,
        allocatable: resources,
        conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
      },
    });
  });
};

/** `labels` say which Services select it. */
export const createPod = async (
  { api }: Bed,
  path: string,
  pod: PodCase,
  index: number,
  labels: object,
): Promise<void> => {
  const name = `p${index}`;
  const container = { name: 'main', image: 'bed' };
  await api.create(path, {
    metadata: { name, labels },
    spec: { nodeName: nodeName(pod.node), containers: [container] },
  });
  const ips = [ipv4(200, index), ipv6(index)];
  await api.patch(`${path}/${name}/status`, {
    status: {
      phase: 'Running',
      podIP: ips[0],
      podIPs: ips.map((ip) => ({ ip })),
      conditions: [{ type: 'Ready', status: pod.ready ? 'True' : 'False' }],
    },
  });
  if (pod.deleting) await api.delete(`${path}/${name}`, { gracePeriodSeconds: 600 });
};

const present = (values: Readonly<Record<string, unknown>>): object =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));

const endpointObject = (endpoint: EndpointCase, address: string): object => {
  const { zone, node, ready, serving, terminating, forZones, forNodes } = endpoint;
  const named = (names: readonly string[]) => (names.length === 0 ? undefined : names.map((name) => ({ name })));
  const hints = present({ forZones: named(forZones), forNodes: named(forNodes.map(nodeName)) });
  return {
    addresses: [address],
    conditions: present({ ready, serving, terminating }),
    ...present({ zone, nodeName: node === undefined ? undefined : nodeName(node) }),
    ...(Object.keys(hints).length === 0 ? {} : { hints }),
  };
};

const sliceObject = (service: string, number: number, endpoints: readonly EndpointCase[]): object => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { name: `${service}-${number}`, labels: { [serviceNameLabel]: service } },
  addressType: 'IPv4',
  ports: [{ name: 'main', port: targetPort, protocol: 'TCP' }],
  endpoints: endpoints.map((endpoint, index) => endpointObject(endpoint, ipv4(210 + number, index))),
});

const serviceObject = (service: ServiceCase, name: string): object => {
  const { annotations, trafficDistribution, internalTrafficPolicy, externalTrafficPolicy, dualStack, source } = service;
  return {
    metadata: { name, annotations },
    spec: {
      ports: [{ name: 'main', port: servicePort, targetPort }],
      internalTrafficPolicy,
      ...present({ trafficDistribution, externalTrafficPolicy }),
      ...(externalTrafficPolicy === undefined ? {} : { type: 'NodePort' }),
      ...(dualStack ? { ipFamilyPolicy: 'PreferDualStack' } : {}),
      ...(source.kind === 'by hand'
        ? {}
        : { selector: { [name]: 'yes' }, publishNotReadyAddresses: source.publishNotReady }),
    },
  };
};

/**
 * A Pod on a Node that was written last appears in a slice once the controller knows that Node and that Pod, and with them
 * everything that was written before.
 */
const controllerFollows = async ({ api }: Bed, namespace: string): Promise<void> => {
  const name = `marker-${namespace}`;
  const pods = `/api/v1/namespaces/${namespace}/pods`;
  await api.create('/api/v1/nodes', { metadata: { name, labels: { [zoneLabel]: name, [controlPlaneLabel]: '' } } });
  await api.create(pods, {
    metadata: { name, labels: { marker: 'yes' } },
    spec: { nodeName: name, containers: [{ name: 'main', image: 'bed' }] },
  });
  const status = { phase: 'Running', podIP: ipv4(220, 0), podIPs: [{ ip: ipv4(220, 0) }] };
  await api.patch(`${pods}/${name}/status`, { status });
  await api.create(`/api/v1/namespaces/${namespace}/services`, {
    metadata: { name: 'marker' },
    spec: { selector: { marker: 'yes' }, ports: [{ name: 'main', port: servicePort, targetPort }] },
  });
  const slices = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices?labelSelector=${serviceNameLabel}%3Dmarker`;
  await waitFor(
    `the EndpointSlice controller knows Node ${name}`,
    () => api.list<{ endpoints?: { zone?: string }[] | null }>(slices),
    (found) => found.some(({ endpoints }) => endpoints?.[0]?.zone === name),
  );
};

/** Creates the cluster in a namespace of its own; returns when all is written, not yet followed. */
export const createCluster = async (
  bed: Bed,
  namespace: string,
  { nodes, pods, services }: ClusterCase,
  fleet: readonly BedNode[],
): Promise<void> => {
  const { api } = bed;
  await api.create('/api/v1/namespaces', { metadata: { name: namespace } });
  await applyNodes(bed, nodes, fleet);
  const selecting = (pod: number) =>
    services.flatMap(({ source }, index) =>
      source.kind === 'selector' && source.pods.includes(pod) ? [[serviceName(index), 'yes']] : [],
    );
  await each(pods, lanes, (pod, index) =>
    createPod(bed, `/api/v1/namespaces/${namespace}/pods`, pod, index, Object.fromEntries(selecting(index)) as object),
  );
  await controllerFollows(bed, namespace);
  await each(services, lanes, async (service, index) => {
    const name = serviceName(index);
    await api.create(`/api/v1/namespaces/${namespace}/services`, serviceObject(service, name));
    const slices = service.source.kind === 'by hand' ? service.source.slices : [];
    for (const [number, endpoints] of slices.entries()) {
      const path = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`;
      await api.create(path, sliceObject(name, number, endpoints));
    }
  });
};

/** Removes what `createCluster` wrote, as far as it came, but for the Nodes that run. */
export const removeCluster = async (
  { api }: Bed,
  namespace: string,
  { nodes, pods }: ClusterCase,
  fleet: readonly BedNode[],
): Promise<void> => {
  const remove = async (path: string, options?: object): Promise<void> => {
    try {
      await api.delete(path, options);
    } catch (error) {
      if (!(error instanceof ApiFailure) || error.status !== 404) throw error;
    }
  };
  const path = `/api/v1/namespaces/${namespace}`;
  await remove(`${path}/services`);
  const names = [...pods.keys()].map((index) => `p${index}`);
  await each([...names, `marker-${namespace}`], lanes, (name) =>
    remove(`${path}/pods/${name}`, { gracePeriodSeconds: 0 }),
  );
  await remove(`/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`);
  const objects = [...nodes.keys()].slice(fleet.length).map(nodeName);
  await each([...objects, `marker-${namespace}`], lanes, (name) => remove(`/api/v1/nodes/${name}`));
};

/** One kube-proxy. */
interface ProxyKind {
  /** A folder of hack/kubernetes. */
  readonly version: string;
  /** Gates that differ from the version's defaults. */
  readonly gates: FeatureGates;
}

export interface FleetMember {
  readonly node: BedNode;
  readonly proxy: ProxyKind;
}

/** Environment variable with the versions of kube-proxy, e.g. `1.36,1.30`. */
const proxiesVariable = 'E2E_PROXIES';
const oldestBuilt = '1.30';

/** Settings that change what a version does with hints; the first one is its defaults. */
const gatesByVersion: Readonly<Record<string, readonly FeatureGates[]>> = {
  '1.30': [{}, { ServiceTrafficDistribution: true }, { TopologyAwareHints: false }],
  '1.31': [{}, { ServiceTrafficDistribution: false }, { ServiceTrafficDistribution: false, TopologyAwareHints: false }],
  '1.33': [{}, { PreferSameTrafficDistribution: true }],
  '1.34': [{}, { PreferSameTrafficDistribution: false }],
};

/** As many proxies as asked for: versions in turn, each with its settings in turn. */
export const proxyKinds = (count: number, versions: readonly string[]): ProxyKind[] =>
  Array.from({ length: count }, (_, index) => {
    const version = versions[index % versions.length] ?? defaultVersion;
    const settings = gatesByVersion[version] ?? [{}];
    return { version, gates: settings[Math.floor(index / versions.length) % settings.length] ?? {} };
  });

/** Versions to compare: those that the environment names, else the newest and the oldest that is built here. */
export const proxyVersions = (environment: NodeJS.ProcessEnv): string[] =>
  (environment[proxiesVariable] ?? `${defaultVersion},${oldestBuilt}`).split(',').map((version) => version.trim());

/** Starts the nodes; each gets a zone first, so that its proxy listens to changes of it. */
export const startFleet = async (bed: Bed, kinds: readonly ProxyKind[]): Promise<FleetMember[]> => {
  const fleet: FleetMember[] = [];
  for (const [index, proxy] of kinds.entries()) {
    const { version, gates } = proxy;
    const node = await bed.node({ name: nodeName(index), zone: 'a', proxyVersion: version, featureGates: gates });
    fleet.push({ node, proxy });
  }
  return fleet;
};

/** How a proxy is called in a report. */
export const describeProxy = ({ node, proxy: { version, gates } }: FleetMember): string =>
  [`${node.name}, kube-proxy ${version}`, ...Object.entries(gates).map(([gate, on]) => `${gate}=${on}`)].join(' ');

const namespace = 'connections';
const app = 'server';
const connections = 60;

/** Two nodes a zone, a Pod that answers on each. */
export const startServers = async (bed: Bed, fleet: readonly FleetMember[]): Promise<void> => {
  await bed.api.create('/api/v1/namespaces', { metadata: { name: namespace } });
  for (const [index, { node }] of fleet.entries()) {
    const labels = { 'topology.kubernetes.io/zone': 'abc'.charAt(Math.floor(index / 2) % 3) };
    await bed.api.patch(`/api/v1/nodes/${node.name}`, { metadata: { labels } });
    await bed.pod({ node, app, namespace });
  }
};

/** Connects from every node to one Service; returns one line for each share that the model cannot explain. */
export const checkConnections = async (
  bed: Bed,
  fleet: readonly FleetMember[],
  options: Omit<ServiceOptions, 'namespace' | 'app'>,
): Promise<string[]> => {
  const service = await bed.service({ ...options, namespace, app });
  const hinted = options.trafficDistribution !== undefined;
  await waitFor(
    `${fleet.length} endpoints of ${options.name}`,
    () => service.endpoints(),
    (endpoints) =>
      endpoints.length === fleet.length && endpoints.every(({ hints }) => (hints?.forZones !== undefined) === hinted),
  );
  const objects = await readStoredObjects(bed.api, namespace, service.name);
  const lines: string[] = [];
  for (const member of fleet) {
    const node = objects.nodes.find(({ metadata }) => metadata?.name === member.node.name);
    const used = node === undefined ? [] : predictedEndpoints(objects, node, member.proxy.gates);
    const keys = used.map(({ key }) => key).sort();
    await waitFor(
      `rules of ${describeProxy(member)} for ${keys.join(', ')}`,
      async () => (await readRules(member.node.namespace, 'IPv4')).used(service.clusterIPs[0] ?? '', service.port),
      (rules) => rules?.join() === keys.join(),
    );
    const { byNode, errors } = await bed.connect({ node: member.node, service, count: connections });
    const predicted = Object.fromEntries(used.map((one) => [one.nodeName, 1 / used.length]));
    const wrong = disagreements(
      { [describeProxy(member)]: predicted },
      { [describeProxy(member)]: { ...byNode, ...errors } },
    );
    if (wrong.length > 0) lines.push(describeDisagreements(wrong));
  }
  return lines;
};
