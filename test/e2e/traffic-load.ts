// Runs inside the network namespace of a node: a server that sends as many bytes as it is asked for, a client that asks for
// mixed sizes, one that connects so many times a second, and a reader of a page; `… traffic-load.ts serve|connect|pulse|read …`.
import { createConnection, createServer } from 'node:net';

/** A request is a line with a number; the answer has so many bytes, and the connection ends. */
const serve = (address: string, port: number): void => {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    let text = '';
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      const end = text.indexOf('\n');
      if (end === -1) return;
      socket.end(Buffer.alloc(Number(text.slice(0, end)), 0x78));
    });
    socket.on('error', () => socket.destroy());
  });
  server.listen(port, address);
};

const ask = (address: string, port: number, size: number): Promise<number> =>
  new Promise((resolve, reject) => {
    let received = 0;
    const socket = createConnection({ host: address, port, timeout: 10_000 }, () => socket.write(`${size}\n`));
    socket.on('data', (chunk: Buffer) => void (received += chunk.length));
    socket.on('timeout', () => socket.destroy(new Error('no answer within 10 s')));
    socket.on('error', reject);
    socket.on('close', () => resolve(received));
  });

/** Sizes from a few bytes to 200 kB, the same for each run. */
const sizeOf = (index: number): number => [3, 700, 9_000, 40_000, 200_000][index % 5] ?? 0;

/** `size`: of each answer; 0: mixed. */
const connect = async (address: string, port: number, count: number, size: number): Promise<void> => {
  let payload = 0;
  for (let index = 0; index < count; index += 1) payload += await ask(address, port, size || sizeOf(index));
  process.stdout.write(JSON.stringify({ connections: count, payload }));
};

/** Opens connections evenly until the process ends, from an address of the node where one is named. */
const pulse = (address: string, port: number, from: string, perSecond: number): void => {
  setInterval(() => {
    const options = { host: address, port, timeout: 2_000, ...(from === '' ? {} : { localAddress: from }) };
    const socket = createConnection(options, () => socket.end());
    socket.on('timeout', () => socket.destroy());
    socket.on('error', () => socket.destroy());
    socket.resume();
  }, 1_000 / perSecond);
};

const [task, first = '', port = '0', count = '0', last = '0'] = process.argv.slice(2);
if (task === 'serve') serve(first, Number(port));
else if (task === 'pulse') pulse(first, Number(port), count === '0' ? '' : count, Number(last));
else if (task === 'connect') await connect(first, Number(port), Number(count), Number(last));
else process.stdout.write(await (await fetch(first)).text());
