// Tests of reduced slices: nothing that the loop reads is lost, nothing else is kept.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { ANNOTATION_PLAN, ANNOTATION_TOPOLOGY_MODE, LABEL_STRATEGY } from '../../../../pkg/apis/names.ts';
import {
  askOf,
  createSliceProjection,
  endpointName,
  hintsInForce,
  isSpread,
  planOnSlices,
  viewsOfEndpoints,
} from '../../../../pkg/flow/assemble/slice.ts';
import { endpoint, service, slice } from '../../../fixtures/core.ts';
import { flowEndpoint, flowSlice } from './support.ts';

describe('a slice reduced', () => {
  const project = createSliceProjection();
  const node = 'n1';

  it('keeps identity, strategy, mark, and of endpoints what plans are made of', () => {
    const reduced = project(
      slice({
        metadata: {
          namespace: 'shop',
          name: 'web-1',
          uid: 'u',
          resourceVersion: '7',
          managedFields: [{}],
          labels: { [LABEL_STRATEGY]: 'load-aware' },
          annotations: { [ANNOTATION_PLAN]: 'spread', other: 'x' },
        },
        endpoints: [
          endpoint({
            zone: 'a',
            nodeName: node,
            targetRef: { kind: 'Pod', name: 'web-a', uid: 'p' },
            hints: { forZones: [{ name: 'a' }, { name: 'b' }] },
          }),
          endpoint({ zone: 'b', nodeName: node, conditions: { ready: false }, hints: {} }),
        ],
      }),
    );
    expect(reduced).to.deep.equal({
      metadata: { name: 'web-1', namespace: 'shop', uid: 'u', resourceVersion: '7' },
      service: 'server',
      byControlPlane: true,
      strategy: 'load-aware',
      mark: 'spread',
      annotated: true,
      addressType: 'IPv4',
      rebuilt: true,
      endpoints: [
        { pod: 'web-a', address: '198.18.0.10', zone: 'a', node, ready: true, forZones: ['a', 'b'], hinted: true },
        { pod: '', address: '198.18.0.10', zone: 'b', node, ready: false, forZones: [], hinted: true },
      ],
    });
    expect(isSpread(reduced)).to.equal(true);
  });

  it('takes what an API server may leave out: no endpoints, no conditions, no zone', () => {
    expect(project({ metadata: { name: 'x' }, endpoints: null }).endpoints).to.deep.equal([]);
    const [one] = project({ metadata: { name: 'x' }, endpoints: [{ addresses: ['1'] }] }).endpoints;
    expect(one).to.deep.equal({ pod: '', address: '1', zone: '', node: '', ready: true, forZones: [], hinted: false });
  });

  for (const zone of ['a b', '-a', 'z'.repeat(64), 'a\n', '\ud800']) {
    it(`takes the zone ${JSON.stringify(zone)} for none: no hint could name it`, () => {
      const [one] = project({ endpoints: [endpoint({ zone })] }).endpoints;
      expect(one?.zone).to.equal('');
    });
  }

  it('shares equal lists of zones', () => {
    const hints = { forZones: [{ name: 'a' }, { name: 'b' }] };
    const [left, right] = project({ endpoints: [endpoint({ hints }), endpoint({ hints })] }).endpoints;
    expect(left?.forZones).to.equal(right?.forZones);
  });

  it('is distinguished by Pod, and by address where there is none', () => {
    expect(endpointName({ pod: 'web-a', address: '1' })).to.equal('web-a');
    expect(endpointName({ pod: '', address: '1' })).to.equal('1');
  });
});

// Tests of what slices say together: endpoints of both families as one, plans adopted, hints as proxies take them.
const v4 = flowSlice([flowEndpoint('b'), flowEndpoint('a', { forZones: ['b', 'a'] })]);
const v6 = flowSlice([flowEndpoint('a', { address: '2001:db8::1', ready: false })], { addressType: 'IPv6' });

describe('endpoints of slices', () => {
  it('are one a Pod, ready where any family is, in name order', () => {
    const found = viewsOfEndpoints([v6, v4]);
    expect(found.map(({ name, ready, forZones }) => [name, ready, forZones])).to.deep.equal([
      ['a1', true, ['b', 'a']],
      ['b1', true, []],
    ]);
  });

  it('leave slices of host names out', () => {
    expect(viewsOfEndpoints([flowSlice([flowEndpoint('a')], { addressType: 'FQDN' })])).to.deep.equal([]);
  });

  const remembered = { spread: false, endpoints: [{ name: 'b1', forZones: ['a', 'b'] }] };
  const plans: (readonly [name: string, slices: Parameters<typeof planOnSlices>[0], plan: object])[] = [
    ['spread, where a slice is marked so', [v4, flowSlice([], { mark: 'spread' })], { spread: true, endpoints: [] }],
    [
      'what the slices carry, and for the rest what is remembered',
      [v4],
      {
        spread: false,
        endpoints: [
          { name: 'a1', forZones: ['a', 'b'] },
          { name: 'b1', forZones: ['a', 'b'] },
        ],
      },
    ],
    ['what is remembered, where they carry nothing', [flowSlice([flowEndpoint('b')])], remembered],
  ];
  for (const [name, slices, plan] of plans)
    it(`are adopted as ${name}`, () => expect(planOnSlices(slices, remembered)).to.deep.equal(plan));

  it('are adopted as own zones where nothing is remembered', () => {
    expect(planOnSlices([flowSlice([flowEndpoint('b')])])).to.deep.equal({ spread: false, endpoints: [] });
  });

  it('spread for proxies as soon as one that is ready has no hint', () => {
    expect(hintsInForce([v4]).spread).to.equal(true);
    const hinted = [flowEndpoint('a', { forZones: ['a'] }), flowEndpoint('b', { ready: false })];
    expect(hintsInForce([flowSlice(hinted)])).to.deep.equal({
      spread: false,
      endpoints: [{ name: 'a1', forZones: ['a'] }],
    });
  });
});

// Tests of what a Service asks the flow controller for.
const labelled = flowSlice([], { strategy: 'load-aware' });
const bare = flowSlice([], { strategy: '' });
const asking = service({ metadata: { labels: { [LABEL_STRATEGY]: 'load-aware' } } });
const { selector: _, ...withoutSelector } = asking.spec ?? {};

describe('what a Service asks for', () => {
  it('is nothing without label and annotation, and nothing here for same-zone', () => {
    const ask = { slices: [labelled], observeOnly: false };
    expect(askOf({ ...ask, service: service() })).to.deep.equal({ kind: 'none' });
    const other = service({ metadata: { labels: { [LABEL_STRATEGY]: 'same-zone' } } });
    expect(askOf({ ...ask, service: other })).to.deep.equal({ kind: 'none' });
  });

  const refused: (readonly [
    name: string,
    input: Partial<Parameters<typeof askOf>[0]>,
    reason: string,
    says: RegExp,
  ])[] = [
    [
      'Auto beside it',
      {
        service: service({
          metadata: { labels: { [LABEL_STRATEGY]: 'load-aware' }, annotations: { [ANNOTATION_TOPOLOGY_MODE]: 'Auto' } },
        }),
      },
      'ConflictingMode',
      /default\/server asks for load-aware, but .*topology-mode.* is "Auto"/,
    ],
    ['slices without label', { slices: [bare] }, 'WaitingForSlices', /carries its strategy label yet/],
    [
      'slices without label, and no selector',
      { slices: [bare], service: { ...asking, spec: withoutSelector } },
      'NotMirrored',
      /which has no selector/,
    ],
  ];
  for (const [name, input, reason, says] of refused) {
    it(`is refused with ${name}`, () => {
      const ask = askOf({ service: asking, slices: [labelled], observeOnly: false, ...input });
      expect(ask).to.deep.include({ kind: 'refused', strategy: 'load-aware', reason });
      expect(ask.kind === 'refused' && ask.message).to.match(says);
    });
  }

  it('is refused without selector while one slice with endpoints lacks the label', () => {
    const plain = { ...asking, spec: withoutSelector };
    const other = flowSlice([flowEndpoint('a')], { strategy: '' });
    const ask = askOf({ service: plain, slices: [labelled, other], observeOnly: false });
    expect(ask).to.deep.include({ kind: 'refused', reason: 'NotMirrored' });
    const all = askOf({ service: plain, slices: [labelled, bare], observeOnly: false });
    expect(all, 'an empty slice has nobody to hint').to.deep.include({ kind: 'planned', writable: [labelled] });
  });
});
