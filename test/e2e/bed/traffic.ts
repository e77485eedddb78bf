// Opens real connections from a node to a Service and counts where they arrive.
import type { ConnectionCounts } from './agent-protocol.ts';
import type { BedNode } from './node.ts';
import type { PodAnswer } from './pod.ts';
import type { BedService } from './service.ts';

export interface ConnectOptions {
  readonly node: BedNode;
  readonly service: BedService;
  /** How many connections; kube-proxy chooses an endpoint for each. */
  readonly count: number;
  /** Default IPv4. */
  readonly family?: 'IPv4' | 'IPv6';
  /** Default: the Service's port. */
  readonly port?: number;
  /** How many are open at a time. Default 8. */
  readonly parallel?: number;
  /** After this time a connection counts as failed, in milliseconds. Default 5,000. */
  readonly timeoutMs?: number;
}

/** Where the connections of one measurement went. The key '' stands for Pods on nodes without zone. */
export interface Traffic {
  /** Connections that were answered. */
  readonly total: number;
  readonly byZone: Readonly<Record<string, number>>;
  readonly byNode: Readonly<Record<string, number>>;
  readonly byPod: Readonly<Record<string, number>>;
  /** Connections without an answer, by error code, e.g. ECONNREFUSED when the Service has no endpoint. */
  readonly errors: Readonly<Record<string, number>>;
}

/** Sums up the answers of Pods. */
export const summarise = ({ answers, errors }: ConnectionCounts): Traffic => {
  const traffic = { total: 0, byZone: {}, byNode: {}, byPod: {}, errors };
  const add = (counts: Record<string, number>, key: string, count: number): void => {
    counts[key] = (counts[key] ?? 0) + count;
  };
  for (const [text, count] of Object.entries(answers)) {
    const answer = JSON.parse(text) as PodAnswer;
    traffic.total += count;
    add(traffic.byZone, answer.zone, count);
    add(traffic.byNode, answer.node, count);
    add(traffic.byPod, answer.pod, count);
  }
  return traffic;
};

/** Connects from a node to the cluster IP of a Service, one new connection at a time and lane. */
export const connectTo = async (options: ConnectOptions): Promise<Traffic> => {
  const { node, service, count, family = 'IPv4', port = service.port, parallel = 8, timeoutMs = 30_000 } = options;
  const address = service.clusterIPs.find((ip) => ip.includes(':') === (family === 'IPv6'));
  if (address === undefined) throw new Error(`Service ${service.namespace}/${service.name} has no ${family} address`);
  return summarise(await node.agent.count({ task: 'connect', address, port, count, parallel, timeoutMs }));
};
