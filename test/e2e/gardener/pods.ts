// Scheduler, kubelets and etcd's sidecars, played for what controllers make of the components: Pods run, members hold their Leases.
import { setTimeout as delay } from 'node:timers/promises';
import { ApiFailure } from '../bed/api.ts';
import type { KubernetesObject } from '../bed/api.ts';
import type { Bed } from '../bed/index.ts';

type Pod = KubernetesObject & {
  spec: { nodeName?: string; containers: readonly { name: string; image: string }[] };
  status?: { phase?: string };
};
type Lease = KubernetesObject & { spec?: { renewTime?: string } };

export interface PodRunner {
  /** Throws why it has ended by itself. */
  assertRunning(): void;
  /** Ends it; the bed may be gone already. */
  stop(): Promise<void>;
}

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
): PodRunner => {
  const stopping = new AbortController();
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
  const rounds = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await round();
      await delay(INTERVAL_MS, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  };
  let failure: unknown;
  const running = rounds().catch((error: unknown) => (failure = error));
  return {
    assertRunning() {
      if (failure !== undefined) throw failure as Error;
    },
    async stop() {
      stopping.abort();
      await running;
    },
  };
};
