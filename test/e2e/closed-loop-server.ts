// The Pods of the closed-loop suite: each answers a line a request, as late as its queue says, or at once that it is full.
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Socket } from 'node:net';
import type { Ledger } from './closed-loop-ledger.ts';
import { byLine } from './closed-loop-lines.ts';
import type { ServeTask } from './closed-loop-protocol.ts';
import { createQueue } from './closed-loop-queue.ts';

export interface ServedPod {
  /** Requests that it has served so far. */
  readonly total: number;
  end(): Promise<void>;
}

/** The answer to the request of a connection with this number: the number, the zone, and whether it was served. */
const answerOf = (number: string, zone: string, served: boolean): string => `${number} ${zone} ${served ? 1 : 0}\n`;

/** Starts to answer; `now` gives milliseconds since 1970, `slowMs` how much later than its queue says it answers. */
export const servePod = async (
  task: ServeTask,
  zone: string,
  ledger: Ledger,
  now: () => number,
  slowMs: () => number = () => 0,
): Promise<ServedPod> => {
  const { pod, service, address, port } = task;
  const queue = createQueue(task);
  const sockets = new Set<Socket>();
  let total = 0;
  const take = (socket: Socket, number: string): void => {
    const time = now();
    const doneAt = queue.offer(time);
    ledger.filled(time, pod, service, queue.filled(time));
    if (doneAt === undefined) {
      ledger.refused(time, pod, service);
      socket.write(answerOf(number, zone, false));
      return;
    }
    ledger.served(doneAt, pod, service);
    setTimeout(
      () => {
        total += 1;
        if (!socket.destroyed) socket.write(answerOf(number, zone, true));
      },
      doneAt + slowMs() - time,
    );
  };
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.setEncoding('utf8').on(
      'data',
      byLine((number) => take(socket, number)),
    );
    // Clients reset their connections: nothing lingers on either side.
    socket.on('error', () => socket.destroy());
    socket.on('close', () => sockets.delete(socket));
  });
  server.listen({ host: address, port, backlog: 1024 });
  await once(server, 'listening');
  return {
    get total() {
      return total;
    },
    async end() {
      server.close();
      for (const socket of sockets) socket.resetAndDestroy();
      await once(server, 'close');
    },
  };
};
