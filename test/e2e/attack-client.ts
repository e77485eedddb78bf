// One attacker of a component's port, as a process of its own: `attack-client.ts ATTACK PORT SECONDS`. Knows no certificate.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { Agent, get } from 'node:https';
import { createConnection } from 'node:net';
import { json } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { type TLSSocket, connect } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { PROMETHEUS_DEFAULTS } from '../../pkg/apis/config/load-sources.ts';
import { MAX_BODY_ITEMS } from '../../pkg/webhook/body.ts';
import { HINTS_PATH } from '../../pkg/webhook/endpoint-slice-hints.ts';

export const ATTACKS = {
  chunks: 'a body without end in chunks of one byte, on one connection after the other',
  records: 'a body of 7 MiB in TLS records of one byte, on one connection after the other',
  pieces: 'bodies of 64 KiB in pieces just large enough, which never end, on 60 connections',
  silent: '4,000 TCP connections that say nothing, opened again as they are cut',
  objects: 'reviews of 7.3 MB of empty objects, on 8 connections',
  lists: 'bodies of 3 MB of empty lists, on 8 connections',
  within: 'reviews of empty objects, just as many as are let pass, on 20 connections',
} as const;
/** Of the ports for health and metrics, which every component has. */
export const PLAIN_ATTACKS = {
  half: '4,000 requests that are half sent, opened again as they are cut',
  unread: 'scrapes that are not read, a hundred in one packet, on 400 connections',
} as const;
/** Of what one component alone has. */
export const OWN_ATTACKS = {
  source: 'a Prometheus whose answers are 8 MiB of empty objects, or as many as are let pass',
  tokens: '200 unknown tokens a second from one address',
} as const;
export type Attack = keyof typeof ATTACKS | keyof typeof PLAIN_ATTACKS | keyof typeof OWN_ATTACKS;

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

/** One whole request after the other; where the server ends the connection, on another. */
const posts = (text: string) => async (port: number, until: number) => {
  const body = Buffer.from(text);
  while (performance.now() < until) {
    const socket = await open(port);
    while (!socket.destroyed && performance.now() < until) {
      socket.write(head(`content-length: ${body.length}`));
      socket.write(body);
      counted.bytes += body.length;
      await Promise.race([once(socket, 'data'), once(socket, 'close')]).catch(() => socket.destroy());
    }
    socket.destroy();
  }
};

const reviewOf = (objects: number): string => `{"request":{"object":[${'{},'.repeat(objects)}{}]}}`;

/** Says something that asks for no more than a wait, and reads nothing. */
const stalled = (bytes: string) => async (port: number, until: number) => {
  while (performance.now() < until) {
    const socket = createConnection(port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(bytes);
    counted.connections += 1;
    const ended = new AbortController();
    // Keeps the process alive: a socket that is not read does not learn that it was cut.
    const timer = setTimeout(() => ended.abort(), until - performance.now());
    await once(socket, 'close', { signal: ended.signal }).catch(() => socket.destroy());
    clearTimeout(timer);
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

/** Whatever it is asked. */
const answers = async (port: number, until: number): Promise<void> => {
  const { maxResponseBytes } = PROMETHEUS_DEFAULTS;
  const bodies = [maxResponseBytes / 3, maxResponseBytes / 8].map((objects) => {
    const rows = '{},'.repeat(objects - 50);
    return Buffer.from(`{"status":"success","data":{"resultType":"vector","result":[${rows}{}]}}`);
  });
  const server = createServer((_, response) => {
    const body = bodies[(counted.connections += 1) % bodies.length] as Buffer;
    counted.bytes += body.length;
    response.writeHead(200, { 'content-type': 'application/json' }).end(body);
  }).listen(port, '127.0.0.1');
  await pause(until - performance.now());
  server.closeAllConnections();
  server.close();
};

const guessing = async (port: number, until: number): Promise<void> => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false });
  while (performance.now() < until) {
    counted.connections += 1;
    const headers = { authorization: `Bearer ${Math.random()}` };
    const asking = get({ host: '127.0.0.1', localAddress: '127.0.0.2', port, path: '/metrics', agent, headers });
    asking.on('error', () => undefined).on('response', (response) => response.resume());
    await Promise.race([once(asking, 'close'), pause(1_000)]).catch(() => undefined);
    await pause(100);
  }
  agent.destroy();
};

const PLAY: Readonly<Record<Attack, (port: number, until: number) => Promise<void>>> = {
  chunks: oneAfterTheOther('transfer-encoding: chunked', Buffer.from('1\r\n \r\n'.repeat(2_500))),
  records: oneAfterTheOther('content-length: 7000000', Buffer.from(' ')),
  pieces: together(60, trickle, 20),
  silent: together(4_000, stalled('')),
  objects: together(8, posts(reviewOf(2_400_000))),
  lists: together(8, posts(`[${'[],'.repeat(1_000_000)}[]]`)),
  within: together(20, posts(reviewOf(MAX_BODY_ITEMS - 10)), 20),
  half: together(4_000, stalled('GET /metrics HTTP/1.1\r\nhost: x\r\n')),
  unread: together(400, stalled('GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(100)), 5),
  source: answers,
  tokens: together(20, guessing, 5),
};

/** Runs it in a process of its own to its end. */
export const runAttack = async (name: Attack, port: number, seconds: number): Promise<Attacked> => {
  const words = [fileURLToPath(import.meta.url), name, String(port), String(seconds)];
  const attacker = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'] });
  const [attacked] = await Promise.all([json(attacker.stdout), once(attacker, 'exit')]);
  return attacked as Attacked;
};

/** The longest answer about health on a port, of one a second, milliseconds; rejects where one is no 200. */
export const probeHealth = async (port: number, seconds: number): Promise<number> => {
  let longest = 0;
  for (let count = 1; count < seconds; count += 1) {
    const from = performance.now();
    const { status } = await fetch(`http://127.0.0.1:${port}/healthz`);
    if (status !== 200) throw new Error(`port ${port} says of its health: ${status}`);
    longest = Math.max(longest, performance.now() - from);
    await pause(1_000);
  }
  return Math.round(longest);
};

if (import.meta.main) {
  const [attack = '', port, seconds] = process.argv.slice(2);
  await PLAY[attack as Attack](Number(port), performance.now() + Number(seconds) * 1_000);
  process.stdout.write(JSON.stringify(counted));
}
