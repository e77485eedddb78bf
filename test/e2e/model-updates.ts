// Changes to a cluster that runs: one Pod becomes unready, one goes, one comes. Each makes the controller sync once.
import type { Bed } from './bed/index.ts';
import type { ClusterCase, PodCase } from './model-cases.ts';
import { createPod, serviceName } from './model-cluster.ts';

/** One change of one Pod. */
export interface Update {
  readonly name: string;
  /** The cluster afterwards. */
  readonly cluster: ClusterCase;
  apply(bed: Bed, namespace: string): Promise<void>;
}

const podsPath = (namespace: string): string => `/api/v1/namespaces/${namespace}/pods`;

const selectingPod = ({ services }: ClusterCase, pod: number): number[] =>
  services.flatMap(({ source }, index) => (source.kind === 'selector' && source.pods.includes(pod) ? [index] : []));

/** Sound Pods, those first that most Services select. */
const popular = (cluster: ClusterCase): number[] =>
  cluster.pods
    .flatMap(({ ready, deleting }, index) => (ready && !deleting ? [index] : []))
    .sort((a, b) => selectingPod(cluster, b).length - selectingPod(cluster, a).length || a - b);

const withPods = (cluster: ClusterCase, pods: readonly PodCase[]): ClusterCase => ({ ...cluster, pods });

const becomeUnready = (cluster: ClusterCase, pod: number): Update => ({
  name: `p${pod} becomes unready`,
  cluster: withPods(
    cluster,
    cluster.pods.map((other, index) => (index === pod ? { ...other, ready: false } : other)),
  ),
  apply: async ({ api }, namespace) => {
    const conditions = [{ type: 'Ready', status: 'False' }];
    await api.patch(`${podsPath(namespace)}/p${pod}/status`, { status: { conditions } });
  },
});

/** Scaling down: it is gone at once. */
const disappear = (cluster: ClusterCase, pod: number): Update => ({
  name: `p${pod} is removed`,
  cluster: {
    ...cluster,
    services: cluster.services.map((service) =>
      service.source.kind === 'selector'
        ? { ...service, source: { ...service.source, pods: service.source.pods.filter((other) => other !== pod) } }
        : service,
    ),
  },
  apply: async ({ api }, namespace) => {
    await api.delete(`${podsPath(namespace)}/p${pod}`, { gracePeriodSeconds: 0 });
  },
});

/** Scaling up: on the Node of another Pod, and selected by every Service that has a selector. */
const appear = (cluster: ClusterCase, like: number): Update => {
  const pod: PodCase = { node: cluster.pods[like]?.node ?? 0, ready: true, deleting: false };
  const index = cluster.pods.length;
  const labels = cluster.services.flatMap(({ source }, service) =>
    source.kind === 'selector' ? [[serviceName(service), 'yes']] : [],
  );
  return {
    name: `p${index} is added`,
    cluster: {
      ...cluster,
      pods: [...cluster.pods, pod],
      services: cluster.services.map((service) =>
        service.source.kind === 'selector'
          ? { ...service, source: { ...service.source, pods: [...service.source.pods, index] } }
          : service,
      ),
    },
    apply: (bed, namespace) => createPod(bed, podsPath(namespace), pod, index, Object.fromEntries(labels) as object),
  };
};

/**
 * Up to four updates, each of the cluster that the one before left. Services of two families are left out: which family the
 * controller syncs first is random, and what it remembers it remembers for both.
 */
export const updatesOf = (given: ClusterCase): { readonly start: ClusterCase; readonly updates: readonly Update[] } => {
  const start = { ...given, services: given.services.map((service) => ({ ...service, dualStack: false })) };
  const [first, second, third] = popular(start);
  if (first === undefined || second === undefined || third === undefined) return { start, updates: [] };
  const updates: Update[] = [];
  for (const make of [
    (cluster: ClusterCase) => becomeUnready(cluster, first),
    (cluster: ClusterCase) => disappear(cluster, second),
    (cluster: ClusterCase) => appear(cluster, third),
    (cluster: ClusterCase) => appear(cluster, second),
  ]) {
    updates.push(make(updates.at(-1)?.cluster ?? start));
  }
  return { start, updates };
};
