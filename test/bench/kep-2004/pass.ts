// One pass over the grid on several threads; finished sections are kept in a file, so that an interrupted pass goes on.
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { sections } from './grid.ts';
import { type Tally, type Work, addTally, emptyTally } from './tally.ts';

export interface PassOptions {
  readonly work: Work;
  readonly threads: number;
  /** JSON lines, one for each finished section; lines of other work are left alone. Without it nothing is kept. */
  readonly resumeFile?: string | undefined;
  readonly report: (line: string) => void;
}

interface Line {
  readonly work: string;
  readonly index: number;
  readonly tally: Tally;
}

const REPORT_EVERY_MS = 10_000;

const keyOf = (work: Work): string => JSON.stringify([work.every, work.thetas, work.byScore]);

const readLine = (line: string): Line | undefined => {
  try {
    return JSON.parse(line) as Line;
  } catch {
    return undefined;
  }
};

/** Finished sections of this work. A line that was cut off by an interruption does not count, and the next one starts anew. */
const finishedIn = (file: string, work: Work): Map<number, Tally> => {
  const done = new Map<number, Tally>();
  if (!existsSync(file)) return done;
  const text = readFileSync(file, 'utf8');
  if (text !== '' && !text.endsWith('\n')) appendFileSync(file, '\n');
  for (const row of text.split('\n')) {
    const line = readLine(row);
    if (line?.work === keyOf(work)) done.set(line.index, line.tally);
  }
  return done;
};

const progress = (done: number, all: number, cases: number, seconds: number): string => {
  const rate = cases / seconds;
  const left = Math.round(((all - done) / Math.max(1, done)) * seconds);
  return `${done} of ${all} sections, ${Math.round(rate).toLocaleString('en-US')} cases/s, about ${left} s left`;
};

/** Sections in flight: each worker gets the next one when it has finished one. */
const runSections = (
  { work, threads, resumeFile, report }: PassOptions,
  open: number[],
  total: Tally,
): Promise<void> => {
  const begin = performance.now();
  const all = open.length;
  let [finished, cases, told] = [0, 0, begin];
  const runOne = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const worker = new Worker(new URL('./worker.ts', import.meta.url), { workerData: work });
      const next = (): void => {
        const index = open.shift();
        if (index !== undefined) worker.postMessage(index);
        else void worker.terminate().then(() => resolve(), reject);
      };
      worker.on('error', reject);
      worker.on('message', ({ index, tally }: { index: number; tally: Tally }) => {
        const line: Line = { work: keyOf(work), index, tally };
        if (resumeFile !== undefined) appendFileSync(resumeFile, `${JSON.stringify(line)}\n`);
        addTally(total, tally);
        finished += 1;
        cases += tally.cases;
        const now = performance.now();
        if (now - told > REPORT_EVERY_MS || finished === all) {
          told = now;
          report(progress(finished, all, cases, (now - begin) / 1000));
        }
        next();
      });
      next();
    });
  return Promise.all(Array.from({ length: Math.min(threads, all) }, runOne)).then(() => undefined);
};

/** Sums over all cases that the work names. The largest section goes first, so that no thread is left alone with it. */
export const runPass = async (options: PassOptions): Promise<Tally> => {
  const { work, resumeFile, report } = options;
  const total = emptyTally(work);
  const done = resumeFile === undefined ? new Map<number, Tally>() : finishedIn(resumeFile, work);
  if (done.size > 0) report(`${done.size} sections were finished before: ${resumeFile}`);
  for (const tally of done.values()) addTally(total, tally);
  const open = sections()
    .map(({ cases }, index) => ({ cases, index }))
    .filter(({ index }) => !done.has(index))
    .sort((a, b) => b.cases - a.cases || a.index - b.index)
    .map(({ index }) => index);
  await runSections(options, open, total);
  return total;
};
