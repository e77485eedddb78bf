// The namespace, Nodes, Pods and Services of the sandbox's own tests.
import type { Service } from '../../pkg/apis/core.ts';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import { createApi, type Api } from '../contract/api.ts';
import { startSandbox } from '../sandbox/sandbox.ts';
import type { Sandbox } from '../sandbox/types.ts';

export const NAMESPACE = 'seed';
export const ZONES = ['a', 'b', 'c'];
export const SERVICES_PATH = `/api/v1/namespaces/${NAMESPACE}/services`;

export const aNamespace = (name = NAMESPACE): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name },
});
export const aService = (name: string, labels: Record<string, string> = {}): Service => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace: NAMESPACE, labels },
  spec: { selector: { app: name }, ports: [{ port: 443 }] },
});
export const aNode = (zone: string): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: `node-${zone}`, labels: { 'topology.kubernetes.io/zone': zone } },
});
export const aPod = (app: string, zone: string, index: number): KubernetesObject =>
  ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `${app}-${index}`, namespace: NAMESPACE, labels: { app } },
    spec: { nodeName: `node-${zone}` },
    status: { phase: 'Running', podIP: `198.19.0.${index + 1}`, conditions: [{ type: 'Ready', status: 'True' }] },
  }) as KubernetesObject;

/** A sandbox with the namespace and a Node in each zone, and a user of it; the caller stops it. */
export const openSeededSandbox = async (): Promise<{ sandbox: Sandbox; api: Api }> => {
  const sandbox = await startSandbox({ bookmarkSeconds: 1 });
  const api = await createApi(sandbox.kubeconfig('alice', ['team']));
  await sandbox.apply(aNamespace());
  for (const zone of ZONES) await sandbox.apply(aNode(zone));
  return { sandbox, api };
};
