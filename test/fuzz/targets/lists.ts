// Bodies of lists and watches, over HTTP to the real client and an informer's cache: objects with names and versions, or a documented error.
import type { Node } from '../../../pkg/apis/core.ts';
import { NODES } from '../../../pkg/apis/resources.ts';
import { projectNode } from '../../../pkg/controllers/settings/caches.ts';
import { createClient } from '../../../pkg/kubernetes/client.ts';
import { ApiError, ConnectionError } from '../../../pkg/kubernetes/errors.ts';
import { type Store, createStore } from '../../../pkg/kubernetes/store.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { testConfig } from '../../fixtures/config-source.ts';
import { recordingLogger } from '../../fixtures/recording-logger.ts';
import { serveAnswers } from '../answers.ts';
import { type Input, type Sample, type Target, must } from '../types.ts';

const NAMES = ['node-0', 'node-1', 'node-2'];
const node = (name: string, resourceVersion = '5'): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, resourceVersion, uid: `uid-${name}`, labels: { 'topology.kubernetes.io/zone': `zone-${name}` } },
  status: { allocatable: { cpu: '4' }, nodeInfo: { kubeletVersion: 'v1.36.0' }, conditions: [] },
});
const list = (more: object = {}): object => ({
  kind: 'NodeList',
  apiVersion: 'v1',
  metadata: { resourceVersion: '7', ...more },
  items: NAMES.map((name) => node(name)),
});

/** A watch's body is an array here, one element a line. */
const SAMPLES: readonly Sample[] = [
  { name: 'list', value: list() },
  { name: 'page', value: list({ continue: 'token', remainingItemCount: 3 }) },
  {
    name: 'watch',
    value: [
      { type: 'ADDED', object: node('node-3', '8') },
      { type: 'MODIFIED', object: node('node-0', '9') },
      { type: 'BOOKMARK', object: { kind: 'Node', metadata: { resourceVersion: '10' } } },
      { type: 'DELETED', object: node('node-1', '11') },
      { type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' } },
    ],
  },
];

const print = (value: unknown): string =>
  Array.isArray(value) ? value.map((event) => `${JSON.stringify(event)}\n`).join('') : JSON.stringify(value);

const checkError = (error: unknown): void => {
  if (!(error instanceof ApiError) && !(error instanceof ConnectionError)) throw error;
  must(error.message.length < 2_500, () => `a message of ${error.message.length} characters`);
  must(!/\p{Cc}/u.test(error.message), () => `control characters in ${JSON.stringify(error.message)}`);
};

const filledCache = (): Store<Node> => {
  const cache = createStore<Node>({ transform: projectNode, logger: recordingLogger() });
  const round = cache.beginList();
  round.add(NAMES.map((name) => node(name)));
  round.complete();
  return cache;
};

const readList = async (client: Client, cache: Store<Node>): Promise<void> => {
  const round = cache.beginList();
  for await (const page of client.pages<Node>(NODES)) round.add(page.items);
  if (!round.lacksMost()) round.complete();
};

const readWatch = async (client: Client, cache: Store<Node>): Promise<void> => {
  for await (const event of client.watch<Node>(NODES, {}, new AbortController().signal)) {
    const version = event.type === 'BOOKMARK' ? event.resourceVersion : event.object.metadata?.resourceVersion;
    must(typeof version === 'string' && version !== '', () => `a ${event.type} event of version ${String(version)}`);
    if (event.type !== 'BOOKMARK') cache.apply(event);
  }
};

export const target: Target = {
  bytes: true,
  async open() {
    const server = await serveAnswers();
    const client = createClient({ config: testConfig(server.url), userAgent: 'fuzz' });

    const run = async ({ text, sample }: Input): Promise<void> => {
      server.answer({ text });
      const cache = filledCache();
      const watches = sample === 'watch';
      try {
        await (watches ? readWatch(client, cache) : readList(client, cache));
      } catch (error) {
        checkError(error);
      }
      for (const { metadata } of cache.list())
        must(typeof metadata?.name === 'string' && metadata.name !== '', () => 'an object without a name in the cache');
      const kept = NAMES.filter((name) => cache.get({ name }) !== undefined).length;
      must(watches || kept * 2 > NAMES.length, () => `${kept} of ${NAMES.length} Nodes are left after one list`);
    };
    return {
      samples: SAMPLES,
      print,
      run,
      async close() {
        await client.close();
        server.close();
      },
    };
  },
};
