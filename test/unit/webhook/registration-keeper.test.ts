import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import type { MutatingWebhookConfiguration } from '../../../pkg/apis/admission.ts';
import type { OwnerReference } from '../../../pkg/apis/meta.ts';
import { MUTATING_WEBHOOK_CONFIGURATIONS } from '../../../pkg/apis/resources.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { createRegistrationKeeper } from '../../../pkg/webhook/register.ts';
import type { KeepRegisteredOptions } from '../../../pkg/webhook/register.ts';
import { createFakeClock } from '../../fixtures/fake-clock.ts';
import { createMemoryServer } from '../../fixtures/memory-client.ts';
import type { MemoryServer } from '../../fixtures/memory-client.ts';
import { createModelApi } from '../../fixtures/model-api.ts';
import { recordingLogger } from '../../fixtures/recording-logger.ts';

const ref = { name: 'webhooks' };
const ownerOf = (uid: string): OwnerReference => ({ apiVersion: 'v1', kind: 'Namespace', name: 'own', uid });

describe('the owner of a registration', () => {
  let server: MemoryServer;
  beforeEach(() => {
    server = createMemoryServer();
  });
  const start = (
    owner: NonNullable<KeepRegisteredOptions['owner']>,
    more: Partial<Pick<KeepRegisteredOptions, 'wanted' | 'refresh'>> = {},
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
        return () => undefined;
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

  it('is written with it, and anew when the owner was made anew', async () => {
    let uid = 'one';
    const test = start(() => Promise.resolve(ownerOf(uid)));
    await test.look();
    expect(uids()).to.deep.equal(['one']);
    uid = 'two';
    await test.look();
    expect(uids()).to.deep.equal(['two']);
    await test.end();
  });

  it('is waited for while it cannot be read', async () => {
    let readable = false;
    const test = start(() => (readable ? Promise.resolve(ownerOf('one')) : Promise.reject(new Error('away'))));
    await test.look();
    expect([test.keeper.registered, uids()]).to.deep.equal([false, undefined]);
    readable = true;
    await test.clock.advance(60_000);
    expect([test.keeper.registered, uids()]).to.deep.equal([true, ['one']]);
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
