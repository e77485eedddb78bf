// Programs of hack/<area>/<folder> that suites need beside a bed, named by the path `<area>/<folder>/<program>`.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './chart.ts';

const partsOf = (program: string): [builder: string, folder: string, name: string] => {
  const [area = '', folder = '', name = ''] = program.split('/');
  return [join(root, 'hack', area, 'build'), folder, name];
};

/** Where a program is, built or not. */
export const builtProgram = (program: string): string => {
  const [builder, folder, name] = partsOf(program);
  return join(execFileSync(builder, [folder, '--print-dir'], { encoding: 'utf8' }).trim(), name);
};

/** Not where even the builder cannot run, for want of a shell. */
const isBuilt = (program: string): boolean => {
  try {
    return existsSync(builtProgram(program));
  } catch {
    return false;
  }
};

/** One sentence for each program that is not built, with the command that builds it. */
export const missingBuilt = (programs: readonly string[]): string[] =>
  programs
    .filter((program) => !isBuilt(program))
    .map((program) => {
      const [builder, folder, name] = partsOf(program);
      return `${name}, not built (${builder.slice(root.length)} ${folder} ${name}; make soak builds it)`;
    });

/**
 * Builds those that are missing, one after the other, until `limitSeconds` are over in all. What could not be built is left
 * out and said: the suites that need it count as skipped.
 */
export const buildWithin = (programs: readonly string[], limitSeconds: number): void => {
  const deadline = performance.now() + limitSeconds * 1_000;
  for (const program of programs.filter((one) => !isBuilt(one))) {
    const seconds = Math.max(1, Math.round((deadline - performance.now()) / 1_000));
    const [builder, folder, name] = partsOf(program);
    // Ends the compilers too: `timeout` makes a process group of its own and signals all of it.
    const { status } = spawnSync('timeout', ['--kill-after=10', String(seconds), builder, folder, name], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    if (status !== 0) console.log(`${name} is not built: ${status === 124 ? 'the time is over' : `code ${status}`}`);
  }
};
