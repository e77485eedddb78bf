// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { SERVICES } from '../../../pkg/apis/resources.ts';
import { createGuardedClient } from '../../../pkg/kubernetes/guarded-client.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { rejection } from '../../fixtures/eventually.ts';

describe('guarded client', () => {
  it('asks anew before each write, and rejects with what it is told', async () => {
    const sent: unknown[] = [];
    const inner = { create: (_resource: unknown, object: unknown) => Promise.resolve(sent.push(object)) };
    const answers = [undefined, new Error('first no'), undefined, new Error('second no')];
    const client = createGuardedClient(inner as unknown as Client, () => answers.shift());
    const write = (name: string) => client.create(SERVICES, { metadata: { name } });
    await write('a');
    expect(await rejection(write('b'))).to.include({ message: 'first no' });
    await write('c');
    expect(await rejection(write('d'))).to.include({ message: 'second no' });
    expect(sent).to.deep.equal([{ metadata: { name: 'a' } }, { metadata: { name: 'c' } }]);
  });

  it('asks nobody before a read', async () => {
    const inner = { get: () => Promise.resolve({ metadata: { name: 'a' } }) };
    const client = createGuardedClient(inner as unknown as Client, () => new Error('no'));
    expect(await client.get(SERVICES, { name: 'a' })).to.deep.equal({ metadata: { name: 'a' } });
  });
});
