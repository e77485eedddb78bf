// The real gardener-apiserver as aggregated API server of a bed, and the least that it admits a Seed and a Shoot with.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ZONES } from '../../fixtures/gardener.ts';
import { base64Of, exposeProgram, mastersGroup } from '../bed/access.ts';
import { builtProgram } from '../bed/binaries.ts';
import { type Conditioned, hasCondition } from '../bed/api.ts';
import type { Component } from '../bed/component.ts';
import type { Bed } from '../bed/index.ts';
import { run, waitFor } from '../bed/machine.ts';

const NAME = 'gardener-apiserver';
const HOST = { name: NAME, namespace: 'kube-system' };
const PORT = 8_443;
const GROUPS = ['v1.core', 'v1beta1.core', 'v1alpha1.seedmanagement', 'v1alpha1.settings', 'v1alpha1.operations'];
const API_SERVICES = '/apis/apiregistration.k8s.io/v1/apiservices';

const describeServer = async (bed: Bed): Promise<Component> => {
  const kubeconfig = await bed.kubeconfig({ user: NAME, groups: [mastersGroup] });
  const serving = await bed.pki.serving(NAME, [`${NAME}.kube-system.svc`, '127.0.0.1']);
  const key = join(bed.directory, 'workload-identity.key');
  await run('openssl', ['genrsa', '-out', key, '2048']);
  return bed.program({
    name: NAME,
    command: [
      builtProgram('gardener/gardener-1.141/gardener-apiserver'),
      // The bed's own etcd: Gardener keeps to a prefix.
      '--etcd-servers=http://127.0.0.1:2379',
      `--secure-port=${PORT}`,
      `--tls-cert-file=${serving.certificate}`,
      `--tls-private-key-file=${serving.key}`,
      ...['kubeconfig', 'authentication-kubeconfig', 'authorization-kubeconfig'].map(
        (flag) => `--${flag}=${kubeconfig}`,
      ),
      '--authorization-always-allow-paths=/readyz',
      '--cluster-identity=bed',
      '--shutdown-delay-duration=0s',
      '--workload-identity-token-issuer=https://issuer.example.com',
      `--workload-identity-signing-key-file=${key}`,
    ],
  });
};

const register = async ({ api, pki }: Bed): Promise<void> => {
  for (const name of [...GROUPS, 'v1alpha1.security']) {
    const [version, group] = name.split('.');
    await api.create(API_SERVICES, {
      metadata: { name: `${name}.gardener.cloud` },
      spec: {
        group: `${group}.gardener.cloud`,
        version,
        groupPriorityMinimum: 10_000,
        versionPriority: 20,
        caBundle: base64Of(pki.authority.certificate),
        service: HOST,
      },
    });
  }
};

/** Starts it and waits until its groups are served by the API server of the bed. */
export const startVirtualGarden = async (bed: Bed): Promise<Component> => {
  await exposeProgram(bed.api, { ...HOST, targetPort: PORT });
  const server = await describeServer(bed);
  server.start();
  await register(bed);
  for (const name of ['v1.core', 'v1beta1.core', 'v1alpha1.security']) {
    await waitFor(
      `${name} served by gardener-apiserver`,
      () => bed.api.get<Conditioned>(`${API_SERVICES}/${name}.gardener.cloud`),
      hasCondition('Available'),
      { assert: () => server.assertRunning() },
    );
  }
  return server;
};

const CORE = 'core.gardener.cloud/v1beta1';
const SECRET = { apiVersion: 'v1', kind: 'Secret' };
const kinds = (pairs: readonly string[]): object[] =>
  pairs.map((pair) => {
    const [kind, type = 'demo'] = pair.split(' ');
    return { kind, type };
  });

/** What there has to be before a Seed and a Shoot of a made-up cloud `demo`. */
const surroundings: readonly object[] = [
  { ...SECRET, metadata: { name: 'internal-domain', namespace: 'garden' } },
  { ...SECRET, metadata: { name: 'seed-dns', namespace: 'garden' } },
  {
    apiVersion: CORE,
    kind: 'ControllerRegistration',
    metadata: { name: 'demo-cloud' },
    spec: {
      resources: kinds([
        'Infrastructure',
        'ControlPlane',
        'Worker',
        'DNSRecord',
        'BackupBucket',
        'BackupEntry',
        'ContainerRuntime',
        'Network demo-net',
        'OperatingSystemConfig demo-os',
      ]),
    },
  },
  {
    apiVersion: CORE,
    kind: 'CloudProfile',
    metadata: { name: 'demo' },
    spec: {
      type: 'demo',
      kubernetes: { versions: [{ version: '1.34.1' }] },
      machineImages: [
        { name: 'demo-os', versions: [{ version: '1.0.0', cri: [{ name: 'containerd' }], architectures: ['amd64'] }] },
      ],
      machineTypes: [{ name: 'large', cpu: '2', gpu: '0', memory: '8Gi', usable: true, architecture: 'amd64' }],
      volumeTypes: [{ name: 'ssd', class: 'standard', usable: true }],
      regions: [{ name: 'eu-1', zones: ZONES.map((name) => ({ name })) }],
    },
  },
];

const ownerOf = (project: string): object => ({
  apiVersion: CORE,
  kind: 'Project',
  metadata: { name: project },
  spec: {
    namespace: `garden-${project}`,
    owner: { apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'admin' },
  },
});

/** A Seed of three zones with the setting on. */
export const seedObject = (name: string, zones: readonly string[] = ZONES) => ({
  apiVersion: CORE,
  kind: 'Seed',
  metadata: { name },
  spec: {
    provider: { type: 'demo', region: 'eu-1', zones },
    settings: { topologyAwareRouting: { enabled: true } },
    networks: { nodes: '10.240.0.0/16', pods: '10.241.128.0/17', services: '10.241.0.0/17' },
    ingress: { domain: `ingress.${name}.example.com`, controller: { kind: 'nginx' } },
    dns: {
      provider: { type: 'demo', credentialsRef: { ...SECRET, name: 'seed-dns', namespace: 'garden' } },
      internal: {
        type: 'demo',
        domain: 'internal.example.com',
        credentialsRef: { ...SECRET, name: 'internal-domain', namespace: 'garden' },
      },
    },
  },
});

const shootObject = (name: string, namespace: string, seedName: string): object => ({
  apiVersion: CORE,
  kind: 'Shoot',
  metadata: { name, namespace },
  spec: {
    seedName,
    cloudProfile: { kind: 'CloudProfile', name: 'demo' },
    region: 'eu-1',
    credentialsBindingName: 'demo',
    controlPlane: { highAvailability: { failureTolerance: { type: 'zone' } } },
    kubernetes: { version: '1.34.1' },
    networking: { type: 'demo-net', pods: '100.96.0.0/11', services: '100.64.0.0/13', nodes: '10.250.0.0/16' },
    provider: {
      type: 'demo',
      workers: [
        {
          name: 'pool',
          minimum: 1,
          maximum: 3,
          zones: [ZONES[0]],
          cri: { name: 'containerd' },
          machine: { type: 'large', image: { name: 'demo-os', version: '1.0.0' } },
          volume: { type: 'ssd', size: '20Gi' },
        },
      ],
    },
  },
});

/** Takes a name for a file and its text. */
type Apply = (name: string, text: string) => Promise<unknown>;

const listOf = (items: readonly object[]): string => JSON.stringify({ apiVersion: 'v1', kind: 'List', items });

/** Creates what there has to be before a Seed of {@link seedObject} and a Shoot of a Project. */
export const createSurroundings = async ({ api }: Bed, apply: Apply, project: string): Promise<void> => {
  const role = { 'gardener.cloud/role': 'project' };
  const namespaces: readonly [string, object][] = [
    ['garden', role],
    [`garden-${project}`, { ...role, 'project.gardener.cloud/name': project }],
  ];
  for (const [name, labels] of namespaces) await api.create('/api/v1/namespaces', { metadata: { name, labels } });
  await apply('surroundings.json', listOf([...surroundings, ownerOf(project)]));
};

/** Creates a Seed and a Shoot as an operator and a user have them before they ask for anything of ours. */
export const createSeedAndShoot = async (
  bed: Bed,
  apply: Apply,
  names: { readonly seed: string; readonly project: string; readonly shoot: string },
): Promise<void> => {
  const { seed, project, shoot } = names;
  const namespace = `garden-${project}`;
  await createSurroundings(bed, apply, project);
  await bed.api.patch(`/apis/${CORE}/projects/${project}/status`, { status: { phase: 'Ready' } });
  const credentials = {
    ...SECRET,
    metadata: { name: 'cloud', namespace, labels: { 'provider.shoot.gardener.cloud/demo': 'true' } },
  };
  await apply('credentials.json', listOf([credentials]));
  const binding = {
    apiVersion: 'security.gardener.cloud/v1alpha1',
    kind: 'CredentialsBinding',
    metadata: { name: 'demo', namespace },
    provider: { type: 'demo' },
    credentialsRef: { ...SECRET, name: 'cloud', namespace },
  };
  await apply('seed.json', listOf([binding, seedObject(seed)]));
  await apply('shoot.json', listOf([shootObject(shoot, namespace, seed)]));
};

/** Writes the Seed as the API server completed it to a file, as gardenlet reads it. */
export const storedSeed = async (bed: Bed, name: string): Promise<string> => {
  const file = join(bed.directory, `${name}.seed.json`);
  writeFileSync(file, JSON.stringify(await bed.api.get(`/apis/${CORE}/seeds/${name}`)));
  return file;
};
