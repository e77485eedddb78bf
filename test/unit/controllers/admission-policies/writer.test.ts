// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { managedKey } from '../../../../pkg/controllers/admission-policies/objects.ts';
import type { Managed } from '../../../../pkg/controllers/admission-policies/objects.ts';
import { createPolicyWriter } from '../../../../pkg/controllers/admission-policies/writer.ts';
import { createFakeClock } from '../../../fixtures/fake-clock.ts';
import { createMemoryServer } from '../../../fixtures/memory-client.ts';
import { recordingLogger } from '../../../fixtures/recording-logger.ts';
import { foreign, installed } from './support.ts';

const never = new AbortController().signal;
const setup = () => {
  const server = createMemoryServer();
  const clock = createFakeClock();
  const writer = createPolicyWriter({ client: server.client(), clock, logger: recordingLogger() });
  return { server, clock, writer };
};
const [carrier, policy] = installed('webhook') as [Managed, Managed];
const verbs = (server: ReturnType<typeof createMemoryServer>) => server.calls.map(({ verb }) => verb);

describe('the writer of admission policies', () => {
  it('creates, and remembers it until the cache shows it', async () => {
    const { server, clock, writer } = setup();
    await writer.perform([{ kind: 'create', ...policy }], never);
    expect(writer.withCreated([]).map(managedKey)).to.deep.equal([managedKey(policy)]);
    const [stored] = server.all(policy.resource);
    expect(writer.withCreated([{ resource: policy.resource, object: stored! }])).to.have.lengthOf(1);
    await clock.advance(10_000);
    expect(writer.withCreated([]), 'somebody has deleted it meanwhile').to.deep.equal([]);
  });

  it('shows its own update of what it created until the cache shows the object', async () => {
    const { server, writer } = setup();
    await writer.perform([{ kind: 'create', ...carrier }], never);
    const [before] = server.all(carrier.resource);
    await writer.perform([{ kind: 'update', ...carrier, object: { ...before, data: { carrier: 'policy' } } }], never);
    const [shown] = writer.withCreated([]);
    expect(shown?.object.data).to.deep.equal({ carrier: 'policy' });
  });

  it('does not overwrite what another writer has under the name, and looks again later', async () => {
    const { server, clock, writer } = setup();
    server.put(policy.resource, foreign(policy).object);
    await writer.perform([{ kind: 'create', ...policy }], never);
    expect(verbs(server)).to.deep.equal(['create', 'get']);
    expect([...writer.foreign()]).to.deep.equal([managedKey(policy)]);
    await clock.advance(15_000);
    expect([...writer.foreign()]).to.deep.equal([]);
  });

  it('treats an existing object of its own as created', async () => {
    const { server, writer } = setup();
    server.put(policy.resource, policy.object);
    await writer.perform([{ kind: 'create', ...policy }], never);
    expect([...writer.foreign()]).to.deep.equal([]);
    expect(writer.withCreated([])).to.have.lengthOf(1);
  });

  it('removes, also what is gone already', async () => {
    const { server, writer } = setup();
    server.put(policy.resource, policy.object);
    await writer.perform(
      [
        { kind: 'delete', ...policy },
        { kind: 'delete', ...carrier },
      ],
      never,
    );
    expect(server.all(policy.resource)).to.deep.equal([]);
  });

  it('passes on what the server says, and stops there', async () => {
    const { server, writer } = setup();
    const error = await writer
      .perform(
        [
          { kind: 'update', ...policy },
          { kind: 'create', ...carrier },
        ],
        never,
      )
      .catch((caught: unknown) => caught);
    expect(error).to.include({ status: 404 });
    expect(server.all(carrier.resource)).to.deep.equal([]);
  });
});
