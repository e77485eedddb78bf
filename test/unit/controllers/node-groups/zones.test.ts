import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import type { Node, NodeGroup } from '../../../../pkg/apis/core.ts';
import { ANNOTATION_GROUP_ZONE, LABEL_ZONE } from '../../../../pkg/apis/names.ts';
import { createZoneReconciler } from '../../../../pkg/controllers/node-groups/zones.ts';
import { type GroupNode, type ZoneDecision, projectGroupNode } from '../../../../pkg/kubeedge/decide.ts';
import type { Reconciler } from '../../../../pkg/kubernetes/types.ts';
import { node } from '../../../fixtures/core.ts';
import { createFakeClock } from '../../../fixtures/fake-clock.ts';
import type { FakeClock } from '../../../fixtures/fake-clock.ts';
import { nodeGroup, zonalVolume } from '../../../fixtures/kubeedge.ts';
import { fakeClient, never } from './support.ts';
import type { FakeClient } from './support.ts';

const named = (zone: string, annotations = {}): Node =>
  node({ zone, metadata: { name: 'n1', uid: 'u', resourceVersion: '7', annotations } });

describe('the reconciler of zones', () => {
  let clock: FakeClock;
  let client: FakeClient;
  let cached: GroupNode | undefined;
  let groups: NodeGroup[] | undefined;
  let told: string[];
  let reconciler: Reconciler;
  const see = (object: Node): void => {
    cached = projectGroupNode(object);
    client.objects['nodes'] = [object];
  };
  const reconcile = () => reconciler.reconcile('n1', never);

  beforeEach(() => {
    clock = createFakeClock();
    client = fakeClient();
    groups = [nodeGroup('north', { nodes: ['n1'] })];
    told = [];
    see(named(''));
    reconciler = createZoneReconciler({
      node: () => cached,
      groups: () => groups,
      client,
      reports: {
        report: (_node, decision: ZoneDecision) =>
          void told.push(decision.kind === 'none' ? 'none' : `${decision.kind} ${decision.reason}`),
        forget: (name) => void told.push(`forget ${name}`),
      },
      clock,
    });
  });

  it('writes label and record in one patch, on the version that it saw, under its own name', async () => {
    expect(await reconcile()).to.deep.equal({ kind: 'done' });
    expect(client.patched).to.deep.equal([
      {
        resource: 'nodes',
        ref: { name: 'n1' },
        type: 'merge',
        patch: {
          metadata: {
            resourceVersion: '7',
            labels: { [LABEL_ZONE]: 'north' },
            annotations: { [ANNOTATION_GROUP_ZONE]: '{"zone":"north"}' },
          },
        },
        options: { fieldManager: 'flow-controller' },
      },
    ]);
    expect(told).to.deep.equal(['write Assigned']);
  });

  it('removes both where there was nothing before', async () => {
    groups = [];
    see(named('north', { [ANNOTATION_GROUP_ZONE]: '{"zone":"north"}' }));
    await reconcile();
    expect(client.patched[0]?.patch.metadata).to.deep.include({
      labels: { [LABEL_ZONE]: null },
      annotations: { [ANNOTATION_GROUP_ZONE]: null },
    });
  });

  it('leaves the label out of a patch of the record alone, and asks for no volumes', async () => {
    groups = [];
    see(named('eu-1b', { [ANNOTATION_GROUP_ZONE]: '{"zone":"north"}' }));
    await reconcile();
    expect(client.patched[0]?.patch.metadata).not.to.have.property('labels');
    expect(client.listed).to.deep.equal([]);
  });

  it('looks at the Pods of the Node first, and at volumes only where a Pod has claims', async () => {
    client.objects['pods'] = [{ metadata: { name: 'web' } }];
    await reconcile();
    expect(client.listed).to.deep.equal(['pods?spec.nodeName=n1']);
  });

  it('writes nothing while a volume stands in the way, and looks again every minute', async () => {
    const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }];
    client.objects['pods'] = [{ metadata: { namespace: 'shop', name: 'web' }, spec: { volumes } } as object];
    client.objects['persistentvolumes'] = [zonalVolume('pv', 'shop/data', 'eu-1a')];
    expect(await reconcile()).to.deep.equal({ kind: 'requeue', afterMs: 60_000 });
    expect(client.patched).to.deep.equal([]);
    expect(told).to.deep.equal(['refused ZoneBoundVolumes']);
    client.objects['pods'] = [];
    expect(await reconcile()).to.deep.equal({ kind: 'done' });
    expect(client.patched).to.have.length(1);
  });

  it('writes nothing where volumes cannot be read', async () => {
    client.pages = () => {
      throw new Error('forbidden');
    };
    const caught = await reconcile().catch((error: unknown) => error);
    expect(caught).to.have.property('message', 'forbidden');
    expect(client.patched).to.deep.equal([]);
  });

  for (const status of [409, 404])
    it(`takes ${status} for news that the watch will bring`, async () => {
      client.failure = status;
      expect(await reconcile()).to.deep.equal({ kind: 'requeue', afterMs: 1_000 });
      expect(told).to.deep.equal([]);
    });

  it('passes on other errors', async () => {
    client.failure = 403;
    expect(await reconcile().catch((error: unknown) => error)).to.include({ status: 403 });
  });

  it('writes its zone again at once where it was removed, then once a minute', async () => {
    await reconcile();
    const lost = (version: string) => {
      const { metadata, ...rest } = named('', { [ANNOTATION_GROUP_ZONE]: '{"zone":"north"}' });
      see({ ...rest, metadata: { ...metadata, resourceVersion: version } });
    };
    lost('101');
    expect(await reconcile()).to.deep.equal({ kind: 'done' });
    lost('102');
    await clock.advance(10_000);
    expect(await reconcile()).to.deep.equal({ kind: 'requeue', afterMs: 50_000 });
    await clock.advance(50_000);
    expect(await reconcile()).to.deep.equal({ kind: 'done' });
    expect(told).to.deep.equal(['write Assigned', 'write Reasserted', 'write Reasserted']);
  });

  it('decides nothing while groups cannot be read', async () => {
    groups = undefined;
    see(named('north', { [ANNOTATION_GROUP_ZONE]: '{"zone":"north"}' }));
    expect(await reconcile()).to.deep.equal({ kind: 'done' });
    expect([told, client.patched]).to.deep.equal([[], []]);
  });

  it('forgets a Node that is gone', async () => {
    cached = undefined;
    expect(await reconcile()).to.deep.equal({ kind: 'done' });
    expect(told).to.deep.equal(['forget n1']);
  });

  it('reports what it does not write', async () => {
    see(named('eu-1a'));
    await reconcile();
    groups = [];
    await reconcile();
    expect(told).to.deep.equal(['refused ForeignZone', 'none']);
  });
});
