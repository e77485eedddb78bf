// A client of the sandbox without a wire meets what one over TLS meets, and it is known what is on its way.
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { SERVICES } from '../../../pkg/apis/resources.ts';
import { createClient } from '../../../pkg/kubernetes/client.ts';
import { loadKubeConfig } from '../../../pkg/kubernetes/kubeconfig.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { service } from '../../fixtures/core.ts';
import { rejection } from '../../fixtures/eventually.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import type { MemoryConnection } from '../../sandbox/memory.ts';
import { startSandbox } from '../../sandbox/sandbox.ts';
import type { Sandbox } from '../../sandbox/types.ts';

const REF = { namespace: 'default', name: 'server' };

describe('a client in the process of the sandbox', () => {
  let sandbox: Sandbox;
  let connection: MemoryConnection;
  let client: Client;
  let stop: AbortController;

  beforeEach(async () => {
    sandbox = await startSandbox();
    connection = sandbox.connect();
    stop = new AbortController();
    const folder = temporaryFolder();
    const config = loadKubeConfig({ kubeconfig: folder.write('kubeconfig', sandbox.kubeconfig('me')) });
    folder.remove();
    client = createClient({ config, userAgent: 'test', transport: connection });
  });
  afterEach(async () => {
    await client.close();
    await sandbox.stop();
  });

  const watch = () => client.watch(SERVICES, { resourceVersion: '0' }, stop.signal);

  it('reads what it wrote, is known by its token, and opens no connection', async () => {
    await client.create(SERVICES, service());
    await client.patch(SERVICES, REF, 'merge', { metadata: { labels: { a: 'b' } } });
    expect((await client.get(SERVICES, REF)).metadata?.labels).to.deep.equal({ a: 'b' });
    expect((await client.list(SERVICES)).items).to.have.lengthOf(1);
    expect(sandbox.requests.map(({ user, verb }) => `${user} ${verb}`)).to.deep.equal(
      ['create', 'patch', 'get', 'list'].map((verb) => `me ${verb}`),
    );
    expect(sandbox.connections).to.equal(0);
  });

  it('gets the Status of a refusal, with its Retry-After', async () => {
    expect(await rejection(client.get(SERVICES, REF))).to.include({ status: 404, reason: 'NotFound' });
    sandbox.addFault({ kind: 'status', code: 503, retryAfterSeconds: 7, match: { verb: 'create' } });
    expect(await rejection(client.create(SERVICES, service()))).to.include({ status: 503, retryAfterMs: 7_000 });
  });

  it('gets events of a watch until the server ends it', async () => {
    await sandbox.apply(service());
    const types: string[] = [];
    for await (const { type } of watch()) {
      types.push(type);
      if (type === 'ADDED') await sandbox.remove(SERVICES, REF);
      else sandbox.cutWatches('close');
    }
    expect(types).to.deep.equal(['ADDED', 'DELETED']);
  });

  it('loses every request of a connection that is reset', async () => {
    const next = watch().next();
    while (sandbox.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
    sandbox.addFault({ kind: 'reset', match: { verb: 'get' } });
    expect(await rejection(client.get(SERVICES, REF))).to.include({ reason: 'Cut' });
    expect(await rejection(next)).to.include({ reason: 'Cut' });
  });

  it('ends a request with the reason of its signal, before and after its answer', async () => {
    const reason = new Error('enough');
    const open = watch().next();
    while (sandbox.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
    const asked = client.get(SERVICES, REF, stop.signal);
    stop.abort(reason);
    expect(await rejection(asked)).to.equal(reason);
    expect(await rejection(open)).to.equal(reason);
    expect(await rejection(client.get(SERVICES, REF, stop.signal))).to.equal(reason);
  });

  it('has nothing on its way once the last byte is read', async () => {
    await client.list(SERVICES);
    await new Promise((resolve) => setImmediate(resolve));
    expect(connection.pending, 'read').to.equal(0);
    const events = watch();
    const first = events.next();
    while (sandbox.requests.length === 1) await new Promise((resolve) => setImmediate(resolve));
    expect(connection.pending, 'a watch that waits').to.equal(0);
    await sandbox.apply(service());
    await first;
    await sandbox.remove(SERVICES, REF);
    expect(connection.pending, 'an event that is not read').to.equal(1);
    await events.next();
    expect(connection.pending, 'a watch that waits').to.equal(0);
    stop.abort(new Error('over'));
    await events.return?.();
  });
});
