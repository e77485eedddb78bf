// Informer and client together against the sandbox: real TLS, real watches, real faults; the cache must equal the server.
import type { Http2ServerResponse } from 'node:http2';
import { expect } from 'chai';
import fc from 'fast-check';
import { after, afterEach, before, beforeEach, describe, it } from 'mocha';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import { SERVICES, NODES } from '../../pkg/apis/resources.ts';
import { NotLeadingError, createClient, createFencedClient } from '../../pkg/kubernetes/client.ts';
import { systemClock } from '../../pkg/kubernetes/wait.ts';
import { type Informer, type InformerOptions, createInformer } from '../../pkg/kubernetes/informer.ts';
import { loadKubeConfig } from '../../pkg/kubernetes/kubeconfig.ts';
import type { Client, Clock } from '../../pkg/kubernetes/types.ts';
import { eventually, rejection } from '../fixtures/eventually.ts';
import { versionsOf } from '../fixtures/model-api.ts';
import { recordingLogger } from '../fixtures/recording-logger.ts';
import { useRealNetwork } from '../fixtures/real-network.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { startSandbox } from '../sandbox/sandbox.ts';
import type { Sandbox } from '../sandbox/types.ts';
import { testConfig } from '../fixtures/config-source.ts';
import { type FakeClock, createFakeClock } from '../fixtures/fake-clock.ts';
import { type H2Server, startH2Server } from '../fixtures/h2-server.ts';

const NAMESPACE = 'default';

const service = (name: string, labels: Record<string, string> = {}): KubernetesObject =>
  ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace: NAMESPACE, name, labels },
    spec: { selector: { app: name }, ports: [{ name: 'http', port: 80, protocol: 'TCP', targetPort: 80 }] },
  }) as KubernetesObject;

/** Waits end four hundred times as soon. */
const quickClock: Clock = {
  ...systemClock,
  setTimeout: (callback, delayMs) => systemClock.setTimeout(callback, delayMs / 400),
};

describe('client and informer on the sandbox', () => {
  useRealNetwork();
  let sandbox: Sandbox;
  const folder = temporaryFolder();
  let client: Client;
  let stop: AbortController;
  let runs: Promise<void>[];

  before(async () => {
    sandbox = await startSandbox({ bookmarkSeconds: 1, endpointSliceController: false });
  });
  after(async () => {
    await sandbox.stop();
  });
  beforeEach(() => {
    [stop, runs] = [new AbortController(), []];
    client = createClient({
      config: loadKubeConfig({ kubeconfig: folder.write('config', sandbox.kubeconfig('tester')) }),
      userAgent: 'test/1',
    });
    sandbox.clearRequests();
  });
  afterEach(async () => {
    stop.abort();
    await Promise.all(runs);
    await client.close();
    sandbox.clearFaults();
    for (const { metadata } of sandbox.list(SERVICES))
      await sandbox.remove(SERVICES, { namespace: metadata?.namespace ?? '', name: metadata?.name ?? '' });
    await eventually(() => sandbox.connections === 0 || `${sandbox.connections} connections open after close`);
  });

  const start = (options: Partial<InformerOptions<KubernetesObject>> = {}): Informer<KubernetesObject> => {
    const informer = createInformer<KubernetesObject>({
      client,
      resource: SERVICES,
      clock: quickClock,
      random: Math.random,
      logger: recordingLogger(),
      ...options,
    });
    runs.push(informer.run(stop.signal));
    return informer;
  };
  const equal = (informer: Informer<KubernetesObject>): Promise<void> => {
    const both = () =>
      [versionsOf(informer.store.list()), versionsOf(sandbox.list(SERVICES))].map((list) => list.join(' '));
    return eventually(() => both()[0] === both()[1] || `cache: ${both()[0]}\nserver: ${both()[1]}`);
  };

  it('stays current through bookmarks: after a quiet time and a compaction no list is needed', async () => {
    let [lists, bookmarks] = [0, 0];
    const counting: Pick<Client, 'pages' | 'watch'> = {
      pages(...args) {
        lists += 1;
        return client.pages(...args);
      },
      async *watch<T extends KubernetesObject>(...args: Parameters<Client['watch']>) {
        for await (const event of client.watch<T>(...args)) {
          if (event.type === 'BOOKMARK') bookmarks += 1;
          yield event;
        }
      },
    };
    const informer = start({ client: counting });
    await informer.waitForSync(stop.signal);
    // Another resource moves the version on; only a bookmark tells our watch.
    await sandbox.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'moves-the-version' } });
    const seen = bookmarks;
    await eventually(() => bookmarks >= seen + 2 || `${bookmarks - seen} bookmarks`);
    sandbox.compact();
    sandbox.cutWatches('reset');
    await sandbox.apply(service('after'));
    await equal(informer);
    expect(lists).to.equal(1);
  });

  it('leaves no watch, timer or connection behind over a hundred starts and stops', async () => {
    await client.raw('/version');
    const resources = (): string =>
      process
        .getActiveResourcesInfo()
        .filter((name) => name !== 'Immediate')
        .sort()
        .join();
    const baseline = resources();
    for (let count = 0; count < 100; count += 1) {
      const own = new AbortController();
      const informer = createInformer({
        client,
        resource: SERVICES,
        clock: systemClock,
        random: Math.random,
        logger: recordingLogger(),
      });
      const running = informer.run(own.signal);
      if (count % 4 !== 0) await informer.waitForSync(own.signal);
      own.abort();
      await running;
    }
    await eventually(() => resources() === baseline || `${resources()} instead of ${baseline}`);
    expect(sandbox.connections).to.equal(1);
  });

  describe('under random faults', () => {
    type Step = {
      do: 'write' | 'remove' | 'cut' | 'compact' | 'fault';
      name: string;
      how: 'status' | 'reset';
      cut: '410' | 'reset' | 'close';
    };
    const steps = fc.array(
      fc.record<Step>({
        do: fc.constantFrom('write', 'write', 'write', 'remove', 'cut', 'compact', 'fault'),
        name: fc.constantFrom('a', 'b', 'c', 'd'),
        how: fc.constantFrom('status', 'reset'),
        cut: fc.constantFrom('410', 'reset', 'close'),
      }),
      { minLength: 5, maxLength: 25 },
    );
    let version = 0;

    const play = async (step: Step): Promise<void> => {
      version += 1;
      if (step.do === 'write') await sandbox.apply(service(step.name, { version: String(version) }));
      else if (step.do === 'remove' && sandbox.get(SERVICES, { namespace: NAMESPACE, name: step.name }) !== undefined) {
        await sandbox.remove(SERVICES, { namespace: NAMESPACE, name: step.name });
      } else if (step.do === 'cut') sandbox.cutWatches(step.cut);
      else if (step.do === 'compact') sandbox.compact();
      else if (step.do === 'fault') {
        const match = { resource: 'services', user: 'tester' };
        sandbox.addFault(
          step.how === 'reset' ? { kind: 'reset', match, times: 1 } : { kind: 'status', match, code: 500, times: 1 },
        );
      }
    };

    it('the cache equals the server in the end, and so do the changes that handlers got', async () => {
      await fc.assert(
        fc.asyncProperty(steps, async (sequence) => {
          const own = new AbortController();
          const told = new Map<string, KubernetesObject>();
          const informer = createInformer<KubernetesObject>({
            client,
            resource: SERVICES,
            clock: quickClock,
            random: Math.random,
            logger: recordingLogger(),
            pageSize: 2,
            onUpsert: (object) => void told.set(object.metadata?.name ?? '', object),
            onDelete: (object) => void told.delete(object.metadata?.name ?? ''),
          });
          const running = informer.run(own.signal);
          try {
            for (const step of sequence) {
              await play(step);
              await new Promise((resolve) => setImmediate(resolve));
            }
            sandbox.clearFaults();
            await equal(informer);
            expect(versionsOf(told.values())).to.deep.equal(versionsOf(sandbox.list(SERVICES)));
          } finally {
            own.abort();
            await running;
          }
        }),
        { numRuns: 40 },
      );
    }).timeout(120_000);
  });
});

const SERVICE = { kind: 'Service', metadata: { namespace: 'a', name: 'b', resourceVersion: '5' } };
const REF = { namespace: 'a', name: 'b' };

describe('a write that waits while its process loses the lead', () => {
  useRealNetwork();
  let clock: FakeClock;
  let server: H2Server;
  let inner: Client;
  let client: Client;
  let leads: boolean;
  /** Methods of the writes that the server saw. */
  let writes: string[];
  let watches: Http2ServerResponse[];
  let answerWrite: (response: Http2ServerResponse) => void;

  const open = async (maxConcurrentStreams = 100): Promise<void> => {
    server = await startH2Server(
      (request, response) => {
        const isWatch = request.url.includes('watch=1');
        if (isWatch) {
          response.writeHead(200);
          response.write('\n');
          watches.push(response);
          return;
        }
        writes.push(request.method);
        request.resume();
        request.on('end', () => answerWrite(response));
      },
      { maxConcurrentStreams },
    );
    inner = createClient({
      config: testConfig(server.url, { tls: { ca: server.ca } }),
      userAgent: 'test/1',
      clock,
      random: () => 0,
    });
    client = createFencedClient(inner, () => leads);
  };
  beforeEach(() => {
    clock = createFakeClock();
    [leads, writes, watches] = [true, [], []];
    answerWrite = (response) => void response.end(JSON.stringify(SERVICE));
  });
  afterEach(async () => {
    await inner.close();
    await server.close();
  });

  const calls: Array<[string, () => Promise<unknown>]> = [
    ['POST', () => client.create(SERVICES, SERVICE)],
    ['PUT', () => client.update(SERVICES, SERVICE)],
    ['PATCH', () => client.patch(SERVICES, REF, 'merge', {})],
    ['DELETE', () => client.delete(SERVICES, REF)],
  ];
  for (const [method, write] of calls) {
    it(`${method}: is not sent again after the wait that a 429 asked for`, async () => {
      await open();
      answerWrite = (response) => {
        response.writeHead(429, { 'retry-after': '3' });
        response.end('{}');
      };
      const refused = rejection(write());
      await eventually(
        () => (clock.pending > 0 && writes.length === 1 && server.openAnswers === 0) || `${writes.length} writes seen`,
      );
      leads = false;
      answerWrite = (response) => void response.end(JSON.stringify(SERVICE));
      let done = false;
      void refused.then(() => (done = true));
      await eventually(() => {
        void clock.advance(1_000);
        return done || 'the write is still under way';
      });
      expect(await refused).to.be.instanceOf(NotLeadingError);
      expect(writes).to.deep.equal([method]);
    });

    it(`${method}: is not sent when a stream becomes free for it`, async () => {
      await open(1);
      const stop = new AbortController();
      const watch = client.watch(NODES, {}, stop.signal);
      const ended = watch.next();
      await eventually(() => watches.length === 1 || 'no watch');
      const refused = rejection(write());
      await new Promise((resolve) => setImmediate(resolve));
      leads = false;
      watches[0]?.end();
      expect(await refused).to.be.instanceOf(NotLeadingError);
      expect(await ended).to.include({ done: true });
      expect(writes).to.deep.equal([]);
      leads = true;
      await write();
      expect(writes, 'the connection is still usable').to.deep.equal([method]);
      expect(server.accepted, 'connections').to.equal(1);
    });
  }

  it('is not sent when the connection comes about', async () => {
    await open();
    const refused = rejection(client.update(SERVICES, SERVICE));
    // Credentials are read by now; TCP and TLS take turns of the event loop.
    await Promise.resolve();
    leads = false;
    expect(await refused).to.be.instanceOf(NotLeadingError);
    expect(writes).to.deep.equal([]);
  });
});
