import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import type { Node, NodeGroup } from '../../../../pkg/apis/core.ts';
import { ANNOTATION_GROUP_ZONE } from '../../../../pkg/apis/names.ts';
import { createZoneReconciler } from '../../../../pkg/controllers/node-groups/zones.ts';
import { type GroupNode, type ZoneDecision, projectGroupNode } from '../../../../pkg/kubeedge/decide.ts';
import type { Reconciler } from '../../../../pkg/kubernetes/types.ts';
import { node } from '../../../fixtures/core.ts';
import { createFakeClock } from '../../../fixtures/fake-clock.ts';
import type { FakeClock } from '../../../fixtures/fake-clock.ts';
import { nodeGroup } from '../../../fixtures/kubeedge.ts';
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

  it('leaves the label out of a patch of the record alone, and asks for no volumes', async () => {
    groups = [];
    see(named('eu-1b', { [ANNOTATION_GROUP_ZONE]: '{"zone":"north"}' }));
    await reconcile();
    expect(client.patched[0]?.patch.metadata).not.to.have.property('labels');
    expect(client.listed).to.deep.equal([]);
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

  it('decides nothing while groups cannot be read', async () => {
    groups = undefined;
    see(named('north', { [ANNOTATION_GROUP_ZONE]: '{"zone":"north"}' }));
    expect(await reconcile()).to.deep.equal({ kind: 'done' });
    expect([told, client.patched]).to.deep.equal([[], []]);
  });
});
