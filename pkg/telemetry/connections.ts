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
  /** Counts up with each use of any connection. */
  lastUse: number;
}

/** The same for a connection before and after its handshake, which are two sockets. */
const addressOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;

/**
 * Beyond `max`, the connection that was used longest ago is cut; one with a request in flight never is. Turning newcomers away
 * instead, as `server.maxConnections` does, would hand the whole server to a client that opens `max` connections and sends nothing.
 */
export const trackConnections = (server: Server, max: number): Connections => {
  const open = new Map<string, Connection>();
  // What requests come on: looked up at each request, where building the address costs as much as deciding a small review.
  const shaken = new WeakMap<Socket, Connection>();
  let uses = 0;
  const makeRoom = (): void => {
    let idlest: Connection | undefined;
    for (const connection of open.values()) {
      if (connection.requests === 0 && connection.lastUse < (idlest?.lastUse ?? Infinity)) idlest = connection;
    }
    idlest?.socket.destroy();
  };
  server.on('connection', (socket: Socket) => {
    const address = addressOf(socket);
    open.set(address, { socket, requests: 0, lastUse: (uses += 1) });
    socket.once('close', () => open.delete(address));
    if (open.size > max) makeRoom();
  });
  server.on('secureConnection', (socket: Socket) => {
    const connection = open.get(addressOf(socket));
    if (connection !== undefined) shaken.set(socket, connection);
  });
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    const connection = shaken.get(socket);
    if (connection === undefined) return;
    const use = (change: number): void => {
      connection.requests += change;
      connection.lastUse = uses += 1;
    };
    use(1);
    response.once('close', () => use(-1));
  });
  return {
    get size() {
      return open.size;
    },
    destroy: () => open.forEach(({ socket }) => socket.destroy()),
  };
};
