import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { EndpointSlice, Service } from '../../../../pkg/apis/core.ts';
import {
  ANNOTATION_TOPOLOGY_MODE,
  LABEL_CONSIDER,
  LABEL_ETCD_CLIENTS,
  LABEL_MANAGED_BY,
  MANAGED_BY_DRUID,
} from '../../../../pkg/apis/names.ts';
import { createHintRelease, isChosen, isLeftOver } from '../../../../pkg/controllers/hint-repair/etcd-clients.ts';
import { needsResync } from '../../../../pkg/controllers/hint-repair/resync.ts';
import { ApiError } from '../../../../pkg/kubernetes/errors.ts';
import type { Client } from '../../../../pkg/kubernetes/types.ts';
import { endpoint, service, slice } from '../../../fixtures/core.ts';
import { namespace } from '../../../fixtures/gardener.ts';
import { recordingLogger } from '../../../fixtures/recording-logger.ts';

const NS = 'shoot--foo--bar';
const HINTS = { forZones: [{ name: 'a' }] };
const of = (more: Parameters<typeof slice>[0] = {}): EndpointSlice =>
  slice({
    service: 'etcd-main-client',
    endpoints: [endpoint({ hints: HINTS }), endpoint()],
    ...more,
    metadata: { name: 's', namespace: NS, resourceVersion: '7', ...more.metadata },
  });
const client = (more: Parameters<typeof service>[0] = {}): Service =>
  service({
    ...more,
    metadata: {
      name: 'etcd-main-client',
      namespace: NS,
      labels: { [LABEL_MANAGED_BY]: MANAGED_BY_DRUID },
      ...more.metadata,
    },
  });
const viewOf = (labelled: boolean, stored: Service | undefined = client()) => ({
  namespace: () => namespace({ metadata: { labels: labelled ? { [LABEL_ETCD_CLIENTS]: 'true' } : {} } }),
  service: () => stored,
});

describe("slices of Etcds' client Services", () => {
  const chosen: { name: string; of: EndpointSlice; labelled: boolean; is: boolean }[] = [
    { name: 'in a labelled namespace', of: of(), labelled: true, is: true },
    { name: 'in another namespace', of: of(), labelled: false, is: false },
    { name: 'of another Service', of: of({ service: 'vpa-webhook' }), labelled: true, is: false },
    {
      name: 'that ask by a label',
      of: of({ metadata: { labels: { [LABEL_CONSIDER]: 'true' } } }),
      labelled: true,
      is: false,
    },
  ];
  for (const { name, of: found, labelled, is } of chosen)
    it(`${name} are ${is ? '' : 'not '}chosen`, () => expect(isChosen(found, viewOf(labelled))).to.equal(is));

  it('are touched where they lack hints and are chosen', () => {
    const bare = of({ endpoints: [endpoint({ zone: 'a' })] });
    expect(needsResync(bare, true)).to.equal(true);
    expect(needsResync(bare, false)).to.equal(false);
    expect(needsResync(of({ endpoints: [endpoint({ zone: 'a', hints: HINTS })] }), true)).to.equal(false);
  });

  const leftOver: {
    name: string;
    of?: EndpointSlice;
    labelled?: boolean;
    stored?: Service | undefined;
    is: boolean;
  }[] = [
    { name: 'hints that nothing asks for', is: true },
    { name: 'chosen ones', labelled: true, is: false },
    { name: 'no hints', of: of({ endpoints: [endpoint()] }), is: false },
    { name: 'a field that asks', stored: client({ spec: { trafficDistribution: 'PreferClose' } }), is: false },
    {
      name: 'an annotation that asks',
      stored: client({
        metadata: {
          labels: { [LABEL_MANAGED_BY]: MANAGED_BY_DRUID },
          annotations: { [ANNOTATION_TOPOLOGY_MODE]: 'auto' },
        },
      }),
      is: false,
    },
    { name: "somebody else's Service of this name", stored: client({ metadata: { labels: {} } }), is: false },
  ];
  for (const { name, of: found = of(), labelled = false, stored, is } of leftOver) {
    it(`${name}: ${is ? 'removed' : 'left'}`, () =>
      expect(isLeftOver(found, viewOf(labelled, stored ?? client()))).to.equal(is));
  }
});

describe('removing their hints', () => {
  const { signal } = new AbortController();
  const run = async (answer: () => EndpointSlice) => {
    const patches: unknown[] = [];
    const patch = (_resource: unknown, _ref: unknown, type: string, body: unknown) => {
      patches.push([type, body]);
      return Promise.resolve().then(answer);
    };
    const release = createHintRelease({
      client: { patch: patch as unknown as Client['patch'] },
      slices: () => [of(), of({ service: 'vpa-webhook' })],
      view: viewOf(false),
      logger: recordingLogger(),
    });
    return { result: await release.reconcile('etcd-clients', signal), patches };
  };

  it('is one patch a slice, of the version that was looked at', async () => {
    const { result, patches } = await run(() => of({ endpoints: [endpoint()] }));
    expect(result).to.deep.equal({ kind: 'done' });
    expect(patches).to.deep.equal([
      [
        'json',
        [
          { op: 'replace', path: '/metadata/resourceVersion', value: '7' },
          { op: 'remove', path: '/endpoints/0/hints' },
        ],
      ],
    ]);
  });

  const refuse = (status: number) => () => {
    throw new ApiError({ status, method: 'PATCH', path: '/x' });
  };
  it('is tried again where an API server still puts them back, or the slice changed', async () => {
    for (const answer of [() => of(), refuse(409)])
      expect((await run(answer)).result).to.deep.equal({ kind: 'requeue', afterMs: 5_000 });
  });
});
