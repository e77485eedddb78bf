import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { MutatingWebhookConfiguration } from '../../../pkg/apis/admission.ts';
import { MUTATING_WEBHOOK_CONFIGURATIONS } from '../../../pkg/apis/resources.ts';
import { ApiError } from '../../../pkg/kubernetes/errors.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { register, unregister } from '../../../pkg/webhook/register.ts';
import type { RegistrationOptions } from '../../../pkg/webhook/registration-types.ts';
import { buildRegistration } from '../../../pkg/webhook/registration.ts';
import { rejection } from '../../fixtures/eventually.ts';
import { createMemoryServer } from '../../fixtures/memory-client.ts';
import type { MemoryServer } from '../../fixtures/memory-client.ts';
import { recordingLogger } from '../../fixtures/recording-logger.ts';

const build = (more: Partial<RegistrationOptions> = {}) =>
  buildRegistration({
    name: 'webhooks',
    version: { major: 1, minor: 36 },
    address: { kind: 'url', url: 'https://127.0.0.1:1' },
    caBundle: 'PEM',
    excludedNamespaces: ['default'],
    timeoutSeconds: 5,
    settingsReconcilerUser: 'reconciler',
    strategyAnnotation: true,
    keepSettings: true,
    ...more,
  });
const ref = { name: 'webhooks' };
const read = (server: MemoryServer) => server.read<MutatingWebhookConfiguration>(MUTATING_WEBHOOK_CONFIGURATIONS, ref);
const write = (client: Pick<Client, 'get' | 'create' | 'update'>, wanted = build()) =>
  register({ client, wanted, keepFailurePolicy: true, logger: recordingLogger() });
const verbs = (server: MemoryServer) => server.calls.map(({ verb }) => verb);

describe('register', () => {
  it('creates what is not there, and is quiet the second time', async () => {
    const server = createMemoryServer();
    await write(server.client());
    await write(server.client());
    expect(verbs(server)).to.deep.equal(['get', 'create', 'get']);
    expect(read(server)?.webhooks).to.have.length(7);
  });

  it('updates what differs, once', async () => {
    const server = createMemoryServer();
    await write(server.client());
    await write(server.client(), build({ caBundle: 'NEW' }));
    expect(verbs(server).filter((verb) => verb === 'update')).to.have.length(1);
    expect(read(server)?.webhooks?.[0]?.clientConfig.caBundle).to.equal(Buffer.from('NEW').toString('base64'));
  });

  it('two replicas that start together end up with one configuration', async () => {
    const server = createMemoryServer();
    await Promise.all([write(server.client()), write(server.client()), write(server.client())]);
    expect(server.all(MUTATING_WEBHOOK_CONFIGURATIONS)).to.have.length(1);
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

  it('hands on what the API server refuses', async () => {
    const forbidden = new ApiError({ method: 'POST', path: '/x', status: 403 });
    const server = createMemoryServer();
    const client = server.client(({ verb }) => {
      if (verb === 'create') throw forbidden;
    });
    expect(await rejection(write(client))).to.equal(forbidden);
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
  it('hands on every other failure', async () => {
    const error = failed(500);
    expect(await rejection(unregister(deleting(error), 'webhooks'))).to.equal(error);
  });
});
