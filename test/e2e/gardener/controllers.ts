// gardener-controller-manager, gardenlet and gardener-operator as processes beside a bed, with their module's own example of a configuration.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { deliver } from '../../../hack/delivery.ts';
import { layBase } from '../../fixtures/oci-base.ts';
import { type Registry, startRegistry } from '../../fixtures/oci-registry.ts';
import { grant, mastersGroup, writeTokenKubeconfig } from '../bed/access.ts';
import { ApiFailure, type KubernetesObject } from '../bed/api.ts';
import { builtProgram } from '../bed/binaries.ts';
import type { Component } from '../bed/component.ts';
import type { Bed } from '../bed/index.ts';
import { type Repeated, is, ofLength, repeat, waitFor } from '../bed/machine.ts';
import { SEED_READER } from '../settings-landscape.ts';
import { moduleFolder } from './owner.ts';

type Pod = KubernetesObject & {
  spec: { nodeName?: string; containers: readonly { name: string; image: string }[] };
  status?: { phase?: string };
};
type Lease = KubernetesObject & { spec?: { renewTime?: string } };

const INTERVAL_MS = 200;
/** A member counts as unknown after a minute without. */
const RENEW_MS = 10_000;
const LEASES = '/apis/coordination.k8s.io/v1';
const MEMBERS = 'labelSelector=app.kubernetes.io/component%3Detcd-member-lease';

/** The sidecar says so once the member speaks TLS with its peers; etcd-druid ends no reconcile before. */
const PEER_TLS = { 'member.etcd.gardener.cloud/tls-enabled': 'true' };

const statusOf = ({ spec }: Pod, ip: string): object => {
  const at = new Date().toISOString();
  const types = ['Ready', 'ContainersReady', 'Initialized', 'PodScheduled'];
  return {
    phase: 'Running',
    podIP: ip,
    podIPs: [{ ip }],
    startTime: at,
    conditions: types.map((type) => ({ type, status: 'True', lastTransitionTime: at })),
    containerStatuses: spec.containers.map(({ name, image }) => ({
      name,
      image,
      imageID: '',
      ready: true,
      started: true,
      restartCount: 0,
      state: { running: { startedAt: at } },
    })),
  };
};

/** It went away, or another writer wrote it: seen again in the next round. */
const unlessGone = async (work: Promise<unknown>): Promise<void> => {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof ApiFailure) || ![404, 409].includes(error.status)) throw error;
  }
};

/** The third word is the role; the first member leads. */
const holderOf = (name: string): string => `${name.length.toString(16)}:${name.endsWith('-0') ? 'Leader' : 'Member'}`;

/**
 * Runs every Pod that waits for a node: one after the other on `nodes`, on addresses where nothing listens.
 *
 * @param isWanted leaves Pods to others. Default: all are run.
 */
export const runPods = (
  { api }: Bed,
  nodes: readonly string[],
  isWanted: (pod: Pod) => boolean = () => true,
): Repeated => {
  const placed = new Map<string, number>();
  let last = 0;
  const begin = async (pod: Pod): Promise<void> => {
    const { name, namespace = '' } = pod.metadata;
    // Those of one owner over all zones.
    const owner = name.replace(/-[^-]*$/, '');
    const index = placed.get(`${namespace}/${owner}`) ?? 0;
    placed.set(`${namespace}/${owner}`, index + 1);
    const path = `/api/v1/namespaces/${namespace}/pods/${name}`;
    const target = { kind: 'Node', name: nodes[index % nodes.length] };
    await api.create(`${path}/binding`, { apiVersion: 'v1', kind: 'Binding', metadata: { name }, target });
    last += 1;
    await api.patch(`${path}/status`, { status: statusOf(pod, `198.19.${200 + (last >> 8)}.${last & 255}`) });
  };
  const end = (pod: Pod): Promise<void> =>
    api.delete(`/api/v1/namespaces/${pod.metadata.namespace}/pods/${pod.metadata.name}`, { gracePeriodSeconds: 0 });
  const renew = async ({ metadata: { name, namespace }, spec }: Lease): Promise<void> => {
    if (Date.now() - Date.parse(spec?.renewTime ?? '1970-01-01') < RENEW_MS) return;
    const renewTime = new Date().toISOString().replace('Z', '000Z');
    await api.patch(`${LEASES}/namespaces/${namespace}/leases/${name}`, {
      metadata: { annotations: PEER_TLS },
      spec: { holderIdentity: holderOf(name), renewTime, leaseDurationSeconds: 10 },
    });
  };
  const round = async (): Promise<void> => {
    for (const pod of (await api.list<Pod>('/api/v1/pods')).filter(isWanted)) {
      if (pod.metadata['deletionTimestamp'] !== undefined) await unlessGone(end(pod));
      else if (pod.spec.nodeName === undefined) await unlessGone(begin(pod));
    }
    for (const lease of await api.list<Lease>(`${LEASES}/leases?${MEMBERS}`)) await unlessGone(renew(lease));
  };
  return repeat(INTERVAL_MS, round);
};

type Section = Record<string, unknown>;
interface Server {
  bindAddress?: string;
  readonly port: number;
}
interface Configuration extends Section {
  leaderElection: Section;
  server: { healthProbes: Server; metrics: Server };
}

interface Program {
  readonly name: 'gardener-controller-manager' | 'gardener-operator' | 'gardenlet';
  /** Below `example/` of the module. */
  readonly example: string;
  /** Sections that name a cluster; here all are the bed. */
  readonly connections: readonly string[];
}

/** Kubernetes that v1.141 supports: 1.31 to 1.35. */
export const CONTROLLERS_KUBERNETES = '1.34';

/**
 * Starts it and waits until it is ready: its caches are filled, and it has added its controllers.
 *
 * @param more sections of its configuration that the example leaves out.
 * @throws where it ends by itself, with the end of its log.
 */
const start = async (bed: Bed, { name, example, connections }: Program, more: object = {}): Promise<Component> => {
  const kubeconfig = await bed.kubeconfig({ user: `system:serviceaccount:garden:${name}`, groups: [mastersGroup] });
  const text = readFileSync(join(await moduleFolder('github.com/gardener/gardener'), 'example', example), 'utf8');
  const { leaderElection, server, ...rest } = parse(text) as Configuration;
  const { healthProbes, metrics } = server;
  const local = { bindAddress: '127.0.0.1' };
  const configuration = {
    ...rest,
    ...Object.fromEntries(connections.map((section) => [section, { kubeconfig, qps: 100, burst: 130 }])),
    leaderElection: { ...leaderElection, leaderElect: false },
    logFormat: 'json',
    server: { ...server, healthProbes: { ...healthProbes, ...local }, metrics: { ...metrics, ...local } },
    ...more,
  };
  const file = join(bed.directory, `${name}.yaml`);
  writeFileSync(file, stringify(configuration));
  const command = [builtProgram(`gardener/gardener-1.141/${name}`), '--config', file] as const;
  const component = bed.program({ name, command, environment: { NAMESPACE: 'garden' } });
  component.start();
  await waitFor(
    `${name} ready`,
    async () => (await fetch(`http://127.0.0.1:${healthProbes.port}/readyz`)).status,
    is(200),
    { assert: () => component.assertRunning() },
  );
  return component;
};

export const startControllerManager = (bed: Bed): Promise<Component> =>
  start(bed, {
    name: 'gardener-controller-manager',
    example: '20-componentconfig-gardener-controller-manager.yaml',
    connections: ['gardenClientConnection'],
  });

/** @param seedConfig the Seed that it registers itself with. */
export const startGardenlet = (bed: Bed, seedConfig: object): Promise<Component> =>
  start(
    bed,
    {
      name: 'gardenlet',
      example: '20-componentconfig-gardenlet.yaml',
      connections: ['gardenClientConnection', 'seedClientConnection', 'shootClientConnection'],
    },
    { seedConfig },
  );

export const startOperator = (bed: Bed): Promise<Component> =>
  start(bed, {
    name: 'gardener-operator',
    example: 'operator/10-componentconfig.yaml',
    connections: ['runtimeClientConnection', 'virtualClientConnection'],
  });

/**
 * Lets gardenlet and gardener-operator write no definition, the first step of their own flows for a Seed and a Garden: the components
 * that come after it need kubelets, and bring webhooks that nothing would answer. All that extensions go through comes beside it.
 */
export const refuseDefinitions = async ({ api }: Bed): Promise<void> => {
  const path = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic';
  const metadata = { name: 'no-components' };
  const users = ['gardenlet', 'gardener-operator'].map((name) => `"system:serviceaccount:garden:${name}"`);
  await api.create(`${path}ies`, {
    metadata,
    spec: {
      matchConstraints: {
        resourceRules: [
          {
            apiGroups: ['apiextensions.k8s.io'],
            apiVersions: ['v1'],
            operations: ['CREATE', 'UPDATE'],
            resources: ['customresourcedefinitions'],
          },
        ],
      },
      validations: [
        { expression: `!(request.userInfo.username in [${users.join(', ')}])`, message: 'no components here' },
      ],
    },
  });
  await api.create(`${path}ybindings`, { metadata, spec: { policyName: metadata.name, validationActions: ['Deny'] } });
};

/** A release in a registry on the loopback interface; its manifests are in `delivery/manifests` of the bed's folder. */
export const serveRelease = async ({ directory }: Bed): Promise<Registry> => {
  const at = (path: string): string => join(directory, path);
  const registry = await startRegistry();
  layBase(at('base'), ['amd64', 'arm64'], Buffer.alloc(1024));
  const options = { registry: `${registry.host}/tar`, base: at('base'), bundle: at('base') };
  const delivered = await deliver({ ...options, target: at('delivery') });
  for (const what of ['image', 'chart'] as const)
    registry.serve(delivered[what].repository.replace(`${registry.host}/`, ''), at(`delivery/${what}`));
  return registry;
};

/** What gardener-admission-controller's authorizer for seeds lets an extension read: its own Seed. */
export const authorizeExtensions = ({ api }: Bed, seed: string): Promise<void> =>
  grant(api, SEED_READER, { kind: 'Group', name: `system:serviceaccounts:seed-${seed}` });

/** Waits until gardener-controller-manager has made a ControllerInstallation of ours; returns its name. */
export const untilInstallation = async ({ api }: Bed): Promise<string> => {
  type Named = KubernetesObject & { metadata: { name: string } };
  const [found] = await waitFor(
    'a ControllerInstallation',
    async () =>
      (await api.list<Named>('/apis/core.gardener.cloud/v1beta1/controllerinstallations')).filter(({ metadata }) =>
        metadata.name.startsWith('topology-aware-routing'),
      ),
    ofLength(1),
  );
  return found?.metadata.name ?? '';
};

/**
 * Writes the kubeconfig for the virtual garden that a kubelet mounts into an extension's Pods, once gardenlet has asked for its token.
 *
 * @param namespace of the extension.
 * @returns the user that the token is for.
 */
export const mountGardenAccess = async ({ api, pki }: Bed, namespace: string, file: string): Promise<string> => {
  const { data } = await waitFor(
    'the token of gardenlet for the extension',
    () => api.get<{ data?: { token?: string } }>(`/api/v1/namespaces/${namespace}/secrets/garden-access-extension`),
    (secret) => secret.data?.token !== undefined,
  );
  const token = Buffer.from(data?.token ?? '', 'base64').toString();
  writeTokenKubeconfig(file, pki, 'extension', token);
  return (JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as { sub: string }).sub;
};
