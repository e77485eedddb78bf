// A server on this machine that answers every request with what it was given last.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export const serveAnswers = async () => {
  let answer: { status?: number; text: Buffer } = { text: Buffer.alloc(0) };
  const server = createServer((request, response) => {
    request.resume();
    request.once('end', () => {
      response.writeHead(answer.status ?? 200, { 'content-type': 'application/json' });
      response.end(answer.text);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answer: (next: typeof answer): void => void (answer = next),
    close(): void {
      server.closeAllConnections();
      server.close();
    },
  };
};
