import { expect } from 'chai';
import { describe, it } from 'mocha';
import { ANNOTATION_GROUP_ZONE } from '../../../../pkg/apis/names.ts';
import { cleanUpNodeGroups } from '../../../../pkg/controllers/node-groups/cleanup.ts';
import { node } from '../../../fixtures/core.ts';
import { zonalVolume } from '../../../fixtures/kubeedge.ts';
import { fakeClient, never } from './support.ts';

const member = (name: string, zone: string, record?: string) =>
  node({
    zone,
    metadata: { name, ...(record === undefined ? {} : { annotations: { [ANNOTATION_GROUP_ZONE]: record } }) },
  });

describe('the clean-up of NodeGroups', () => {
  it('says what has to stay, and why', async () => {
    const pod = {
      metadata: { namespace: 'shop', name: 'web' },
      spec: { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }] },
    };
    const client = fakeClient({
      nodes: [member('bound', 'north', '{"zone":"north"}'), member('lost', '', '{"zone":"north","previous":"eu-1a"}')],
      pods: [pod],
      persistentvolumes: [zonalVolume('pv', 'shop/data', 'north')],
    });
    const { nodes, left } = await cleanUpNodeGroups(client, never);
    expect([nodes, client.patched]).to.deep.equal([0, []]);
    expect(left.join('\n')).to.match(/^Node bound cannot be without a zone: .*\nNode lost: .*"eu-1a"/);
  });

  it('says so where a Node changed meanwhile', async () => {
    const client = fakeClient({ nodes: [member('edge', 'north', '{"zone":"north"}')] });
    client.failure = 409;
    expect(await cleanUpNodeGroups(client, never)).to.deep.equal({
      nodes: 0,
      services: 0,
      left: ['Node edge changed meanwhile; run the clean-up again'],
    });
  });
});
