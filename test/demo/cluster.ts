// What the demo needs of a cluster, so that one story plays on the sandbox and on a real control plane.
import type { Client } from '../../pkg/kubernetes/types.ts';

export interface DemoCluster {
  /** For the heading: what this is. */
  readonly description: string;
  /** For example v1.30.14. */
  readonly kubernetesVersion: string;
  /** Acts as an administrator: plays gardenlet, etcd-druid, the kubelet and the operator. */
  readonly client: Client;
  /** Writes a kubeconfig for a user and returns its path. */
  kubeconfig(user: string, groups?: readonly string[]): Promise<string>;
  /** A distinct address for the Pod of this index. */
  podAddress(index: number): string;
  /** Answers once in place of the traffic-meter of a Node, with this page; undefined where the API server asks Nodes themselves. */
  readonly playMeter?: (node: string, page: string) => Promise<void>;
  stop(): Promise<void>;
}
