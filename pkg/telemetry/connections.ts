// Knows the open connections of a server, over TLS or not, and keeps their number bounded: the one that was idle longest makes room.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Server as SecureServer } from 'node:https';
import type { Socket } from 'node:net';
import type { Logger } from './log.ts';

interface Connection {
  readonly socket: Socket;
  /** To the last request; it has been given over once it `writableEnded`, whether the client reads it or not. */
  response: ServerResponse | undefined;
  /** Counts up with each use of any connection. */
  lastUse: number;
}

/** Of answers that clients do not read, in all. API servers and Prometheus read at once; the largest answers have some megabytes. */
const MAX_UNREAD_BYTES = 16 * 1024 * 1024;

const unreadOf = ({ response }: Connection): number => response?.socket?.writableLength ?? 0;

/** The same for a connection before and after its handshake, which are two sockets. */
const addressOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;

/**
 * Beyond `max`, the connection that was used longest ago is cut; one whose answer is being worked out never is. Turning newcomers away
 * instead, as `server.maxConnections` does, would hand the whole server to a client that opens `max` connections and sends nothing.
 */
export const guardConnections = (server: Server | SecureServer, max: number, logger: Logger) => {
  const open = new Map<string, Connection>();
  // What requests come on: looked up at each request, where building the address costs as much as deciding a small review.
  const requested = new WeakMap<Socket, Connection>();
  let uses = 0;
  const makeRoom = (): void => {
    let idlest: Connection | undefined;
    for (const connection of open.values()) {
      const isIdle = connection.response?.writableEnded !== false;
      if (isIdle && connection.lastUse < (idlest?.lastUse ?? Infinity)) idlest = connection;
    }
    idlest?.socket.destroy();
  };
  const cutUnread = (): void => {
    const unread = [...open.values()].filter((connection) => unreadOf(connection) > 0);
    let bytes = unread.reduce((sum, connection) => sum + unreadOf(connection), 0);
    for (const connection of unread.sort((a, b) => a.lastUse - b.lastUse)) {
      if (bytes <= MAX_UNREAD_BYTES) return;
      bytes -= unreadOf(connection);
      connection.socket.destroy();
    }
  };
  server.on('connection', (socket: Socket) => {
    const address = addressOf(socket);
    const connection: Connection = { socket, response: undefined, lastUse: (uses += 1) };
    open.set(address, connection);
    requested.set(socket, connection);
    socket.once('close', () => open.delete(address));
    if (open.size > max) makeRoom();
  });
  server.on('secureConnection', (socket: Socket) => {
    const connection = open.get(addressOf(socket));
    if (connection !== undefined) requested.set(socket, connection);
  });
  server.on('tlsClientError', (error: Error, socket: Socket) => {
    logger.debug('TLS handshake failed', { error });
    // Whatever is still to be written would wait for the handshake.
    socket.destroy();
  });
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    const connection = requested.get(socket);
    if (connection === undefined) return;
    // Sent before the last one was answered, which no client of ours does; a hundred may come in one packet.
    if (connection.response?.writableEnded === false) return void connection.socket.destroy();
    cutUnread();
    connection.response = response;
    connection.lastUse = uses += 1;
    response.once('close', () => (connection.lastUse = uses += 1));
  });
  return {
    size: () => open.size,
    destroy: (): void => open.forEach(({ socket }) => socket.destroy()),
  };
};
