// Divides independent pieces of work among threads, one piece at a time each.
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';

/**
 * Sends the numbers from 0 to `count` - 1 to threads that run `file`, and resolves with their answers in that order. Each answer is
 * one message; rejects with the first error of a thread.
 */
export const onThreads = async <Answer>(
  file: URL,
  count: number,
  workerData: unknown,
  threads = availableParallelism(),
): Promise<Answer[]> => {
  const answers: Answer[] = [];
  let next = 0;
  const thread = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const worker = new Worker(file, { workerData });
      let piece = -1;
      const send = (): void => {
        piece = next++;
        if (piece < count) worker.postMessage(piece);
        else void worker.terminate().then(() => resolve(), reject);
      };
      worker.on('error', reject);
      worker.on('message', (answer: Answer) => {
        answers[piece] = answer;
        send();
      });
      send();
    });
  await Promise.all(Array.from({ length: Math.min(threads, count) }, thread));
  return answers;
};
