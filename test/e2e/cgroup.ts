// A cgroup with a memory limit, as a kubelet makes one for a container: version 2 where the machine has its controller, else version 1.
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

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
  /** All its processes must be gone. */
  remove(): void;
}

/** Needs root, and in version 2 the memory controller for children of the group that this process is in. */
export const createCgroup = (name: string, memoryBytes: number): Cgroup => {
  const { version, own, files } = layout();
  const folder = join(own, `${name}-${process.pid}`);
  mkdirSync(folder);
  writeFileSync(join(folder, files.limit), String(memoryBytes));
  const read = (file: string): string => readFileSync(join(folder, file), 'utf8');
  return {
    version,
    enter: ['sh', '-c', `echo $$ > '${join(folder, 'cgroup.procs')}' && exec "$@"`, '--'],
    peakBytes: () => Number(read(files.peak)),
    kills: () => Number(/^oom_kill (\d+)$/m.exec(read(files.kills))?.[1] ?? 0),
    remove: () => rmdirSync(folder),
  };
};
