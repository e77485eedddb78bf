// One thread of the benchmark of rules: runs the pieces it is sent by number.
import { parentPort, workerData } from 'node:worker_threads';
import { piecesOf, runPiece } from './pieces.ts';
import type { Selection } from './pieces.ts';

const selection = workerData as Selection;
const pieces = piecesOf(selection);

parentPort?.on('message', (index: number) => {
  const piece = pieces[index];
  if (piece !== undefined) parentPort?.postMessage(runPiece(piece, selection));
});
