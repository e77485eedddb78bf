// Starts an agent inside a namespace and hands it tasks.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { AgentReply, AgentTask, ConnectionCounts } from './agent-protocol.ts';
import { enterPrefix } from './namespaces.ts';
import { identify } from './process-identity.ts';
import type { ProcessIdentity } from './process-identity.ts';

const agentFile = fileURLToPath(new URL('./agent.ts', import.meta.url));

export interface AgentOptions {
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
