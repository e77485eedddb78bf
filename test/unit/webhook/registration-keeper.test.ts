import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import type { MutatingWebhookConfiguration } from '../../../pkg/apis/admission.ts';
import type { OwnerReference } from '../../../pkg/apis/meta.ts';
import { MUTATING_WEBHOOK_CONFIGURATIONS } from '../../../pkg/apis/resources.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { createRegistrationKeeper, register, unregister } from '../../../pkg/webhook/register.ts';
import { createFakeClock } from '../../fixtures/fake-clock.ts';
import { type MemoryServer, createMemoryServer } from '../../fixtures/memory-client.ts';
import { createModelApi } from '../../fixtures/model-api.ts';
import { recordingLogger } from '../../fixtures/recording-logger.ts';
import { ApiError } from '../../../pkg/kubernetes/errors.ts';
import { build } from './registration-support.ts';

const ref = { name: 'webhooks' };
const ownerOf = (uid: string): OwnerReference => ({ apiVersion: 'v1', kind: 'Namespace', name: 'own', uid });

describe('the owner of a registration', () => {
  let server: MemoryServer;
  beforeEach(() => {
    server = createMemoryServer();
  });
  const start = (
    owner: NonNullable<Parameters<typeof createRegistrationKeeper>[0]['owner']>,
    more: Partial<Pick<Parameters<typeof createRegistrationKeeper>[0], 'wanted' | 'refresh'>> = {},
  ) => {
    const api = createModelApi();
    const clock = createFakeClock();
    const stop = new AbortController();
    let change: () => void = () => undefined;
    const keeper = createRegistrationKeeper({
      client: { ...(api.client as unknown as Client), ...server.client() },
      name: ref.name,
      keepFailurePolicy: true,
      owner,
      wanted: () => ({ metadata: ref, webhooks: [] }),
      ...more,
      onWantedChange(callback) {
        change = callback;
      },
      clock,
      random: () => 0,
      logger: recordingLogger(),
    });
    const running = keeper.run(stop.signal);
    return {
      keeper,
      clock,
      stop,
      look: async () => {
        change();
        await clock.advance(10_000);
      },
      async end() {
        stop.abort();
        await clock.settle();
        await running;
      },
    };
  };
  const uids = () =>
    server
      .read<MutatingWebhookConfiguration>(MUTATING_WEBHOOK_CONFIGURATIONS, ref)
      ?.metadata.ownerReferences?.map(({ uid }) => uid);

  it('is waited for while it cannot be read', async () => {
    let readable = false;
    const test = start(() => (readable ? Promise.resolve(ownerOf('one')) : Promise.reject(new Error('away'))));
    await test.look();
    expect([test.keeper.registered(), uids()]).to.deep.equal([false, undefined]);
    readable = true;
    await test.clock.advance(60_000);
    expect([test.keeper.registered(), uids()]).to.deep.equal([true, ['one']]);
    await test.end();
  });

  it('is written from what all replicas share, and never from what one of them has not heard of yet', async () => {
    let bundle = 'old';
    const test = start(() => Promise.resolve(undefined), {
      wanted: () => ({
        metadata: ref,
        webhooks: [{ name: 'x.topology.extensions.gardener.cloud', clientConfig: { caBundle: bundle } }] as never,
      }),
      refresh() {
        bundle = 'new';
        return Promise.resolve();
      },
    });
    await test.look();
    const stored = server.read<MutatingWebhookConfiguration>(MUTATING_WEBHOOK_CONFIGURATIONS, ref);
    expect(stored?.webhooks?.map(({ clientConfig }) => clientConfig.caBundle)).to.deep.equal(['new']);
    await test.end();
  });
});

const read = (server: MemoryServer) => server.read<MutatingWebhookConfiguration>(MUTATING_WEBHOOK_CONFIGURATIONS, ref);

const write = (client: Pick<Client, 'get' | 'create' | 'update'>, wanted = build()) =>
  register({ client, wanted, keepFailurePolicy: true, logger: recordingLogger() });

const verbs = (server: MemoryServer) => server.calls.map(({ verb }) => verb);

describe('register', () => {
  it('updates what differs, once', async () => {
    const server = createMemoryServer();
    await write(server.client());
    await write(server.client(), build({ caBundle: 'NEW' }));
    expect(verbs(server).filter((verb) => verb === 'update')).to.have.length(1);
    expect(read(server)?.webhooks?.[0]?.clientConfig.caBundle).to.equal(Buffer.from('NEW').toString('base64'));
  });

  it('reads again after a conflict and keeps what the other one wrote', async () => {
    const server = createMemoryServer();
    await write(server.client());
    let disturbed = false;
    const client = server.client(({ verb }) => {
      if (verb !== 'update' || disturbed) return;
      disturbed = true;
      const current = read(server) ?? expect.fail('nothing stored');
      const labels = { ...current.metadata.labels, theirs: 'x' };
      server.put(MUTATING_WEBHOOK_CONFIGURATIONS, { ...current, metadata: { ...current.metadata, labels } });
    });
    await write(client, build({ caBundle: 'NEW' }));
    expect(disturbed).to.equal(true);
    expect(read(server)?.metadata.labels).to.include({ theirs: 'x' });
  });
});

describe('unregister', () => {
  const deleting = (error?: Error): Pick<Client, 'delete'> => ({
    async delete() {
      if (error !== undefined) throw error;
    },
  });
  const failed = (status: number) => new ApiError({ method: 'DELETE', path: '/x', status });

  it('says that there was one', async () => expect(await unregister(deleting(), 'webhooks')).to.equal(true));
  it('says that there was none', async () =>
    expect(await unregister(deleting(failed(404)), 'webhooks')).to.equal(false));
});
