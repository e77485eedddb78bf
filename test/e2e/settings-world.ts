// A Gardener landscape on a bed, and the two commands in it with the chart's rendered rights and nothing more.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { Node, Service } from '../../pkg/apis/core.ts';
import type { Etcd } from '../../pkg/apis/gardener.ts';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import * as RESOURCES from '../../pkg/apis/resources.ts';
import { apiVersionOf, ETCDS, EVENTS, NODES, SERVICES, type Resource } from '../../pkg/apis/resources.ts';
import { scopedRefOf } from '../../pkg/apis/values.ts';
import { createClient } from '../../pkg/kubernetes/client.ts';
import { isAlreadyExists } from '../../pkg/kubernetes/errors.ts';
import { loadKubeConfig } from '../../pkg/kubernetes/kubeconfig.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import { node } from '../fixtures/core.ts';
import { gardenerCrds, CUSTOM_RESOURCE_DEFINITIONS } from '../fixtures/crds.ts';
import { exposeAddress, mastersGroup } from './bed/access.ts';
import { type Conditioned, hasCondition } from './bed/api.ts';
import type { Component as Program } from './bed/component.ts';
import type { Bed } from './bed/index.ts';
import { waitFor } from './bed/machine.ts';
import { documents, FLOW, INJECTED, NAMESPACE, openHelm, RECONCILER, root, WEBHOOK } from './chart.ts';
import type { Component, Rendered, Where } from './chart.ts';
import { commandReady } from './commands.ts';
import { type Audit, type AuditEvent, openAudit, settingsWrites } from './settings-audit.ts';

/** The user of a command's ServiceAccount. */
export const userOf = (component: Component): string => `system:serviceaccount:${NAMESPACE}:${component}`;

/** For `auditReadsOf` of the bed. */
export const COMMAND_USERS = [userOf(RECONCILER), userOf(WEBHOOK), userOf(FLOW)];

interface ProgramOptions {
  /** Name of the log; default: the command's. */
  readonly name?: string;
  /** Laid over the rendered configuration, one level deep; lists and words replace those there. Default: nothing. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** First of two ports, health and metrics, of a controller. Default 18081. */
  readonly port?: number;
  /** Another certificate for the same user, so that the audit log tells replicas apart. Default false. */
  readonly second?: boolean;
  readonly environment?: Readonly<Record<string, string>>;
  readonly flags?: readonly string[];
}

export interface World {
  readonly bed: Bed;
  /** An administrator; the audit log knows it as `admin`. */
  readonly client: Client;
  readonly audit: Audit;
  /** What the chart rendered. */
  readonly rendered: readonly Rendered[];
  /** A client of another component of the landscape, with all rights. */
  clientAs(user: string): Promise<Client>;
  create(...objects: KubernetesObject[]): Promise<void>;
  service(namespace: string, name: string): Promise<Service>;
  etcd(namespace: string, name: string): Promise<Etcd>;
  /** `reason: message` of all Events about an object of this name, any order. */
  eventsAbout(name: string): Promise<string[]>;
  /** Describes a command; nothing runs yet. */
  program(component: Component, options?: ProgramOptions): Promise<Program>;
  /** Starts a settings-reconciler and waits until it is ready. */
  startReconciler(options?: ProgramOptions): Promise<Program>;
  /** Effective writes of the reconciler's user since a mark of the audit log. */
  writes(since?: number): AuditEvent[];
  /** Waits until the reconciler has written nothing for a second. */
  quiet(): Promise<void>;
}

interface WorldOptions {
  /** Where the chart is installed; decides modes and rights. Default `seed and runtime`. */
  readonly where?: Where;
  /** More values for the chart. Default: none. */
  readonly values?: object;
  /** Kubelets' version. Default `v1.36.0`. */
  readonly kubeletVersion?: string;
  /** Zones, one Node each. Default the fixtures' three. */
  readonly zones?: readonly string[];
  /** Definitions in the place of the stubs of the same name, and further ones. Default: the stubs alone. */
  readonly definitions?: readonly KubernetesObject[];
}

const RBAC = '/apis/rbac.authorization.k8s.io/v1';
/** Where objects of a kind are created; the rest of the chart needs Pods or definitions that are not here. */
const COLLECTIONS: Readonly<Record<string, (namespace: string) => string>> = {
  ServiceAccount: (namespace) => `/api/v1/namespaces/${namespace}/serviceaccounts`,
  Service: (namespace) => `/api/v1/namespaces/${namespace}/services`,
  Role: (namespace) => `${RBAC}/namespaces/${namespace}/roles`,
  RoleBinding: (namespace) => `${RBAC}/namespaces/${namespace}/rolebindings`,
  ClusterRole: () => `${RBAC}/clusterroles`,
  ClusterRoleBinding: () => `${RBAC}/clusterrolebindings`,
};

const resourceOf = ({ apiVersion, kind }: KubernetesObject): Resource => {
  const all = Object.values(RESOURCES).filter((item): item is Resource => typeof item === 'object');
  const found = all.find((item) => item.kind === kind && apiVersionOf(item) === apiVersion);
  if (found === undefined) throw new Error(`no resource for ${apiVersion} ${kind}`);
  return found;
};

/** Waits until a definition is served, schema and all. */
export const untilServed = async (client: Client, crd: KubernetesObject): Promise<void> => {
  await waitFor(
    `${crd.metadata?.name} served`,
    () => client.get<KubernetesObject & Conditioned>(CUSTOM_RESOURCE_DEFINITIONS, { name: crd.metadata?.name ?? '' }),
    hasCondition('Established'),
  );
};

/** A Node as its kubelet reports it. */
const createNode = async (client: Client, zone: string, kubeletVersion: string): Promise<void> => {
  const { status, ...object } = node({ zone, kubeletVersion });
  await client.create<Node>(NODES, object);
  await client.patch(NODES, scopedRefOf(object), 'merge', { status }, { subresource: 'status' });
};

/** Everything of the chart that a command needs to run outside of a Pod: accounts, roles, and the webhook's Service. */
const install = async (bed: Bed, rendered: readonly Rendered[]): Promise<void> => {
  const namespaces = new Set([NAMESPACE, ...rendered.flatMap(({ metadata }) => metadata?.namespace ?? [])]);
  for (const name of namespaces) await bed.api.create('/api/v1/namespaces', { metadata: { name } });
  for (const object of rendered) {
    const path = COLLECTIONS[object.kind ?? '']?.(object.metadata?.namespace ?? NAMESPACE);
    if (path !== undefined) await bed.api.create(path, object);
  }
  await exposeAddress(bed.api, { namespace: NAMESPACE, name: WEBHOOK, targetPort: 10_250 });
};

const render = async ({ where = 'seed and runtime', values }: WorldOptions): Promise<Rendered[]> => {
  const helm = await openHelm();
  return documents(await helm.template({ ...INJECTED[where], ...values }));
};

const GROUPS = ['system:serviceaccounts', `system:serviceaccounts:${NAMESPACE}`];

/** The other order of groups makes another certificate. */
const groupsOf = (second: boolean): string[] => (second ? GROUPS.toReversed() : GROUPS);

const describer =
  (bed: Bed, rendered: readonly Rendered[]): World['program'] =>
  async (component, { name = component, config = {}, second = false, environment = {}, flags = [], port } = {}) => {
    const map = rendered.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata?.name === component);
    const base = parse(map?.data?.['config.yaml'] ?? '') as Record<string, object>;
    const merged = Object.entries(config).map(([key, value]) => [
      key,
      typeof value !== 'object' || Array.isArray(value) ? value : { ...base[key], ...value },
    ]);
    const file = join(bed.directory, `${name}.config.json`);
    writeFileSync(file, JSON.stringify({ ...base, ...Object.fromEntries(merged) }));
    const first = port ?? 18_081;
    const ports = component === WEBHOOK ? [] : ['--health-port', String(first), '--metrics-port', String(first + 1)];
    const main = join(root, 'cmd', component, 'main.ts');
    return bed.program({
      name,
      command: [process.execPath, main, '--config', file, ...ports, ...flags],
      environment: {
        POD_NAMESPACE: NAMESPACE,
        KUBECONFIG: await bed.kubeconfig({ user: userOf(component), groups: groupsOf(second) }),
        ...environment,
      },
    });
  };

const define = async (client: Client, given: readonly KubernetesObject[]): Promise<void> => {
  const names = new Set(given.map(({ metadata }) => metadata?.name));
  const stubs = gardenerCrds().filter(({ metadata }) => !names.has(metadata?.name));
  for (const crd of [...stubs, ...given]) await client.create(CUSTOM_RESOURCE_DEFINITIONS, crd);
  for (const crd of [...stubs, ...given]) await untilServed(client, crd);
};

/** Starts nothing; installs the chart's rights, the definitions and the Nodes. */
export const openWorld = async (bed: Bed, options: WorldOptions = {}): Promise<World> => {
  const { kubeletVersion = 'v1.36.0', zones = ['eu-1a', 'eu-1b', 'eu-1c'], definitions = [] } = options;
  const clientAs = async (user: string): Promise<Client> => {
    const kubeconfig = await bed.kubeconfig({ user, groups: [mastersGroup] });
    return createClient({ config: loadKubeConfig({ kubeconfig }), userAgent: user });
  };
  const client = await clientAs('admin');
  const rendered = await render(options);
  await install(bed, rendered);
  await define(client, definitions);
  for (const zone of zones) await createNode(client, zone, kubeletVersion);
  return {
    bed,
    client,
    rendered,
    clientAs,
    ...objectsOf(client),
    ...commandsOf(bed, rendered),
  };
};

/** The chart's own namespaces are there first; what makes them Gardener's comes with the landscape. */
const createOrComplete = async (client: Client, object: KubernetesObject): Promise<KubernetesObject> => {
  const resource = resourceOf(object);
  try {
    return await client.create(resource, object);
  } catch (error) {
    if (resource.kind !== 'Namespace' || !isAlreadyExists(error)) throw error;
    const { name = '', labels = {}, annotations = {} } = object.metadata ?? {};
    return client.patch(resource, { name }, 'merge', { metadata: { labels, annotations } });
  }
};

const objectsOf = (client: Client): Pick<World, 'create' | 'service' | 'etcd' | 'eventsAbout'> => ({
  async create(...objects) {
    for (const object of objects) await createOrComplete(client, object);
  },
  service: (namespace, name) => client.get<Service>(SERVICES, { namespace, name }),
  etcd: (namespace, name) => client.get<Etcd>(ETCDS, { namespace, name }),
  async eventsAbout(name) {
    type Event = KubernetesObject & { reason: string; message: string; involvedObject: { name: string } };
    const { items } = await client.list<Event>(EVENTS, { limit: 0 });
    return items.flatMap(({ reason, message, involvedObject }) =>
      involvedObject.name === name ? [`${reason}: ${message}`] : [],
    );
  },
});

const commandsOf = (
  bed: Bed,
  rendered: readonly Rendered[],
): Pick<World, 'audit' | 'program' | 'startReconciler' | 'writes' | 'quiet'> => {
  const audit = openAudit(bed.auditLog);
  const program = describer(bed, rendered);
  const writes = (since = 0): AuditEvent[] => settingsWrites(audit.of(userOf(RECONCILER), since));
  return {
    audit,
    program,
    async startReconciler(options = {}) {
      const described = await program(RECONCILER, options);
      described.start();
      await commandReady(described, options.port ?? 18_081);
      return described;
    },
    writes,
    async quiet() {
      let last = -1;
      let since = performance.now();
      await waitFor(
        'a second without writes',
        () => {
          const { length } = writes();
          if (length !== last) since = performance.now();
          last = length;
          return performance.now() - since;
        },
        (ms) => ms > 3_000,
        { intervalMs: 100 },
      );
    },
  };
};
