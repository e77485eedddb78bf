// The project's own commands in a bed: as processes of their own user, or as the chart installs them, and how an installation ends.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import { EXTENSION_NAME } from '../../pkg/apis/names.ts';
import { kubeProxy } from '../fixtures/core.ts';
import { exposeProgram, mastersGroup } from './bed/access.ts';
import { type Conditioned, hasCondition } from './bed/api.ts';
import type { Component as Program } from './bed/component.ts';
import type { Bed } from './bed/index.ts';
import { is, ofLength, run, waitFor } from './bed/machine.ts';
import { type Component, NAMESPACE, type Rendered, root } from './chart.ts';

/** The namespace that the chart would be installed in. */
export const ownNamespace = 'topology-routing';

/** The program of a command. */
export const sourceOf = (command: string): string =>
  fileURLToPath(new URL(`../../cmd/${command}/main.ts`, import.meta.url));

/** Waits until a command says on its health port that it is ready. Works inside the control plane's namespace only. */
export const commandReady = async (command: Program, healthPort: number, host = '127.0.0.1'): Promise<void> => {
  await waitFor(
    `${command.name} ready`,
    async () => (await fetch(`http://${host}:${healthPort}/readyz`)).status,
    is(200),
    { assert: () => command.assertRunning() },
  );
};

/** The DaemonSet that a cluster has for the kube-proxies that the bed runs: who routes is read from objects. */
export const describeProxies = async (bed: Bed): Promise<void> => {
  const { gitVersion } = JSON.parse(await bed.api.text('/version')) as { gitVersion: string };
  await bed.api.create('/apis/apps/v1/namespaces/kube-system/daemonsets', kubeProxy(gitVersion));
};

const webhookHealthPort = 8081;

export interface WebhookOptions {
  /** Flags of the command. Default: none, so that it makes its certificates and registers itself. */
  readonly flags?: readonly string[];
  /** Flags of Node.js. Default: none. */
  readonly nodeFlags?: readonly string[];
  /** Words before the command, e.g. to enter a cgroup. Default: none. */
  readonly enter?: readonly string[];
  /** The program. Default: the sources of the command. */
  readonly file?: string;
}

/** Starts `endpointslice-webhook`, by default with its defaults. Creates its namespace and Service. */
export const startWebhook = async (bed: Bed, options: WebhookOptions = {}): Promise<Program> => {
  const name = 'endpointslice-webhook';
  const { flags = [], nodeFlags = [], enter = [], file = sourceOf(name) } = options;
  await bed.api.create('/api/v1/namespaces', { metadata: { name: ownNamespace } });
  await exposeProgram(bed.api, { namespace: ownNamespace, name, targetPort: 10_250 });
  const user = `system:serviceaccount:${ownNamespace}:${name}`;
  const webhook = bed.program({
    name,
    command: [...enter, process.execPath, ...nodeFlags, file, ...flags] as [string, ...string[]],
    environment: { POD_NAMESPACE: ownNamespace, KUBECONFIG: await bed.kubeconfig({ user, groups: [mastersGroup] }) },
  });
  webhook.start();
  await commandReady(webhook, webhookHealthPort);
  return webhook;
};

/** Starts it again after a kill. */
export const restartWebhook = async (webhook: Program): Promise<void> => {
  webhook.start();
  await commandReady(webhook, webhookHealthPort);
};

/** As `kubectl apply --server-side` does it, with every unknown field an error. */
export const apply = async (bed: Bed, name: string, text: string, ...flags: string[]): Promise<string> => {
  const file = join(bed.directory, name);
  writeFileSync(file, text);
  const kubeconfig = await bed.kubeconfig({ user: 'admin', groups: [mastersGroup] });
  const [enter, ...prefix] = bed.enter;
  const kubectl = [bed.binaries('kubectl'), '--kubeconfig', kubeconfig];
  return run(enter, [...prefix, ...kubectl, 'apply', '--server-side', '--validate=strict', '-f', file, ...flags]);
};

/** Applies CustomResourceDefinitions and waits until they are served. */
export const applyDefinitions = async (bed: Bed, definitions: readonly KubernetesObject[]): Promise<void> => {
  const { api } = bed;
  await apply(bed, 'definitions.json', JSON.stringify({ apiVersion: 'v1', kind: 'List', items: definitions }));
  for (const { metadata } of definitions) {
    const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${metadata?.name}`;
    await waitFor(`${metadata?.name} served`, () => api.get<Conditioned>(path), hasCondition('Established'));
  }
};

/** A command as its Pod runs it: rendered configuration, the ServiceAccount's user, and no other right than the rendered. */
export const installedProgram = async (
  bed: Bed,
  component: Component,
  name: string,
  extra: readonly string[],
  namespace = NAMESPACE,
): Promise<Program> => {
  const { data } = await bed.api.get<Rendered>(`/api/v1/namespaces/${namespace}/configmaps/${component}`);
  const config = join(bed.directory, `${name}.yaml`);
  writeFileSync(config, data?.['config.yaml'] ?? '');
  const groups = ['system:serviceaccounts', `system:serviceaccounts:${namespace}`];
  const user = `system:serviceaccount:${namespace}:${component}`;
  return bed.program({
    name,
    command: [process.execPath, join(root, 'cmd', component, 'main.ts'), '--config', config, ...extra],
    environment: { POD_NAMESPACE: namespace, KUBECONFIG: await bed.kubeconfig({ user, groups }) },
  });
};

const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const ADMISSION = '/apis/admissionregistration.k8s.io/v1';
const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
export const CLUSTER_ROLES = `${RBAC}/clusterroles`;
export const WEBHOOKS = `${ADMISSION}/mutatingwebhookconfigurations`;

interface Named {
  metadata: { name: string; ownerReferences?: { kind: string; name: string }[] };
}

/** Names of our webhook configurations: all of ours that could block or change a write. */
export const acting = async ({ api }: Bed): Promise<string[]> =>
  (await api.list<Named>(WEBHOOKS))
    .map(({ metadata: { name } }) => name)
    .filter((name) => name.startsWith(EXTENSION_NAME));

/** ClusterRoles for people, which no process acts with: they go with the release, and give no rights unless somebody is bound to them. */
const FOR_PEOPLE = new Set([`${EXTENSION_NAME}:evacuate`, `${EXTENSION_NAME}:read-evacuations`]);

/** Kind and name of the one owner of each object of a collection of ours. */
export const ownersOf = async ({ api }: Bed, path: string): Promise<Set<string>> => {
  const items = (await api.list<Named>(path)).filter(
    ({ metadata: { name } }) => name.startsWith(EXTENSION_NAME) && !FOR_PEOPLE.has(name),
  );
  return new Set(
    items.map(({ metadata }) => (metadata.ownerReferences ?? []).map(({ kind, name }) => `${kind}/${name}`).join()),
  );
};

/** The collections that hold objects of a component, by what removing them takes away. */
const collections = (namespace: string) => {
  const inNamespace = (api: string, plural: string): string => `${api}/namespaces/${namespace}/${plural}`;
  return {
    /** The process loses its rights. */
    rights: [
      `${RBAC}/clusterrolebindings`,
      inNamespace(RBAC, 'rolebindings'),
      inNamespace(RBAC, 'roles'),
      // Where installations meet.
      `${RBAC}/namespaces/garden/rolebindings`,
      `${RBAC}/namespaces/garden/roles`,
      CLUSTER_ROLES,
      // What holds it to its fields goes with what it may do.
      '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies',
      '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings',
    ],
    /** The process ends, and nothing leads to it any more. */
    workload: [
      inNamespace('/api/v1', 'services'),
      inNamespace('/apis/apps/v1', 'deployments'),
      inNamespace('/api/v1', 'configmaps'),
      inNamespace('/api/v1', 'serviceaccounts'),
    ],
  } as const;
};

/** Deletes what the chart rendered for the component, as any tool would: nothing of what the component wrote itself. */
export const removeRendered = async (
  { api }: Bed,
  { namespace, release = 'tar' }: { readonly namespace: string; readonly release?: string },
  component: Component,
  what: 'rights' | 'workload',
): Promise<void> => {
  const selector = encodeURIComponent(`app.kubernetes.io/component=${component},app.kubernetes.io/instance=${release}`);
  for (const path of collections(namespace)[what]) {
    for (const { metadata } of await api.list(`${path}?labelSelector=${selector}`))
      await api.delete(`${path}/${metadata.name}`);
  }
};

/** Waits until nothing of ours is left that could block or change a write. */
export const nothingActs = async (bed: Bed): Promise<void> =>
  void (await waitFor('the end of webhooks', () => acting(bed), ofLength(0)));

export const definitionNames = async ({ api }: Bed): Promise<string[]> =>
  (await api.list(DEFINITIONS))
    .map(({ metadata }) => metadata.name)
    .filter((name) => name.endsWith('topology.extensions.gardener.cloud'));

/** A sync that is still under way brings them back: they are removed once they have stayed away for two seconds. */
export const removeDefinitions = (bed: Bed): Promise<unknown> => {
  let goneSince = Date.now();
  return waitFor(
    'the definitions removed',
    async () => {
      for (const name of await definitionNames(bed)) {
        goneSince = Date.now();
        await bed.api.delete(`${DEFINITIONS}/${name}`);
      }
      return Date.now() - goneSince;
    },
    (ms) => ms > 2_000,
  );
};
