// SPDX-License-Identifier: Apache-2.0
// One attacker of the webhook's port, as a process of its own: `attack-client.ts ATTACK PORT SECONDS`. Knows no certificate.
import { once } from 'node:events';
import { createConnection } from 'node:net';
import { connect } from 'node:tls';
import type { TLSSocket } from 'node:tls';
import { HINTS_PATH } from '../../pkg/webhook/endpoint-slice-hints/add.ts';

export const ATTACKS = {
  chunks: 'a body without end in chunks of one byte, on one connection after the other',
  records: 'a body of 7 MiB in TLS records of one byte, on one connection after the other',
  pieces: 'bodies of 64 KiB in pieces just large enough, which never end, on 60 connections',
  silent: '4,000 TCP connections that say nothing, opened again as they are cut',
} as const;
export type Attack = keyof typeof ATTACKS;

/** What an attacker came to. */
export interface Attacked {
  readonly connections: number;
  readonly bytes: number;
}

const counted = { connections: 0, bytes: 0 };

const head = (framing: string): string =>
  `POST ${HINTS_PATH} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n${framing}\r\n\r\n`;

/** An own connection whose errors are of no interest: the server may cut it at any time. */
const open = async (port: number): Promise<TLSSocket> => {
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false });
  socket.on('error', () => undefined);
  socket.resume();
  await Promise.race([once(socket, 'secureConnect'), once(socket, 'close')]);
  counted.connections += 1;
  return socket;
};

/** Writes again and again, each time when the last write is through, which makes each a TLS record. */
const flood = async (socket: TLSSocket, bytes: Buffer, until: number): Promise<void> => {
  while (!socket.destroyed && socket.writable && performance.now() < until) {
    await new Promise((resolve) => void socket.write(bytes, resolve));
    counted.bytes += bytes.length;
  }
  socket.destroy();
};

const oneAfterTheOther = (framing: string, bytes: Buffer) => async (port: number, until: number) => {
  while (performance.now() < until) {
    const socket = await open(port);
    socket.write(head(framing));
    await flood(socket, bytes, until);
  }
};

const trickle = async (port: number, until: number): Promise<void> => {
  const piece = Buffer.alloc(260, 0x20);
  while (performance.now() < until) {
    const socket = await open(port);
    socket.write(head('content-length: 65536'));
    for (let sent = 0; sent < 65_000 && !socket.destroyed && performance.now() < until; sent += piece.length) {
      await new Promise((resolve) => void socket.write(piece, resolve));
      counted.bytes += piece.length;
    }
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    socket.destroy();
  }
};

const silence = async (port: number, until: number): Promise<void> => {
  while (performance.now() < until) {
    const socket = createConnection(port, '127.0.0.1');
    socket.on('error', () => undefined);
    counted.connections += 1;
    const ended = new AbortController();
    setTimeout(() => ended.abort(), until - performance.now()).unref();
    await once(socket, 'close', { signal: ended.signal }).catch(() => socket.destroy());
    // 600 a second in all: beyond that the attacker itself is what is short of processors.
    await new Promise((resolve) => setTimeout(resolve, 5_000));
  }
};

/** `spreadMs` apart at their start. Handshakes in one wave would be a wait of their own: some 5 ms each for the server. */
const together =
  (count: number, one: (port: number, until: number) => Promise<void>, spreadMs = 0) =>
  async (port: number, until: number) =>
    void (await Promise.all(
      Array.from({ length: count }, async (_, index) => {
        await new Promise((resolve) => setTimeout(resolve, index * spreadMs));
        await one(port, until);
      }),
    ));

const PLAY: Readonly<Record<Attack, (port: number, until: number) => Promise<void>>> = {
  chunks: oneAfterTheOther('transfer-encoding: chunked', Buffer.from('1\r\n \r\n'.repeat(2_500))),
  records: oneAfterTheOther('content-length: 7000000', Buffer.from(' ')),
  pieces: together(60, trickle, 20),
  silent: together(4_000, silence),
};

if (import.meta.main) {
  const [attack = '', port, seconds] = process.argv.slice(2);
  await PLAY[attack as Attack](Number(port), performance.now() + Number(seconds) * 1_000);
  process.stdout.write(JSON.stringify(counted));
}
