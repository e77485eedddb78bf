// How fast the machine is while a benchmark runs: CPU time of fixed work, so that figures of different times can be compared.
import { createHash } from 'node:crypto';
import { median } from './statistics.ts';

/** About 64 KiB of JSON, like a slice of a hundred endpoints. */
const DOCUMENT = JSON.stringify(
  Array.from({ length: 400 }, (_, index) => ({
    addresses: [`198.18.${index % 250}.7`],
    conditions: { ready: true, serving: true, terminating: false },
    nodeName: `node-${index}`,
    zone: `eu-1${'abc'[index % 3]}`,
  })),
);
const ROUNDS = 400;
const REPEATS = 5;

/** The result counts for nothing but that the work was done. */
const work = (rounds: number): number => {
  let digest = 0;
  for (let round = 0; round < rounds; round += 1) {
    const text = JSON.stringify(JSON.parse(DOCUMENT));
    digest ^= createHash('sha256').update(text).digest()[0] ?? 0;
  }
  return digest;
};

/** Median milliseconds of CPU time of the fixed work, after a first time that is not counted. */
export const calibrate = (rounds = ROUNDS): number => {
  work(rounds);
  return median(
    Array.from({ length: REPEATS }, () => {
      const before = process.cpuUsage();
      work(rounds);
      const { user, system } = process.cpuUsage(before);
      return (user + system) / 1_000;
    }),
  );
};
