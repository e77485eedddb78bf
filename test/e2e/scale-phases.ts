// What a controller takes and writes while something happens, and whether it answers and keeps its Lease meanwhile.
import { readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { parseCpuSeconds } from '../bench/processes.ts';
import type { Component } from './bed/component.ts';
import type { Bed } from './bed/index.ts';
import { readAudit } from './hints-audit.ts';
import type { Write } from './hints-audit.ts';
import { memoryOf } from './memory.ts';
import { watchHealth } from './scale-health.ts';
import type { ControllerPhase } from './scale-figures.ts';

export interface PhaseOptions {
  readonly controller: Component;
  /** Whose writes are its own. */
  readonly user: string;
  readonly healthUrl: string;
}

const cpuOf = ({ pid }: Component): number =>
  pid === undefined ? 0 : parseCpuSeconds(readFileSync(`/proc/${pid}/stat`, 'utf8'));

/** Between two renewals that the API server took, seconds; undefined where there were not two. */
const longestGap = (leases: readonly Write[]): number | undefined => {
  const times = leases.filter(({ status }) => status === 200).map(({ at }) => at);
  const gaps = times.slice(1).map((at, index) => (at - (times[index] ?? at)) / 1_000);
  return gaps.length === 0 ? undefined : Math.max(...gaps);
};

/** Runs `work`, which may look at the writes so far, as often as it likes. */
export const measurePhase = async (
  name: string,
  { auditLog, controlPlane: { apiServer, etcd } }: Bed,
  { controller, user, healthUrl }: PhaseOptions,
  work: (writes: () => readonly Write[]) => Promise<unknown>,
): Promise<ControllerPhase> => {
  const audit = readAudit(auditLog, (write) => write.user === user);
  const serverCpu = (): number => cpuOf(apiServer) + cpuOf(etcd);
  const health = watchHealth(healthUrl);
  const writes: Write[] = [];
  const leases: Write[] = [];
  const all = (): readonly Write[] => {
    for (const write of audit.next()) (write.resource === 'leases' ? leases : writes).push(write);
    return writes;
  };
  try {
    const [from, cpu, server] = [performance.now(), cpuOf(controller), serverCpu()];
    await work(all);
    const seconds = (performance.now() - from) / 1_000;
    const counted = Map.groupBy(all(), ({ verb, resource }) => `${verb} ${resource}`);
    const leaseGapSeconds = longestGap(leases);
    return {
      name,
      seconds,
      cpuSeconds: cpuOf(controller) - cpu,
      serverCpuSeconds: serverCpu() - server,
      peakBytes: memoryOf(controller).peak,
      writes: Object.fromEntries([...counted].map(([kind, own]) => [kind, own.length])),
      health: await health.look(),
      ...(leaseGapSeconds === undefined ? {} : { leaseGapSeconds }),
      load: loadavg()[0] ?? 0,
    };
  } finally {
    await health.stop();
  }
};
