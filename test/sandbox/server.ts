// The TLS listener: HTTP/2 and HTTP/1.1 on one port, with every connection known.
import { createSecureServer, type Http2SecureServer } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { createExchange, type Exchange } from './exchange.ts';

/** Key and certificate chain in PEM. */
export interface ServerCertificate {
  readonly key: string;
  readonly cert: string;
}

export interface Listener {
  readonly port: number;
  readonly connections: number;
  /** Ends every connection and frees the port. */
  close(): Promise<void>;
}

/** What kube-apiserver allows on one connection. */
const MAX_STREAMS = 1000;

const listen = (server: Http2SecureServer, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject);
      resolve();
    });
  });

/** Listens on 127.0.0.1; port 0 picks a free one. */
export const startListener = async (
  port: number,
  certificate: ServerCertificate,
  handle: (exchange: Exchange) => void,
): Promise<Listener> => {
  const server = createSecureServer({
    ...certificate,
    allowHTTP1: true,
    settings: { maxConcurrentStreams: MAX_STREAMS },
  });
  const sockets = new Set<Socket>();
  // Counted once TLS stands: what a client would call a connection.
  server.on('secureConnection', (socket: TLSSocket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    // A reset by the client is no event here.
    socket.on('error', () => undefined);
  });
  const raw = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    raw.add(socket);
    socket.on('close', () => raw.delete(socket));
    socket.on('error', () => undefined);
  });
  server.on('sessionError', () => undefined);
  server.on('request', (request, response) => handle(createExchange(request, response)));
  await listen(server, port);
  return {
    port: (server.address() as AddressInfo).port,
    get connections() {
      return sockets.size;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of [...sockets, ...raw]) socket.destroy();
      }),
  };
};
