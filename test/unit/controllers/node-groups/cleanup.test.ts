import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { Service } from '../../../../pkg/apis/core.ts';
import type { StringMap } from '../../../../pkg/apis/meta.ts';
import { ANNOTATION_GROUP_ZONE, ANNOTATION_TOUCHED, LABEL_STRATEGY, LABEL_ZONE } from '../../../../pkg/apis/names.ts';
import { cleanUpNodeGroups } from '../../../../pkg/controllers/node-groups/cleanup.ts';
import { node, service } from '../../../fixtures/core.ts';
import { zonalVolume } from '../../../fixtures/kubeedge.ts';
import { fakeClient, never } from './support.ts';

const member = (name: string, zone: string, record?: string) =>
  node({
    zone,
    metadata: { name, ...(record === undefined ? {} : { annotations: { [ANNOTATION_GROUP_ZONE]: record } }) },
  });
const web = (name: string, annotations: StringMap, labels: StringMap = {}): Service =>
  service({ metadata: { name, labels, annotations } });

describe('the clean-up of NodeGroups', () => {
  it('gives Nodes their own zones back, and leaves all others', async () => {
    const client = fakeClient({
      nodes: [
        member('plain', 'eu-1a'),
        member('edge', 'north', '{"zone":"north"}'),
        member('cloud', 'north', '{"zone":"north","previous":"eu-1a"}'),
        member('moved', 'eu-1b', '{"zone":"north","previous":"eu-1a"}'),
      ],
    });
    expect(await cleanUpNodeGroups(client, never)).to.deep.equal({ nodes: 3, services: 0, left: [] });
    expect(client.patched.map(({ ref, patch }) => [ref.name, patch.metadata.labels])).to.deep.equal([
      ['edge', { [LABEL_ZONE]: null }],
      ['cloud', { [LABEL_ZONE]: 'eu-1a' }],
      ['moved', undefined],
    ]);
    for (const { patch } of client.patched) {
      expect(patch.metadata.annotations).to.deep.equal({ [ANNOTATION_GROUP_ZONE]: null });
    }
  });

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

  it('removes its annotation from Services', async () => {
    const client = fakeClient({
      services: [
        web('plain', {}, { [LABEL_STRATEGY]: 'same-zone' }),
        web('touched', { [ANNOTATION_TOUCHED]: 'x' }, { [LABEL_STRATEGY]: 'same-zone' }),
      ],
    });
    expect(await cleanUpNodeGroups(client, never)).to.deep.equal({ nodes: 0, services: 1, left: [] });
    expect(client.patched.map(({ ref, patch }) => [ref.name, patch.metadata])).to.deep.equal([
      ['touched', { annotations: { [ANNOTATION_TOUCHED]: null } }],
    ]);
  });

  it('takes a Service that is gone meanwhile for done', async () => {
    const client = fakeClient({ services: [web('touched', { [ANNOTATION_TOUCHED]: 'x' })] });
    client.failure = 404;
    expect(await cleanUpNodeGroups(client, never)).to.deep.equal({ nodes: 0, services: 0, left: [] });
    client.failure = 403;
    expect(await cleanUpNodeGroups(client, never).catch((error: unknown) => error)).to.include({ status: 403 });
  });
});
