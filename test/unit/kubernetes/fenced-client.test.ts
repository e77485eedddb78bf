import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import { SERVICES } from '../../../pkg/apis/resources.ts';
import { NotLeadingError, createFencedClient } from '../../../pkg/kubernetes/client.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { rejection } from '../../fixtures/eventually.ts';

const ref = { namespace: 'n', name: 's' };

describe('fenced client', () => {
  let sent: string[];
  let holds: boolean;
  let client: Client;
  beforeEach(() => {
    sent = [];
    holds = true;
    const note = (name: string) => (): Promise<object> => {
      sent.push(name);
      return Promise.resolve({});
    };
    const names = ['get', 'list', 'pages', 'watch', 'raw', 'text', 'create', 'update', 'patch', 'delete', 'close'];
    const inner = Object.fromEntries(names.map((name) => [name, note(name)])) as unknown as Client;
    client = createFencedClient({ ...inner, server: 'https://server' }, () => holds);
  });

  const writes: { name: string; send: () => Promise<unknown> }[] = [
    { name: 'create', send: () => client.create(SERVICES, {}) },
    { name: 'update', send: () => client.update(SERVICES, {}) },
    { name: 'patch', send: () => client.patch(SERVICES, ref, 'merge', {}) },
    { name: 'delete', send: () => client.delete(SERVICES, ref) },
  ];
  for (const { name, send } of writes) {
    it(`sends ${name} while the lease is held, and not one more afterwards`, async () => {
      await send();
      expect(sent).to.deep.equal([name]);
      holds = false;
      expect(await rejection(send())).to.be.instanceOf(NotLeadingError);
      expect(sent).to.deep.equal([name]);
    });
  }

  it('reads in every replica', async () => {
    holds = false;
    await client.get(SERVICES, ref);
    await client.list(SERVICES);
    await client.raw('/version');
    await client.text('/log');
    client.pages(SERVICES);
    client.watch(SERVICES, {}, new AbortController().signal);
    await client.close();
    expect(sent).to.deep.equal(['get', 'list', 'raw', 'text', 'pages', 'watch', 'close']);
    expect(client.server).to.equal('https://server');
  });
});
