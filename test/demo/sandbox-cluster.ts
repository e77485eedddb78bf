// The demo's cluster without anything installed: the in-process API server of test/sandbox.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createClient } from '../../pkg/kubernetes/client.ts';
import { loadKubeConfig } from '../../pkg/kubernetes/kubeconfig.ts';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import { NAMESPACES, PODS } from '../../pkg/apis/resources.ts';
import { METER_PORT, meterPod } from '../fixtures/measured.ts';
import { startSandbox } from '../sandbox/sandbox.ts';
import { ensure } from './actors.ts';
import type { DemoCluster } from './cluster.ts';

/** The sandbox has no accounts to make tokens for. */
const withoutToken = (pod: KubernetesObject): KubernetesObject => ({
  ...pod,
  metadata: { ...pod.metadata, annotations: { 'prometheus.io/scheme': 'http' } },
});

/** Starts a sandbox that says it is of `kubernetesVersion`; kubeconfigs go below `folder`. */
export const startSandboxCluster = async (folder: string, kubernetesVersion: string): Promise<DemoCluster> => {
  const sandbox = await startSandbox({ kubernetesVersion });
  const kubeconfig = async (user: string, groups?: readonly string[]): Promise<string> => {
    const path = join(folder, `${user.replaceAll(/[^a-z0-9-]/gi, '_')}.kubeconfig`);
    await writeFile(path, sandbox.kubeconfig(user, groups), { mode: 0o600 });
    return path;
  };
  const config = loadKubeConfig({ kubeconfig: await kubeconfig('admin', ['system:masters']) });
  const client = createClient({ config, userAgent: 'demo' });
  return {
    description: `the sandbox, an in-process Kubernetes API (${kubernetesVersion})`,
    kubernetesVersion,
    client,
    kubeconfig,
    podAddress: (index) => `198.19.${1 + Math.floor(index / 200)}.${10 + (index % 200)}`,
    playMeter: async (node, page) => {
      const { namespace = '', name = '' } = meterPod(node).metadata ?? {};
      await ensure(client, NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
      await ensure(client, PODS, withoutToken(meterPod(node)));
      const match = { resource: PODS.plural, name: `http:${name}:${METER_PORT}` };
      sandbox.addFault({ kind: 'answer', match, text: page, times: 1 });
    },
    stop: async () => {
      await client.close();
      await sandbox.stop();
    },
  };
};
