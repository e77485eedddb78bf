// How busy the machine was: on one that is full, latencies say nothing about routing.
import { readFileSync } from 'node:fs';

/** Times of all cores together, in ticks. */
export interface CpuTimes {
  /** Nothing to do, or waiting for disks. */
  readonly idle: number;
  readonly total: number;
}

/** Out of the text of /proc/stat. */
export const parseCpuTimes = (stat: string): CpuTimes => {
  // user nice system idle iowait irq softirq steal; guest times are part of user and nice.
  const fields = /^cpu +(.*)$/m.exec(stat)?.[1]?.split(' ').slice(0, 8).map(Number) ?? [];
  if (fields.length < 8 || fields.some((value) => !Number.isFinite(value))) {
    throw new Error('/proc/stat has no line of all cores');
  }
  const [, , , idle = 0, waiting = 0] = fields;
  return { idle: idle + waiting, total: fields.reduce((sum, value) => sum + value, 0) };
};

/** Share of the time between two readings in which cores worked, at whatever priority, 0..1. */
export const busyBetween = (before: CpuTimes, after: CpuTimes): number => {
  const total = after.total - before.total;
  return total <= 0 ? 0 : 1 - (after.idle - before.idle) / total;
};

export const readCpuTimes = (): CpuTimes => parseCpuTimes(readFileSync('/proc/stat', 'utf8'));
