// SPDX-License-Identifier: Apache-2.0
// Knows the open connections of a TLS server, and keeps their number bounded: the one that was idle longest makes room.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Server } from 'node:https';
import type { Socket } from 'node:net';

export interface Connections {
  readonly size: number;
  /** Ends all at once. */
  destroy(): void;
}

interface Connection {
  readonly socket: Socket;
  /** Requests between their headers and their answer. */
  requests: number;
}

/** The same for a connection before and after its handshake, which are two sockets. */
const addressOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;

/**
 * Beyond `max`, the connection that was used longest ago is cut; one with a request in flight never is. Turning newcomers away
 * instead, as `server.maxConnections` does, would hand the whole server to a client that opens `max` connections and sends nothing.
 */
export const trackConnections = (server: Server, max: number): Connections => {
  // In the order of their last use.
  const open = new Map<string, Connection>();
  const use = (address: string, change: number): void => {
    const connection = open.get(address);
    if (connection === undefined) return;
    connection.requests += change;
    open.delete(address);
    open.set(address, connection);
  };
  const makeRoom = (): void => {
    for (const { socket, requests } of open.values()) {
      if (requests === 0) return void socket.destroy();
    }
  };
  server.on('connection', (socket: Socket) => {
    const address = addressOf(socket);
    open.set(address, { socket, requests: 0 });
    socket.once('close', () => open.delete(address));
    if (open.size > max) makeRoom();
  });
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    const address = addressOf(socket);
    use(address, 1);
    response.once('close', () => use(address, -1));
  });
  return {
    get size() {
      return open.size;
    },
    destroy: () => open.forEach(({ socket }) => socket.destroy()),
  };
};
