// What the runner prints: one line that moves on a terminal and a line every few seconds elsewhere, failures as they come,
// and at the end the slowest files, the time and the counts.
import { basename } from 'node:path';

/** Between two lines where the output is no terminal, and between two looks where it is, in milliseconds. */
const [LINE_EVERY, REDRAW_EVERY] = [5_000, 100];
const SLOWEST = Number(process.env['TEST_SLOWEST'] ?? 10);

export interface Progress {
  began(file: string): void;
  tests(more: { readonly passed: number; readonly skipped: number }): void;
  failed(line: string): void;
  /** `details` are printed at the end. */
  ended(file: string, one: { readonly details: string; readonly cpuMs: number }): void;
  print(text: string): void;
  /** Prints the rest; whether everything passed. */
  finish(): boolean;
}

interface Output {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

/** @param files how many there are. */
export const createProgress = ({ files, workers, out }: { files: number; workers: number; out: Output }): Progress => {
  const start = performance.now();
  const count = { passed: 0, skipped: 0, failed: 0 };
  const running = new Map<string, number>();
  const times: { file: string; ms: number; cpuMs: number }[] = [];
  const accounts: string[] = [];
  const terminal = out.isTTY === true;
  const filesText = `${files} test file${files === 1 ? '' : 's'}`;

  const state = (): string => {
    const names = [...running.keys()].map((file) => basename(file, '.test.ts')).join(', ');
    const elapsed = Math.round((performance.now() - start) / 1000);
    return `${elapsed} s: ${count.passed} passed, ${count.failed} failed, ${times.length} of ${files} files; running ${names}`;
  };
  const print = (text: string): void => {
    out.write(`${terminal ? '\r\u001B[2K' : ''}${text}${text.endsWith('\n') ? '' : '\n'}`);
  };
  const draw = (): void => {
    if (terminal) out.write(`\r\u001B[2K${state().slice(0, (out.columns ?? 80) - 1)}`);
    else print(state());
  };

  print(`${filesText}, ${workers} at a time`);
  const timer = setInterval(draw, terminal ? REDRAW_EVERY : LINE_EVERY);

  return {
    print,
    began: (file) => void running.set(file, performance.now()),
    tests({ passed, skipped }) {
      count.passed += passed;
      count.skipped += skipped;
    },
    failed(line) {
      count.failed += 1;
      print(line);
    },
    ended(file, { details, cpuMs }) {
      times.push({ file, ms: performance.now() - (running.get(file) ?? start), cpuMs });
      running.delete(file);
      if (details !== '') accounts.push(`${file}\n${details}`);
    },
    finish() {
      clearInterval(timer);
      for (const account of accounts) print(account);
      const slowest = times.sort((left, right) => right.ms - left.ms).slice(0, SLOWEST);
      print(`${files > SLOWEST ? `the ${SLOWEST} slowest of ` : ''}${filesText}:`);
      for (const { file, ms, cpuMs } of slowest)
        print(`${seconds(ms).padStart(9)}  ${file} (${seconds(cpuMs)} of one processor)`);
      const { passed, skipped, failed } = count;
      if (passed + skipped + failed === 0) print('no test ran');
      print(`took ${seconds(performance.now() - start)}`);
      print(`${passed} passed, ${failed} failed, ${skipped} skipped`);
      return failed === 0 && passed + skipped > 0;
    },
  };
};
