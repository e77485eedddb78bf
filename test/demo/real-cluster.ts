// The demo's cluster with real etcd, kube-apiserver and kube-controller-manager, in a network namespace of their own.
import { createClient } from '../../pkg/kubernetes/client.ts';
import { loadKubeConfig } from '../../pkg/kubernetes/kubeconfig.ts';
import { startControlPlane } from '../e2e/bed/start-control-plane.ts';
import type { DemoCluster } from './cluster.ts';

/** Starts a control plane; the caller must run in the namespace that `runIsolated` made. */
export const startRealCluster = async (): Promise<DemoCluster> => {
  const controlPlane = await startControlPlane();
  const kubeconfig = (user: string, groups: readonly string[] = []) => controlPlane.kubeconfigFor(user, groups);
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
      await controlPlane.stop();
    },
  };
};
