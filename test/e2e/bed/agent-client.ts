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

interface AskedOptions {
  readonly namespace: string;
  readonly logFile: string;
  /** The program, and its arguments. */
  readonly program: readonly [file: string, ...args: string[]];
  /** What it is, for errors. */
  readonly what: string;
}

interface Asked<Task, Reply> {
  readonly pid: number | undefined;
  /** Tasks may overlap; each rejects when the program reports an error or ends. */
  perform(task: Task): Promise<Reply>;
  stop(): Promise<void>;
}

/** Starts a program that answers over its channel to this process, and ends with it. `onOther` gets what it says unasked. */
export const startAsked = <Task, Reply extends { readonly id: number; readonly error?: string }, Other = never>(
  { namespace, logFile, program, what }: AskedOptions,
  onOther: (message: Other) => void = () => undefined,
): Asked<Task, Reply> => {
  const log = openSync(logFile, 'a');
  const [enter, ...prefix] = enterPrefix(namespace);
  const child = spawn(enter, [...prefix, process.execPath, ...program], {
    stdio: ['ignore', log, log, 'ipc'],
    detached: true,
  });
  closeSync(log);
  const pending = new Map<number, { resolve: (reply: Reply) => void; reject: (error: Error) => void }>();
  let lastId = 0;
  const failAll = (error: Error): void => {
    for (const { reject } of pending.values()) reject(error);
    pending.clear();
  };
  child.on('error', failAll);
  child.on('exit', () => failAll(new Error(`${what} ended; see ${logFile}`)));
  child.on('message', (message: Reply | (Other & { readonly id?: undefined })) => {
    if (message.id === undefined) return onOther(message);
    const waiting = pending.get(message.id);
    pending.delete(message.id);
    if (message.error === undefined) waiting?.resolve(message);
    else waiting?.reject(new Error(`${what}: ${message.error}`));
  });
  return {
    pid: child.pid,
    perform: (task) =>
      new Promise((resolve, reject) => {
        const id = ++lastId;
        pending.set(id, { resolve, reject });
        child.send({ id, task }, (error) => {
          if (error) reject(error);
        });
      }),
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.disconnect();
      await ended;
    },
  };
};

const agentFile = fileURLToPath(new URL('./agent.ts', import.meta.url));

interface AgentOptions extends Pick<AskedOptions, 'namespace' | 'logFile'> {
  readonly onStart: (process: ProcessIdentity) => void;
}

export interface Agent extends Asked<AgentTask, AgentReply> {
  /** Runs a `connect` task. */
  count(task: Extract<AgentTask, { task: 'connect' }>): Promise<ConnectionCounts>;
}

export const startAgent = ({ namespace, logFile, onStart }: AgentOptions): Agent => {
  const what = `the agent in ${namespace}`;
  const agent = startAsked<AgentTask, AgentReply>({ namespace, logFile, program: [agentFile], what });
  const identity = agent.pid === undefined ? undefined : identify(agent.pid);
  if (identity) onStart(identity);
  return {
    ...agent,
    count: async (task) => {
      const { counts } = await agent.perform(task);
      if (!counts) throw new Error(`${what}: a connect task without counts`);
      return counts;
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
