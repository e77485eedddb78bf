// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import type { Service } from '../../../../pkg/apis/core.ts';
import type { StringMap } from '../../../../pkg/apis/meta.ts';
import { ANNOTATION_SERVICE_TOPOLOGY, ANNOTATION_TOPOLOGY_MODE, LABEL_STRATEGY } from '../../../../pkg/apis/names.ts';
import { projectService } from '../../../../pkg/controllers/node-groups/caches.ts';
import { createServiceTopology } from '../../../../pkg/controllers/node-groups/services.ts';
import type { ServiceTopology } from '../../../../pkg/controllers/node-groups/services.ts';
import { planServiceTopology } from '../../../../pkg/kubeedge/service-topology.ts';
import { service } from '../../../fixtures/core.ts';
import { createFakeClock } from '../../../fixtures/fake-clock.ts';
import type { FakeClock } from '../../../fixtures/fake-clock.ts';
import { recordingLogger } from '../../../fixtures/recording-logger.ts';
import { eventLog, fakeClient, never } from './support.ts';
import type { FakeClient } from './support.ts';

const KEY = 'default/server';
const WISH = { [ANNOTATION_SERVICE_TOPOLOGY]: 'range-nodegroup' };

describe("the reconciler of Services with KubeEdge's annotation", () => {
  let clock: FakeClock;
  let client: FakeClient;
  let cached: Service | undefined;
  let version: number;
  let topologyEnabled: boolean | undefined;
  let edgeMesh: boolean;
  let events: ReturnType<typeof eventLog>;
  let topology: ServiceTopology;
  const see = (annotations: StringMap, labels: StringMap = {}): void => {
    version += 1;
    cached = service({ metadata: { uid: 'u', resourceVersion: String(version), labels, annotations } });
    client.objects['services'] = [cached];
  };
  /** What the last patch made of the Service, as the watch brings it. */
  const arrive = (): void => {
    const { labels, annotations } = client.patched.at(-1)!.patch.metadata;
    see({ ...cached?.metadata?.annotations, ...annotations }, { ...cached?.metadata?.labels, ...labels });
  };
  const reconcile = () => topology.reconciler.reconcile(KEY, never);

  beforeEach(() => {
    clock = createFakeClock();
    client = fakeClient();
    version = 100;
    topologyEnabled = true;
    edgeMesh = false;
    events = eventLog();
    see(WISH);
    topology = createServiceTopology({
      service: () => cached,
      topologyEnabled: () => topologyEnabled,
      edgeMesh: () => edgeMesh,
      client,
      events,
      clock,
      logger: recordingLogger(),
    });
  });

  it('writes the label on the version that it saw, and reports it', async () => {
    expect(await reconcile()).to.deep.equal({ kind: 'done' });
    expect(client.patched[0]).to.deep.include({ resource: 'services', ref: { namespace: 'default', name: 'server' } });
    expect(client.patched[0]?.patch.metadata).to.deep.include({
      resourceVersion: '101',
      labels: { [LABEL_STRATEGY]: 'same-zone' },
    });
    expect(events.lines.map((line) => line.split(':')[0])).to.deep.equal(['Normal NodeGroupPreferred Service/server']);
    expect(topology.counts()).to.deep.equal([{ state: 'NodeGroupPreferred', services: 1 }]);
  });

  it('is content with what it wrote', async () => {
    await reconcile();
    arrive();
    await reconcile();
    expect([client.patched.length, events.lines.length]).to.deep.equal([1, 1]);
  });

  it('follows EdgeMesh at once', async () => {
    await reconcile();
    arrive();
    edgeMesh = true;
    await reconcile();
    expect(client.patched).to.have.length(2);
    expect(events.lines[1]).to.match(/^Warning EdgeMeshIgnoresHints Service\/server: /);
  });

  it('reports also where the answer to its write was lost', async () => {
    client.failure = 500;
    expect(await reconcile().catch((error: unknown) => error)).to.include({ status: 500 });
    const { patch } = planServiceTopology({ service: cached!, topologyEnabled: true, edgeMesh: false });
    const { labels, annotations } = patch!['metadata'] as { labels: StringMap; annotations: StringMap };
    see({ ...WISH, ...annotations }, labels);
    await reconcile();
    await reconcile();
    expect(client.patched).to.deep.equal([]);
    expect(events.lines.map((line) => line.split(':')[0])).to.deep.equal(['Normal NodeGroupPreferred Service/server']);
  });

  it('writes the label again at once where it was removed, then once a minute', async () => {
    await reconcile();
    see(WISH);
    await reconcile();
    expect(client.patched).to.have.length(2);
    see(WISH);
    await clock.advance(20_000);
    expect(await reconcile()).to.deep.equal({ kind: 'requeue', afterMs: 40_000 });
    await clock.advance(40_000);
    expect(await reconcile()).to.deep.equal({ kind: 'done' });
    expect(client.patched).to.have.length(3);
  });

  it('reports a conflict once, and nothing that its author knows', async () => {
    see({ ...WISH, [ANNOTATION_TOPOLOGY_MODE]: 'Auto' });
    await reconcile();
    await reconcile();
    expect(events.lines.map((line) => line.split(':')[0])).to.deep.equal(['Warning ConflictingMode Service/server']);
    see(WISH, { [LABEL_STRATEGY]: 'load-aware' });
    await reconcile();
    expect(events.lines).to.have.length(1);
    expect(topology.counts()).to.deep.equal([{ state: 'OwnStrategy', services: 1 }]);
    expect(client.patched).to.deep.equal([]);
  });

  it('decides nothing while groups cannot be read', async () => {
    topologyEnabled = undefined;
    expect(await reconcile()).to.deep.equal({ kind: 'done' });
    expect([client.patched, topology.counts()]).to.deep.equal([[], []]);
  });

  for (const status of [409, 404])
    it(`takes ${status} for news that the watch will bring`, async () => {
      client.failure = status;
      expect(await reconcile()).to.deep.equal({ kind: 'requeue', afterMs: 1_000 });
      expect(events.lines).to.deep.equal([]);
    });

  it('passes on other errors', async () => {
    client.failure = 422;
    expect(await reconcile().catch((error: unknown) => error)).to.include({ status: 422 });
  });

  it('forgets a Service that is gone, or does not ask any more', async () => {
    await reconcile();
    cached = undefined;
    await reconcile();
    expect(topology.counts()).to.deep.equal([]);
    see({});
    await reconcile();
    expect(topology.counts()).to.deep.equal([]);
  });
});

describe('the projection of a Service', () => {
  it('keeps what is read of it', () => {
    const full = service({
      metadata: { uid: 'u', resourceVersion: '7', labels: { app: 'x' }, annotations: { ...WISH, other: 'y' } },
      spec: { clusterIP: '198.18.0.1', type: 'ClusterIP' },
    });
    expect(projectService(full)).to.deep.equal({
      metadata: { name: 'server', namespace: 'default', uid: 'u', resourceVersion: '7', labels: {}, annotations: WISH },
      spec: { type: 'ClusterIP' },
    });
    expect(projectService({ spec: { clusterIP: 'None' } }).spec).to.deep.equal({ clusterIP: 'None' });
  });
});
