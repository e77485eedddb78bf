// One worker thread: computes the sections it is sent, one after the other.
import { parentPort, workerData } from 'node:worker_threads';
import { sections } from './grid.ts';
import { type Work, tallySection } from './tally.ts';

const work = workerData as Work;
const all = sections();

parentPort?.on('message', (index: number) => {
  const section = all[index];
  if (section !== undefined) parentPort?.postMessage({ index, tally: tallySection(section, work) });
});
