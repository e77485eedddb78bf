// Admission while a zone is evacuated: slices with a mark, and those without.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import type { Endpoint, EndpointSlice } from '../../../pkg/apis/core.ts';
import {
  ANNOTATION_EVACUATED,
  ANNOTATION_PLAN,
  ANNOTATION_TOUCHED,
  LABEL_CONSIDER,
  LABEL_STRATEGY,
  NOT_READY,
  NOWHERE,
} from '../../../pkg/apis/names.ts';
import { decideEvacuated, decideJoining, releaseOperations } from '../../../pkg/evacuation/admit.ts';
import { joiningOf } from '../../../pkg/evacuation/accept.ts';
import { decideInOrder } from '../../../pkg/evacuation/decide.ts';
import type { ZoneEvacuation } from '../../../pkg/apis/zone-evacuation.ts';
import { slice } from '../../fixtures/core.ts';
import { applyJsonPatch } from '../../sandbox/patch-json.ts';
import type { StringMap } from '../../../pkg/apis/meta.ts';
import {
  ALL,
  ZONES,
  at,
  built,
  decide,
  endpointsOf,
  hintsFor,
  hintsIn,
  moved,
  routed,
  serviceArbitrary,
  sliceOf,
  usedFrom,
} from './support.ts';

describe('admission of an evacuated slice', () => {
  const hostile = [
    'no JSON',
    '[]',
    '{"evacuated":{},"alsoServe":[],"original":"own"}',
    '{"evacuated":{"a":1},"alsoServe":[],"original":"own"}',
    '{"evacuated":{"a b":true},"alsoServe":[],"original":"own"}',
    '{"evacuated":{"a":true},"alsoServe":["a b"],"original":"own"}',
    '{"evacuated":{"a":true},"alsoServe":[],"original":"both"}',
    '{"evacuated":{"a":true},"alsoServe":[],"original":"own","except":{"198.18.0.1":"a b"}}',
    '{"evacuated":{"a":true},"alsoServe":[],"original":"own","except":{"198.18.0.1":1}}',
    JSON.stringify({ evacuated: { a: true }, alsoServe: 'abcdefghi'.split(''), original: 'own' }),
  ];
  for (const text of hostile) {
    it(`leaves a slice alone whose annotation is ${text}`, () => {
      const object = slice({ metadata: { annotations: { [ANNOTATION_EVACUATED]: text } } });
      expect(decideEvacuated(object, () => true)).to.deep.equal({ kind: 'unchanged' });
    });
  }

  it('lets a Pod that is new in the zone begin evacuated, and one elsewhere serve the zone', () => {
    const [one] = moved([sliceOf(routed('a'), routed('b'), routed('c'))], [ALL]);
    const grown = { ...one!, endpoints: [...one!.endpoints!, routed('a'), routed('b')] };
    const decision = decideEvacuated(grown, () => true);
    const operations = decision.kind === 'patch' ? decision.operations : [];
    expect(hintsIn([applyJsonPatch(grown, operations)]).slice(3)).to.deep.equal([[NOWHERE], ['a', 'b']]);
  });

  it('takes a plan that the flow controller writes with what is covered for the plan alone', () => {
    const before = [sliceOf(routed('a'), routed('b'), routed('c'))];
    const [one] = moved(before, [ALL]);
    const [leaving, , other] = one!.endpoints!;
    const planned = {
      ...one!,
      endpoints: [leaving!, { ...one!.endpoints![1]!, hints: hintsFor('a', 'b', 'c') }, other!],
    };
    const kept = decideEvacuated(planned, () => true);
    const stored = applyJsonPatch(planned, kept.kind === 'patch' ? kept.operations : []);
    expect(hintsIn([stored])).to.deep.equal([[NOWHERE], ['a', 'b', 'c'], ['a', 'c']]);
    expect(moved([stored], [ALL]), 'the leader agrees').to.deep.equal([stored]);
  });

  it('keeps hints for nodes of those that stay, and names no node for those that leave', () => {
    const onNode = (zone: string) => at(zone, { hints: { ...hintsFor(zone), forNodes: [{ name: `node-${zone}` }] } });
    const before = [sliceOf(onNode('a'), onNode('b'))];
    const after = moved(before, [ALL]);
    expect(endpointsOf(after).map(({ hints }) => hints?.forNodes)).to.deep.equal([
      [{ name: NOWHERE }],
      [{ name: 'node-b' }],
    ]);
    expect(endpointsOf(moved(after, undefined))).to.deep.equal(endpointsOf(before));
  });
});

const accepted = (
  spec: Partial<ZoneEvacuation['spec']> = {},
  status: ZoneEvacuation['status'] = {},
): ZoneEvacuation => ({
  metadata: { name: 'a' },
  spec: { zone: 'a', duration: '1h', percent: 100, rounding: 'Up', capacityCheck: 'Refuse', force: false, ...spec },
  status: {
    clientZones: ZONES,
    conditions: [{ type: 'Accepted', status: 'True', reason: 'Accepted', message: '', lastTransitionTime: '' }],
    ...status,
  },
});

/** The slice as admission stores it before any leader has seen it. */
const joined = (one: EndpointSlice, created: boolean, running: ZoneEvacuation[] = [accepted()]): EndpointSlice => {
  const decision = decideJoining(one, created, (subject) => joiningOf(running, subject));
  return decision.kind === 'patch' ? applyJsonPatch(one, decision.operations) : one;
};

describe('admission of a slice without a mark while a zone is evacuated', () => {
  const both = () => sliceOf(routed('a'), routed('b'), routed('c'));
  const hinted: (readonly [name: string, one: EndpointSlice, created: boolean, want: unknown])[] = [
    ['a new slice with others', both(), true, [[NOWHERE], ['a', 'b'], ['a', 'c']]],
    ['a new one without hints', sliceOf(at('a'), at('b')), true, [[NOWHERE], ZONES]],
    ['a new one that is all there, beside other slices', sliceOf(at('a')), true, [[NOWHERE]]],
    ['a known one that a Pod of the zone joins', both(), false, [[NOWHERE], ['a', 'b'], ['a', 'c']]],
  ];
  for (const [name, one, created, want] of hinted)
    it(`evacuates ${name}`, () => expect(hintsIn([joined(one, created)])).to.deep.equal(want));

  const alone = () => sliceOf(routed('a'));
  const untouched: (readonly [
    name: string,
    more: { created?: boolean; running?: ZoneEvacuation[] },
    one: EndpointSlice,
  ])[] = [
    ['a known one that has nothing else: its leader left it', {}, alone()],
    ['one whose others are not ready', {}, sliceOf(at('a'), at('b', { conditions: { ready: false } }))],
    ['one without endpoints there', {}, sliceOf(at('b'))],
    ['one that is all there where it was forced', { created: true, running: [accepted({ force: true })] }, alone()],
    ['one of a share: the leader chooses', { running: [accepted({ percent: 50 })] }, both()],
    ['one while the evacuation is not accepted', { running: [accepted({}, { conditions: [] })] }, both()],
    ['one out of scope', { running: [accepted({ serviceSelector: { matchLabels: { other: 'yes' } } })] }, both()],
    [
      'one whose namespace would have to be read',
      { running: [accepted({ namespaceSelector: { matchExpressions: [{ key: 'team', operator: 'Exists' }] } })] },
      both(),
    ],
    ['one of host names', {}, { ...both(), addressType: 'FQDN' }],
    ['one of no Service', {}, { ...both(), metadata: { namespace: 'shop', name: 'x' } }],
    [
      'one whose owner wrote the annotation',
      {},
      { ...both(), metadata: { ...both().metadata, annotations: { [ANNOTATION_EVACUATED]: '{' } } },
    ],
  ];
  for (const [name, { created = false, running }, one] of untouched)
    it(`leaves ${name}`, () => expect(joined(one, created, running)).to.equal(one));

  it('follows a selector of namespaces by name, and the labels that the controller copies from the Service', () => {
    const one = both();
    const { namespace = '', labels = {} } = one.metadata!;
    const byName = { matchLabels: { 'kubernetes.io/metadata.name': namespace } };
    expect(joined(one, false, [accepted({ namespaceSelector: byName })])).not.to.equal(one);
    expect(joined(one, false, [accepted({ serviceSelector: { matchLabels: labels } })])).not.to.equal(one);
  });

  it('agrees with the leader about every Service of one slice, and leaves every client an endpoint', () =>
    fc.assert(
      fc.property(serviceArbitrary, fc.boolean(), (generated, created) => {
        const [one] = built({ ...generated, cut: 0 });
        const stored = joined(one!, created);
        for (const zone of ZONES)
          if (usedFrom(zone, [one!]).length > 0) expect(usedFrom(zone, [stored]), `clients in ${zone}`).not.to.be.empty;
        const byLeader = moved([one!], [ALL]);
        if (decide([one!]).kind === 'moved') expect([stored]).to.deep.equal(byLeader);
        else if (!created) expect(stored).to.equal(one);
        const { decision } = decideInOrder({ slices: [stored], clientZones: ZONES, requests: [ALL] });
        expect(decision.kind, 'the leader sees the same Service behind the mark').to.equal(decide([one!]).kind);
      }),
    ));
});

// What of a slice is this project's: removed by `kubectl topology off`, while hints of other writers stay.
const having = (
  { labels = {}, annotations = {} }: { labels?: StringMap; annotations?: StringMap },
  ...endpoints: Endpoint[]
): EndpointSlice => {
  const one = sliceOf(...endpoints);
  return { ...one, metadata: { ...one.metadata, labels: { ...one.metadata?.labels, ...labels }, annotations } };
};

const waiting = (zone: string, hint: string): Endpoint =>
  at(zone, { conditions: { ready: false }, hints: hintsFor(hint) });

describe('what is removed from a slice when hints are switched off', () => {
  const labelled = (labels: StringMap, ...endpoints: Endpoint[]) => having({ labels }, ...endpoints);
  const evacuated = (one: EndpointSlice): EndpointSlice => moved([one], [ALL])[0] as EndpointSlice;
  const left = waiting('b', `${NOT_READY}b`);
  const plan = { [ANNOTATION_PLAN]: 'zones' };
  const planned = [routed('a', 'a', 'b'), routed('b')];
  const none = [undefined, undefined];
  const cases: (readonly [name: string, of: EndpointSlice, want: unknown[]])[] = [
    ['nothing of an unhinted slice', sliceOf(at('a'), at('b')), none],
    [
      "nothing of kube-controller-manager's",
      sliceOf(routed('a'), routed('b', 'b', 'c'), at('c')),
      [['a'], ['b', 'c'], undefined],
    ],
    ['same-zone hints', labelled({ [LABEL_STRATEGY]: 'same-zone' }, routed('a'), left), none],
    [
      'hints of an observed strategy are not ours',
      labelled({ [LABEL_STRATEGY]: 'observe-load-aware' }, routed('a'), routed('b')),
      [['a'], ['b']],
    ],
    ["hints by Gardener's label", labelled({ [LABEL_CONSIDER]: 'true' }, routed('a'), routed('b')), none],
    ['a plan, also where the label is gone', having({ annotations: plan }, ...planned), none],
    [
      'a plan without hints, and a resync',
      having({ annotations: { [ANNOTATION_PLAN]: 'spread', [ANNOTATION_TOUCHED]: 'then' } }, at('a')),
      [undefined],
    ],
    ['an evacuation of a slice without hints', evacuated(sliceOf(at('a'), at('b'))), none],
    [
      "an evacuation, and kube-controller-manager's hints come back",
      evacuated(sliceOf(routed('a'), routed('b'), routed('c'))),
      [['a'], ['b'], ['c']],
    ],
    [
      'an evacuation of a planned slice',
      evacuated(having({ labels: { [LABEL_STRATEGY]: 'load-aware' }, annotations: plan }, ...planned)),
      none,
    ],
    [
      'hints for no client without a mark that could be read',
      having({ annotations: { [ANNOTATION_EVACUATED]: '{' } }, routed('a', NOWHERE), left, routed('c')),
      [undefined, undefined, ['c']],
    ],
  ];
  for (const [name, before, want] of cases)
    it(name, () => {
      const after = applyJsonPatch(before, releaseOperations(before));
      expect(hintsIn([after])).to.deep.equal(want);
      const kept = Object.keys(after.metadata?.annotations ?? {});
      expect(kept.filter((key) => [ANNOTATION_EVACUATED, ANNOTATION_PLAN, ANNOTATION_TOUCHED].includes(key))).to.be
        .empty;
      expect(releaseOperations(after)).to.deep.equal([]);
    });
});
