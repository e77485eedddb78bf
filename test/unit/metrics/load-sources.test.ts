// From the configuration to sources: names, order, the one that is always there, and that closing leaves nothing behind.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { systemClock } from '../../../pkg/kubernetes/wait.ts';
import { createLoadSources } from '../../../pkg/metrics/load-sources.ts';
import { eventually } from '../../fixtures/eventually.ts';

const never = new AbortController().signal;
const item = {
  metadata: { name: 'a' },
  timestamp: '2026-01-01T00:00:00Z',
  window: '15s',
  containers: [{ name: 'main', usage: { cpu: '1' } }],
};
const client: Pick<Client, 'pages'> = {
  pages: async function* () {
    yield { metadata: {}, items: [item] };
  } as unknown as Client['pages'],
};
const dependencies = {
  client: client as Pick<Client, 'pages' | 'text' | 'create'>,
  clock: systemClock,
  userAgent: 'unit/1.0',
};
const common = { timeoutSeconds: 8, cacheSeconds: 10 };
const query = { namespace: 'shop', service: 'web', pods: new Set(['a']) };

describe('sources of load', () => {
  it('are in the order of the configuration, the metrics API always among them', async () => {
    const { sources, close } = createLoadSources(
      [
        { name: 'p', type: 'Prometheus', url: 'http://127.0.0.1:1', ...common },
        { name: 'q', type: 'Prometheus', url: 'http://127.0.0.1:1', ...common },
      ],
      dependencies,
    );
    expect([...sources.keys()]).to.deep.equal(['p', 'q', 'metrics.k8s.io']);
    expect([...sources.values()].map(({ name }) => name)).to.deep.equal([...sources.keys()]);
    await close();
  });

  it('leave no connection when they are closed', async () => {
    const sockets = new Set<Socket>();
    const server = createServer((_request, response) =>
      response.end('{"status":"success","data":{"resultType":"vector","result":[]}}'),
    );
    server.on('connection', (socket) => {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { sources, close } = createLoadSources([{ name: 'p', type: 'Prometheus', url, query: 'up', ...common }], {
      ...dependencies,
    });
    await sources.get('p')!.read(query, never);
    expect(sockets.size, 'kept for the next query').to.equal(1);
    await close();
    await eventually(
      () => sockets.size === 0,
      () => `${sockets.size} connections`,
    );
    server.close();
    await once(server, 'close');
  });
});
