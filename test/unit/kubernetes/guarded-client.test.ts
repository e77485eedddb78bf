import { expect } from 'chai';
import { describe, it } from 'mocha';
import { SERVICES } from '../../../pkg/apis/resources.ts';
import { createGuardedClient } from '../../../pkg/kubernetes/client.ts';
import type { Client, DeleteOptions, Refusal } from '../../../pkg/kubernetes/types.ts';
import { rejection } from '../../fixtures/eventually.ts';

describe('guarded client', () => {
  it('asks again before each write, and rejects with the answer', async () => {
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

  it('hands the question on to whatever sends, beside the one that the caller brings', async () => {
    const handed: Array<Refusal | undefined> = [];
    const inner = {
      delete: (_resource: unknown, _ref: unknown, options: DeleteOptions) =>
        Promise.resolve(void handed.push(options.refusal)),
    };
    let [own, callers]: Array<Error | undefined> = [];
    const client = createGuardedClient(inner as unknown as Client, () => own);
    await client.delete(SERVICES, { namespace: 'a', name: 'b' }, { refusal: () => callers });
    expect(handed[0]?.()).to.equal(undefined);
    callers = new Error('the caller has changed its mind');
    expect(handed[0]?.()).to.equal(callers);
    own = new Error('no longer leading');
    expect(handed[0]?.()).to.equal(own);
  });

  it('does not ask before a read', async () => {
    const inner = { get: () => Promise.resolve({ metadata: { name: 'a' } }) };
    const client = createGuardedClient(inner as unknown as Client, () => new Error('no'));
    expect(await client.get(SERVICES, { name: 'a' })).to.deep.equal({ metadata: { name: 'a' } });
  });
});
