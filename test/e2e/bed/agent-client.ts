// Connections from a node and to its Pods, made by a program inside its namespace.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type ProcessIdentity, enterPrefix, identify } from './machine.ts';
import type { BedNode } from './node.ts';
import type { BedService, PodAnswer } from './pod.ts';

/** An address and port inside the agent's namespace. */
export interface Endpoint {
  readonly address: string;
  readonly port: number;
}

/** What an agent can be asked to do. */
export type AgentTask =
  /** Answer every connection to the endpoint with `answer` and close it. */
  | ({ readonly task: 'listen'; readonly answer: string } & Endpoint)
  /** Stop doing so. */
  | ({ readonly task: 'unlisten' } & Endpoint)
  /** Open `count` connections one after another in each of `parallel` lanes and count the answers. */
  | ({
      readonly task: 'connect';
      readonly count: number;
      readonly parallel: number;
      readonly timeoutMs: number;
      readonly from: string | undefined;
    } & Endpoint)
  /** Forward connections to a Unix socket, which is reachable from every network namespace, to the endpoint. */
  | ({ readonly task: 'relay'; readonly socketPath: string } & Endpoint);

/** What a `connect` task counted: answers by their text, and connections without answer by error code. */
export interface ConnectionCounts {
  readonly answers: Readonly<Record<string, number>>;
  readonly errors: Readonly<Record<string, number>>;
}

export interface AgentRequest {
  readonly id: number;
  readonly task: AgentTask;
}

export interface AgentReply {
  readonly id: number;
  readonly counts?: ConnectionCounts;
  readonly error?: string;
}

const agentFile = fileURLToPath(new URL('./agent.ts', import.meta.url));

interface AgentOptions {
  readonly namespace: string;
  readonly logFile: string;
  readonly onStart: (process: ProcessIdentity) => void;
}

/** A running agent. Tasks may overlap; each rejects when the agent reports an error or ends. */
export interface Agent {
  perform(task: AgentTask): Promise<void>;
  /** Runs a `connect` task. */
  count(task: Extract<AgentTask, { task: 'connect' }>): Promise<ConnectionCounts>;
  stop(): Promise<void>;
}

interface Pending {
  readonly resolve: (reply: AgentReply) => void;
  readonly reject: (error: Error) => void;
}

/** Starts an agent; it ends by itself when this process does. */
export const startAgent = ({ namespace, logFile, onStart }: AgentOptions): Agent => {
  const log = openSync(logFile, 'a');
  const [program, ...prefix] = enterPrefix(namespace);
  const child = spawn(program, [...prefix, process.execPath, agentFile], {
    stdio: ['ignore', log, log, 'ipc'],
    detached: true,
  });
  closeSync(log);
  const identity = child.pid === undefined ? undefined : identify(child.pid);
  if (identity) onStart(identity);

  const pending = new Map<number, Pending>();
  let lastId = 0;
  const failAll = (error: Error): void => {
    for (const { reject } of pending.values()) reject(error);
    pending.clear();
  };
  child.on('error', failAll);
  child.on('exit', () => failAll(new Error(`the agent in ${namespace} ended; see ${logFile}`)));
  child.on('message', (reply: AgentReply) => {
    const waiting = pending.get(reply.id);
    pending.delete(reply.id);
    if (reply.error === undefined) waiting?.resolve(reply);
    else waiting?.reject(new Error(`agent in ${namespace}: ${reply.error}`));
  });

  const request = (task: AgentTask): Promise<AgentReply> =>
    new Promise((resolve, reject) => {
      const id = ++lastId;
      pending.set(id, { resolve, reject });
      child.send({ id, task }, (error) => {
        if (error) reject(error);
      });
    });
  return {
    perform: async (task) => void (await request(task)),
    count: async (task) => {
      const { counts } = await request(task);
      if (!counts) throw new Error(`agent in ${namespace}: a connect task without counts`);
      return counts;
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.disconnect();
      await ended;
    },
  };
};

export interface ConnectOptions {
  readonly node: BedNode;
  readonly service: BedService;
  /** How many connections; kube-proxy chooses an endpoint for each. */
  readonly count: number;
  /** Default IPv4. */
  readonly family?: 'IPv4' | 'IPv6';
  /** Default: the Service's port. */
  readonly port?: number;
  /** Address of a Pod of the node. Default: the node's own. */
  readonly from?: string;
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
const summarise = ({ answers, errors }: ConnectionCounts): Traffic => {
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
  const { from } = options;
  return summarise(await node.agent.count({ task: 'connect', address, port, count, parallel, timeoutMs, from }));
};
