import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import type { Extension } from '../../../../pkg/apis/gardener.ts';
import type { KubernetesObject } from '../../../../pkg/apis/meta.ts';
import { EXTENSION_FINALIZER, EXTENSION_TYPE } from '../../../../pkg/apis/names.ts';
import { EXTENSIONS } from '../../../../pkg/apis/resources.ts';
import type { Resource } from '../../../../pkg/apis/resources.ts';
import { releaseExtensions } from '../../../../pkg/controllers/extension/release.ts';
import type { Client } from '../../../../pkg/kubernetes/types.ts';
import { extension } from '../../../fixtures/gardener.ts';
import { apiError, createMemoryServer } from '../../../fixtures/memory-client.ts';
import type { Before, MemoryServer } from '../../../fixtures/memory-client.ts';
import { recordingLogger } from '../../../fixtures/recording-logger.ts';

const OTHER = 'example.com/other';
describe('releaseExtensions', () => {
  let server: MemoryServer;
  beforeEach(() => (server = createMemoryServer()));

  const put = (namespace: string, spec: object = {}, finalizers = [OTHER, EXTENSION_FINALIZER]): void =>
    server.put(EXTENSIONS, extension({ metadata: { namespace, finalizers }, spec: { type: EXTENSION_TYPE, ...spec } }));
  const finalizers = (namespace: string): string[] | undefined =>
    server.read<Extension>(EXTENSIONS, { namespace, name: EXTENSION_TYPE })?.metadata?.finalizers;
  const release = (before?: Before, broken?: Error): Promise<number> => {
    const pages = async function* <T extends KubernetesObject>(resource: Resource) {
      if (broken !== undefined) throw broken;
      yield { metadata: {}, items: await Promise.resolve(server.all<T>(resource)) };
    };
    const client = { ...server.client(before), pages } as unknown as Client;
    return releaseExtensions({ client, classes: ['shoot'], logger: recordingLogger() }, new AbortController().signal);
  };

  it('gives up our finalizer on what this installation answers for, and nothing else', async () => {
    put('a');
    put('b', { class: 'garden' });
    put('c', { type: 'lakom' });
    put('d', {}, [OTHER]);
    expect(await release()).to.equal(1);
    expect(['a', 'b', 'c', 'd'].map(finalizers)).to.deep.equal([
      [OTHER],
      [OTHER, EXTENSION_FINALIZER],
      [OTHER, EXTENSION_FINALIZER],
      [OTHER],
    ]);
  });

  it('takes what another writer wrote in the same moment into account', async () => {
    put('a');
    let raced = false;
    const count = await release(({ verb }) => {
      if (verb !== 'patch' || raced) return;
      raced = true;
      put('a', {}, [OTHER, EXTENSION_FINALIZER, 'example.com/new']);
    });
    expect(count).to.equal(1);
    expect(finalizers('a')).to.deep.equal([OTHER, 'example.com/new']);
  });

  for (const status of [403, 404]) {
    it(`finds none where the server answers ${status}`, async () =>
      expect(await release(undefined, apiError(status))).to.equal(0));
  }
});
