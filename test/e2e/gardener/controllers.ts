// gardener-controller-manager, gardenlet and gardener-operator as processes beside a bed, with their module's own example of a configuration.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { deliver } from '../../../hack/delivery.ts';
import type { KubernetesObject } from '../../../pkg/apis/meta.ts';
import { layBase } from '../../fixtures/oci-base.ts';
import { startRegistry } from '../../fixtures/oci-registry.ts';
import type { Registry } from '../../fixtures/oci-registry.ts';
import { mastersGroup, writeTokenKubeconfig } from '../bed/access.ts';
import type { Component } from '../bed/component.ts';
import type { Bed } from '../bed/index.ts';
import { waitFor } from '../bed/machine.ts';
import { builtProgram } from '../built.ts';
import { moduleFolder } from './definitions.ts';

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
    (status) => status === 200,
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
export const authorizeExtensions = async ({ api }: Bed, seed: string): Promise<void> => {
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  const apiGroup = 'rbac.authorization.k8s.io';
  const metadata = { name: 'seed-authorizer' };
  const rules = [{ apiGroups: ['core.gardener.cloud'], resources: ['seeds'], verbs: ['get', 'list', 'watch'] }];
  await api.create(`${rbac}/clusterroles`, { metadata, rules });
  await api.create(`${rbac}/clusterrolebindings`, {
    metadata,
    roleRef: { apiGroup, kind: 'ClusterRole', name: metadata.name },
    subjects: [{ kind: 'Group', name: `system:serviceaccounts:seed-${seed}`, apiGroup }],
  });
};

/** Waits until gardener-controller-manager has made a ControllerInstallation of ours; returns its name. */
export const untilInstallation = async ({ api }: Bed): Promise<string> => {
  type Named = KubernetesObject & { metadata: { name: string } };
  const [found] = await waitFor(
    'a ControllerInstallation',
    async () =>
      (await api.list<Named>('/apis/core.gardener.cloud/v1beta1/controllerinstallations')).filter(({ metadata }) =>
        metadata.name.startsWith('topology-aware-routing'),
      ),
    ({ length }) => length === 1,
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
