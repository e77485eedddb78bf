// Memory of the commands under test: what the chart gives them, what they take, and cgroups that hold them to it.
import { existsSync, mkdtempSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { parseQuantity } from '../../pkg/apis/quantity.ts';
import { type Memory, parseMemory } from '../bench/processes.ts';
import type { Component } from './bed/component.ts';
import { chart } from './chart.ts';

interface Layout {
  readonly version: 1 | 2;
  /** Folder of the group that this process is in. */
  readonly own: string;
  readonly files: { readonly limit: string; readonly peak: string; readonly kills: string };
}

const ROOT = '/sys/fs/cgroup';

/** The path behind a controller in /proc/self/cgroup; version 2 has an empty list of controllers. */
const ownPath = (controller: string): string => {
  const lines = readFileSync('/proc/self/cgroup', 'utf8').trim().split('\n');
  return lines.map((line) => line.split(':')).find(([, names]) => names === controller)?.[2] ?? '/';
};

const layout = (): Layout => {
  if (existsSync(join(ROOT, 'memory'))) {
    const files = { limit: 'memory.limit_in_bytes', peak: 'memory.max_usage_in_bytes', kills: 'memory.oom_control' };
    return { version: 1, own: join(ROOT, 'memory', ownPath('memory')), files };
  }
  const files = { limit: 'memory.max', peak: 'memory.peak', kills: 'memory.events' };
  return { version: 2, own: join(ROOT, ownPath('')), files };
};

export interface Cgroup {
  readonly version: 1 | 2;
  /** Words to put before a command so that it runs in the group. */
  readonly enter: readonly [string, ...string[]];
  /** Most memory that its processes had at a time, the page cache of their files included, bytes. */
  peakBytes(): number;
  /** Processes that the kernel ended for the limit. */
  kills(): number;
}

/** Needs root, and in version 2 the memory controller for children of the group that this process is in. */
export const createCgroup = (name: string, memoryBytes: number): Cgroup => {
  const { version, own, files } = layout();
  const folder = mkdtempSync(join(own, `${name}-`));
  // Its processes end with their bed.
  process.once('exit', () => rmdirSync(folder));
  writeFileSync(join(folder, files.limit), String(memoryBytes));
  const read = (file: string): string => readFileSync(join(folder, file), 'utf8');
  return {
    version,
    enter: ['sh', '-c', `echo $$ > '${join(folder, 'cgroup.procs')}' && exec "$@"`, '--'],
    peakBytes: () => Number(read(files.peak)),
    kills: () => Number(/^oom_kill (\d+)$/m.exec(read(files.kills))?.[1] ?? 0),
  };
};

interface Values {
  readonly settingsReconciler: { readonly resources: { readonly limits: { readonly memory: string } } };
  readonly endpointsliceWebhook: Values['settingsReconciler'];
  readonly flowController: Values['settingsReconciler'];
  readonly trafficMeter: Values['settingsReconciler'];
}

const nano = 1_000_000_000n;

/** Memory limits of the chart's values, bytes: beyond them, a cluster ends the process. */
export const readMemoryLimits = (): Readonly<
  Record<'webhook' | 'reconciler' | 'flowController' | 'trafficMeter', number>
> => {
  const values = parse(readFileSync(join(chart, 'values.yaml'), 'utf8')) as Values;
  const bytesOf = ({ resources }: Values['settingsReconciler']): number =>
    Number((parseQuantity(resources.limits.memory) ?? 0n) / nano);
  return {
    webhook: bytesOf(values.endpointsliceWebhook),
    reconciler: bytesOf(values.settingsReconciler),
    flowController: bytesOf(values.flowController),
    trafficMeter: bytesOf(values.trafficMeter),
  };
};

/** Memory of a program that runs. */
export const memoryOf = ({ pid }: Component): Memory => parseMemory(readFileSync(`/proc/${pid}/status`, 'utf8'));
