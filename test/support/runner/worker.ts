// One process of the runner: takes a file after the other, runs it in mocha, and says how each test ended.
import { format } from 'node:util';
import { pathToFileURL } from 'node:url';
import mocha from 'mocha';
import type { MochaOptions, Runner, Test } from 'mocha';
import { failureLine } from '../failure-line.ts';
import { parseArguments } from './arguments.ts';
import { LAST, type WorkerMessage } from './messages.ts';

const { options } = parseArguments(process.argv.slice(2));
for (const path of options.require) await import(pathToFileURL(path).href);

const send = (message: WorkerMessage): void => void process.send?.(message);

/** Ended since it was reported. */
const ended = { passed: 0, skipped: 0 };
let reportedAt = performance.now();
const REPORT_EVERY_MS = 1_000;
const report = (): void => {
  send({ type: 'tests', ...ended });
  Object.assign(ended, { passed: 0, skipped: 0 });
  reportedAt = performance.now();
};
const count = (outcome: 'passed' | 'skipped'): void => {
  ended[outcome] += 1;
  if (performance.now() - reportedAt > REPORT_EVERY_MS) report();
};

let used = process.cpuUsage();
/** Ready for the next file; what the processor spent on the last one is told with it. */
const next = (details: string): void => {
  const { user, system } = process.cpuUsage(used);
  used = process.cpuUsage();
  report();
  send({ type: 'next', details, cpuMs: (user + system) / 1000 });
};

/** What mocha prints of failed tests, with the differences of what was compared. */
const detailsOf = (failures: Test[]): string => {
  const lines: string[] = [];
  mocha.reporters.Base.consoleLog = (...parts: unknown[]) => void lines.push(format(...parts));
  if (failures.length > 0) mocha.reporters.Base.list(failures);
  return lines.join('\n');
};

class SendingReporter extends mocha.reporters.Base {
  constructor(runner: Runner, given: MochaOptions) {
    super(runner, given);
    runner.on('pass', () => count('passed'));
    runner.on('pending', () => count('skipped'));
    runner.on('fail', (test, error) => send({ type: 'fail', line: failureLine(test.fullTitle(), error) }));
  }
}

const run = async (file: string): Promise<void> => {
  const suite = new mocha({ ...options, reporter: SendingReporter });
  suite.addFile(file);
  try {
    await suite.loadFilesAsync();
  } catch (error) {
    send({ type: 'fail', line: failureLine(file, error) });
    return next(error instanceof Error ? (error.stack ?? '') : String(error));
  }
  const failures: Test[] = [];
  const runner = suite.run(() => {
    suite.dispose();
    next(detailsOf(failures));
  });
  runner.on('fail', (test) => failures.push(test));
};

process.on('message', (file: string) => {
  if (file === LAST) process.disconnect();
  else void run(file);
});
next('');
