// Scheduler and kubelet for Pods of our image: their containers run as processes on the nodes of the bed, with the arguments,
// environment, configuration and ServiceAccount of the Pod; probes decide about readiness, ends of Jobs are told.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { EndpointSlice } from '../../pkg/apis/core.ts';
import { ENDPOINT_SLICES } from '../../pkg/apis/resources.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import { writeTokenKubeconfig } from './bed/access.ts';
import { ApiFailure, type KubernetesObject } from './bed/api.ts';
import type { Component } from './bed/component.ts';
import type { Bed, BedNode } from './bed/index.ts';
import {
  addAddresses,
  controlPlaneAddresses,
  enterPrefix,
  nodeDevice,
  removeAddresses,
  repeat,
} from './bed/machine.ts';
import type { AddressPair, Repeated } from './bed/machine.ts';
import { runningStatus } from './bed/pod.ts';
import { NAMESPACE, root, WEBHOOK } from './chart.ts';

const INTERVAL_MS = 100;

/** Starts whatever ended again, a moment after it was seen, as after a first crash. Gives how often each was, by name. */
export const supervise = (components: readonly Component[]): ReadonlyMap<string, number> => {
  const restarts = new Map<string, number>();
  repeat(INTERVAL_MS, () => {
    for (const component of components) {
      if (component.pid !== undefined) continue;
      component.start();
      restarts.set(component.name, (restarts.get(component.name) ?? 0) + 1);
    }
  });
  return restarts;
};

/** A replica of the webhook in the control plane's namespace. */
export interface Replica {
  readonly component: Component;
  readonly port: number;
  readonly healthPort: number;
}

const sliceName = (index: number): string => (index === 0 ? `${WEBHOOK}-bed` : `${WEBHOOK}-bed-${index + 1}`);

/** All replicas share an address here, so each has a slice with its own port. */
export const replicaSlice = ({ port }: Replica, index: number, ready: boolean): EndpointSlice => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { namespace: NAMESPACE, name: sliceName(index), labels: { 'kubernetes.io/service-name': WEBHOOK } },
  addressType: 'IPv4',
  ports: [{ name: 'https', port, protocol: 'TCP' }],
  endpoints: ready ? [{ addresses: [controlPlaneAddresses.ipv4], conditions: { ready: true } }] : [],
});

const PROBE_MS = 3_000;

/** Whether it is ready; only silence is asked about again, three times in all as a kubelet does it. */
const probeReady = (url: string, tries = 3): Promise<boolean> =>
  fetch(url, { signal: AbortSignal.timeout(PROBE_MS) }).then(
    ({ status }) => status === 200,
    (error: unknown) => tries > 1 && (error as Error).name === 'TimeoutError' && probeReady(url, tries - 1),
  );

interface PublishOptions {
  readonly client: Client;
  readonly replicas: readonly Replica[];
  /** Milliseconds between two looks. Default 300. */
  readonly intervalMs?: number;
}

/** Keeps the slices of the webhook's Service in line with the readiness of its replicas. The slices must exist. */
export const publishReplicas = ({ client, replicas, intervalMs = 300 }: PublishOptions): void => {
  const published = new Map<number, boolean>();
  const publish = async (replica: Replica, index: number, signal: AbortSignal): Promise<void> => {
    const ready = await probeReady(`http://127.0.0.1:${replica.healthPort}/readyz`);
    if (published.get(index) === ready) return;
    const ref = { namespace: NAMESPACE, name: sliceName(index) };
    const { endpoints } = replicaSlice(replica, index, ready);
    try {
      const limited = AbortSignal.any([signal, AbortSignal.timeout(3_000)]);
      await client.patch(ENDPOINT_SLICES, ref, 'merge', { endpoints }, {}, limited);
      published.set(index, ready);
    } catch {
      // The API server is away: the next turn tries again.
    }
  };
  repeat(intervalMs, async (signal) => {
    await Promise.all(replicas.map((replica, index) => publish(replica, index, signal)));
  });
};

interface Variable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: { readonly fieldRef?: { readonly fieldPath: string } };
}

interface Container {
  readonly image: string;
  readonly args: readonly string[];
  readonly env?: readonly Variable[];
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
}

export interface KubeletPod extends KubernetesObject {
  metadata: KubernetesObject['metadata'] & { name: string; namespace: string; uid: string; deletionTimestamp?: string };
  spec: {
    nodeName?: string;
    restartPolicy: 'Always' | 'OnFailure' | 'Never';
    serviceAccountName: string;
    containers: readonly [Container];
    volumes?: readonly { readonly name: string; readonly configMap?: { readonly name: string } }[];
  };
  status?: { phase?: string };
}

interface KubeletOptions {
  readonly bed: Bed;
  /** Two Pods of one command in one namespace never share a node, as their spread constraints want it. */
  readonly nodes: readonly BedNode[];
  /** Added to the environment of a Pod's container, as webhooks of a landscape do. Default: nothing. */
  readonly environment?: (pod: KubeletPod) => Readonly<Record<string, string>>;
}

interface Running {
  /** Pods with the same one never share a node. */
  readonly spread: string;
  readonly node: BedNode;
  readonly addresses: AddressPair;
  readonly component: Component;
  /** Where the exit code appears. */
  readonly codeFile: string;
  /** The last status that was written. */
  told: string;
}

const IMAGE = 'gardener-extension-topology-aware-routing';
const SYNC_MS = 150;

/** Whether it is one of those that are run. */
export const isOurs = ({
  spec,
}: {
  readonly spec: { readonly containers: readonly { readonly image: string }[] };
}): boolean => spec.containers[0]?.image.includes(IMAGE) ?? false;

const spreadOf = ({ metadata: { namespace }, spec }: KubeletPod): string =>
  `${namespace}/${spec.containers[0].args[0]}`;

const podPath = ({ metadata: { namespace, name } }: KubeletPod): string =>
  `/api/v1/namespaces/${namespace}/pods/${name}`;

const fieldOf = (pod: KubeletPod, path: string): string =>
  String(path.split('.').reduce<unknown>((value, key) => (value as Record<string, unknown>)[key], pod));

const environmentOf = (pod: KubeletPod): Record<string, string> =>
  Object.fromEntries(
    (pod.spec.containers[0].env ?? []).map(({ name, value = '', valueFrom }) => [
      name,
      valueFrom?.fieldRef === undefined ? value : fieldOf(pod, valueFrom.fieldRef.fieldPath),
    ]),
  );

/** The files of its ConfigMaps, and the arguments with their paths for those in the container. */
const mount = async ({ api, directory }: Bed, pod: KubeletPod): Promise<readonly string[]> => {
  const [{ args, volumeMounts = [] }] = pod.spec.containers;
  let mounted = [...args];
  for (const { name, mountPath } of volumeMounts) {
    const map = pod.spec.volumes?.find((volume) => volume.name === name)?.configMap?.name;
    if (map === undefined) continue;
    const folder = join(directory, 'mounts', pod.metadata.uid, name);
    mkdirSync(folder, { recursive: true });
    const path = `/api/v1/namespaces/${pod.metadata.namespace}/configmaps/${map}`;
    const { data = {} } = await api.get<{ data?: Record<string, string> }>(path);
    for (const [file, content] of Object.entries(data)) writeFileSync(join(folder, file), content);
    mounted = mounted.map((arg) => arg.replace(mountPath, folder));
  }
  return mounted;
};

/** A token of its ServiceAccount, bound to the Pod: it ends with it. */
const credentials = async ({ api, directory, pki }: Bed, pod: KubeletPod): Promise<string> => {
  const { namespace, name, uid } = pod.metadata;
  const account = pod.spec.serviceAccountName;
  const { status } = await api.create<{ status: { token: string } }>(
    `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`,
    { spec: { boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name, uid } } },
  );
  const file = join(directory, 'mounts', uid, 'kubeconfig');
  mkdirSync(dirname(file), { recursive: true });
  writeTokenKubeconfig(file, pki, account, status.token);
  return file;
};

const describeProgram = async (options: KubeletOptions, pod: KubeletPod, node: BedNode): Promise<Running> => {
  const { bed, environment } = options;
  const { name, uid } = pod.metadata;
  const [command = '', ...flags] = await mount(bed, pod);
  const addresses = node.nextPodAddresses();
  await addAddresses(node.namespace, nodeDevice, addresses);
  const codeFile = join(bed.directory, 'mounts', `${uid}.code`);
  const main = [process.execPath, join(root, 'cmd', command, 'main.ts'), ...flags, '--bind-address', addresses.ipv4];
  const told = `"$@" & trap "kill -TERM $!" TERM; wait $!; code=$?; wait $!; echo $code > '${codeFile}'`;
  const component = bed.program({
    name,
    command: [...enterPrefix(node.namespace), 'sh', '-c', told, 'sh', ...main],
    environment: { ...environmentOf(pod), KUBECONFIG: await credentials(bed, pod), ...environment?.(pod) },
  });
  return { spread: spreadOf(pod), node, addresses, component, codeFile, told: '' };
};

/** The next turn sees more: a Pod went away between the list and the write, or the API server was too busy to answer. */
const mayPass = (error: unknown): boolean =>
  error instanceof ApiFailure
    ? [404, 409, 429].includes(error.status) || error.status >= 500
    : error instanceof Error && error.message.includes('no answer within');

const finishedStatus = (code: number): object => {
  const at = new Date().toISOString();
  const state = { terminated: { exitCode: code, finishedAt: at, startedAt: at } };
  const container = { name: 'main', image: IMAGE, imageID: '', ready: false, restartCount: 0, state };
  return {
    phase: code === 0 ? 'Succeeded' : 'Failed',
    conditions: ['Ready', 'ContainersReady'].map((type) => ({ type, status: 'False', lastTransitionTime: at })),
    containerStatuses: [container],
  };
};

/** Starts to run Pods of our image; the bed's own Pods are none of its business. */
export const startKubelet = (options: KubeletOptions): Pick<Repeated, 'assertRunning'> => {
  const { bed, nodes } = options;
  const { api } = bed;
  const running = new Map<string, Running>();
  const ending = new Set<string>();

  const tell = async (pod: KubeletPod, one: Running, name: string, status: object): Promise<void> => {
    if (one.told === name) return;
    await api.patch(`${podPath(pod)}/status`, { status });
    one.told = name;
  };

  const begin = async (pod: KubeletPod): Promise<void> => {
    const spread = spreadOf(pod);
    const same = [...running.values()].filter((one) => one.spread === spread && one.component.pid !== undefined);
    const taken = new Set(same.map(({ node }) => node));
    const { nodeName } = pod.spec;
    // It is bound already when what comes after that has failed.
    const node = nodes.find((one) => (nodeName === undefined ? !taken.has(one) : one.name === nodeName));
    if (node === undefined) return;
    if (nodeName === undefined)
      await api.create(`${podPath(pod)}/binding`, {
        apiVersion: 'v1',
        kind: 'Binding',
        metadata: { name: pod.metadata.name },
        target: { kind: 'Node', name: node.name },
      });
    const one = await describeProgram(options, pod, node);
    running.set(pod.metadata.uid, one);
    one.component.start();
  };

  const follow = async (pod: KubeletPod, one: Running): Promise<void> => {
    if (one.component.pid === undefined) {
      if (pod.spec.restartPolicy === 'Always') return one.component.start();
      const code = existsSync(one.codeFile) ? Number(readFileSync(one.codeFile, 'utf8')) : 1;
      return tell(pod, one, 'finished', finishedStatus(code));
    }
    const ready = await probeReady(`http://${one.addresses.ipv4}:8081/readyz`);
    return tell(pod, one, `running ${ready}`, runningStatus(ready, one.addresses, one.node));
  };

  const end = async (pod: KubeletPod): Promise<void> => {
    const { uid } = pod.metadata;
    if (ending.has(uid)) return;
    ending.add(uid);
    const one = running.get(uid);
    await one?.component.stop();
    if (one !== undefined) await removeAddresses(one.node.namespace, nodeDevice, one.addresses);
    running.delete(uid);
    await api.delete(podPath(pod), { gracePeriodSeconds: 0 }).catch(() => ending.delete(uid));
  };

  const turn = async (): Promise<void> => {
    const pods = await api.list<KubeletPod>('/api/v1/pods');
    for (const pod of pods.filter(isOurs)) {
      const one = running.get(pod.metadata.uid);
      if (pod.metadata.deletionTimestamp !== undefined) void end(pod);
      else if (one === undefined) await (pod.status?.phase === 'Pending' ? begin(pod) : undefined);
      else await follow(pod, one);
    }
  };

  return repeat(SYNC_MS, () =>
    turn().catch((error: unknown) => {
      if (!mayPass(error)) throw error;
    }),
  );
};
