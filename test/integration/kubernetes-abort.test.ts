// Writes that are given up while they are sent, as on SIGTERM: the process neither spins nor crashes, and ends by itself.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { startH2Server } from '../fixtures/h2-server.ts';
import type { Answer, H2Server } from '../fixtures/h2-server.ts';
import { useRealNetwork } from '../fixtures/real-network.ts';

const moduleUrl = (path: string): string => JSON.stringify(new URL(`../../${path}`, import.meta.url).href);

/** Runs as a process of its own, because one that spins would stop the test as well. */
const child = (body: string): string => `
  import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises';
  const { createClient } = await import(${moduleUrl('pkg/kubernetes/client.ts')});
  const { LEASES, NODES } = await import(${moduleUrl('pkg/apis/resources.ts')});
  const config = { server: process.env.SERVER, proxyUrl: undefined, refresh() {}, credentials: async () => ({ headers: {}, tls: { ca: process.env.CA } }) };
  const create = () => createClient({ config, userAgent: 'child/1' });
  const write = (client, bytes, signal) =>
    client.update(LEASES, { metadata: { namespace: 'garden', name: 'lease' }, spec: { pad: 'x'.repeat(bytes) } }, {}, signal).catch(() => undefined);
  ${body}
  process.on('exit', () => console.log('ended'));`;

const answered: Answer = (request, response) => {
  request.resume();
  request.on('end', () => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end('{}');
  });
};

describe('client whose writes are aborted', () => {
  useRealNetwork();
  let server: H2Server;
  let answer: Answer;
  beforeEach(async () => {
    server = await startH2Server((request, response) => answer(request, response));
  });
  afterEach(async () => await server.close());

  const run = async (body: string): Promise<string> => {
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', child(body)], {
      env: { ...process.env, SERVER: server.url, CA: server.ca },
      timeout: 60_000,
      killSignal: 'SIGKILL',
    });
    return stdout;
  };

  for (const bytes of [0, 200_000]) {
    it(`goes on working, on the same connection, with bodies of ${bytes} bytes and more`, async () => {
      answer = answered;
      const output = await run(`
        const client = create();
        await client.raw('/version');
        for (let round = 0; round < 12; round += 1) {
          const stop = new AbortController();
          const writes = Array.from({ length: 4 }, () => write(client, ${bytes}, stop.signal));
          for (let turns = round % 6; turns > 0; turns -= 1) await turn();
          stop.abort();
          await Promise.all(writes);
          await client.raw('/version');
        }
        await client.close();`);
      expect(output).to.equal('ended\n');
      expect(server.accepted, 'connections').to.equal(1);
    }).timeout(90_000);
  }
});
