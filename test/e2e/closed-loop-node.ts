// Starts the traffic program of the closed-loop suite in a node's namespace and hands it tasks.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { enterPrefix } from './bed/namespaces.ts';
import type { ServedTotals, TrafficMessage, TrafficReport, TrafficTask } from './closed-loop-protocol.ts';

const programFile = fileURLToPath(new URL('./closed-loop-agent.ts', import.meta.url));

export interface TrafficNodeOptions {
  /** Network namespace of the node. */
  readonly namespace: string;
  readonly zone: string;
  readonly seed: number;
  readonly logFile: string;
  readonly onReport: (report: TrafficReport) => void;
  readonly onTotals: (totals: ServedTotals) => void;
}

export interface TrafficNode {
  readonly pid: number;
  /** Rejects when the program reports an error or ends. */
  perform(task: TrafficTask): Promise<void>;
  stop(): Promise<void>;
}

/** Starts the program; it ends by itself when this process does. */
export const startTrafficNode = (options: TrafficNodeOptions): TrafficNode => {
  const { namespace, zone, seed, logFile, onReport, onTotals } = options;
  const log = openSync(logFile, 'a');
  const [program, ...prefix] = enterPrefix(namespace);
  const child = spawn(program, [...prefix, process.execPath, programFile, zone, String(seed)], {
    stdio: ['ignore', log, log, 'ipc'],
    detached: true,
  });
  closeSync(log);
  const pending = new Map<number, { resolve: () => void; reject: (error: Error) => void }>();
  let lastId = 0;
  const failAll = (error: Error): void => {
    for (const { reject } of pending.values()) reject(error);
    pending.clear();
  };
  child.on('error', failAll);
  child.on('exit', () => failAll(new Error(`the traffic program of zone ${zone} ended; see ${logFile}`)));
  child.on('message', (message: TrafficMessage) => {
    if ('report' in message) return onReport(message.report);
    if ('totals' in message) return onTotals(message.totals);
    const waiting = pending.get(message.id);
    pending.delete(message.id);
    if (message.error === undefined) waiting?.resolve();
    else waiting?.reject(new Error(`traffic of zone ${zone}: ${message.error}`));
  });
  return {
    pid: child.pid ?? 0,
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
