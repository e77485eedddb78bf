// The demo's cluster with real etcd, kube-apiserver and kube-controller-manager, in a network namespace of their own.
import { createClient } from '../../pkg/kubernetes/client.ts';
import { loadKubeConfig } from '../../pkg/kubernetes/kubeconfig.ts';
import { startBed } from '../e2e/bed/index.ts';
import { isolatedNamespace } from '../e2e/bed/state.ts';
import type { DemoCluster } from './cluster.ts';

/** Starts a control plane; the caller must run in the namespace that `runIsolated` made. */
export const startRealCluster = async (): Promise<DemoCluster> => {
  const namespace = isolatedNamespace();
  const bed = await startBed(namespace === undefined ? {} : { namespace });
  const kubeconfig = (user: string, groups: readonly string[] = []) => bed.kubeconfig({ user, groups });
  const config = loadKubeConfig({ kubeconfig: await kubeconfig('admin', ['system:masters']) });
  const client = createClient({ config, userAgent: 'demo' });
  const { gitVersion } = await client.raw<{ gitVersion: string }>('/version');
  return {
    description: `real etcd, kube-apiserver and kube-controller-manager (${gitVersion})`,
    kubernetesVersion: gitVersion,
    client,
    kubeconfig,
    podAddress: (index) => `198.19.${1 + Math.floor(index / 200)}.${10 + (index % 200)}`,
    stop: async () => {
      await client.close();
      await bed.stop();
    },
  };
};
