// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import type { Endpoint, EndpointHints, EndpointSlice } from '../../../pkg/apis/core.ts';
import { ANNOTATION_PLAN, LABEL_CONSIDER, LABEL_STRATEGY } from '../../../pkg/apis/names.ts';
import { decideHints } from '../../../pkg/hints/decide.ts';
import { isNodeName, isZoneName } from '../../../pkg/hints/names.ts';
import type { HintsInput } from '../../../pkg/hints/types.ts';
import { endpoint, slice } from '../../fixtures/core.ts';
import { applyJsonPatch } from '../../fixtures/json-patch.ts';

const CONTROLLER = 'system:serviceaccount:kube-system:endpointslice-controller';
const PLANNER = 'system:serviceaccount:garden:flow-controller';

const inputOf = (object: unknown, more: Partial<HintsInput> = {}): HintsInput => ({
  object,
  userName: CONTROLLER,
  flowControllerUsers: new Set([PLANNER]),
  plannerAlive: true,
  nodeHints: true,
  ...more,
});

const letters = (text: string): string[] => text.split('');
const zones = (...names: string[]) => ({ forZones: names.map((name) => ({ name })) });
const nodes = (...names: string[]) => ({ forNodes: names.map((name) => ({ name })) });
const withHints = (zone: string, hints: object | undefined, more: Partial<Endpoint> = {}): Endpoint =>
  endpoint({ zone, ...(hints === undefined ? {} : { hints }), ...more });

const sliceOf = (
  endpoints: Endpoint[] | null,
  labels: Record<string, string> = {},
  annotations: Record<string, string> = {},
): EndpointSlice => slice({ endpoints, metadata: { labels, annotations } });

const strategy = (name: string) => ({ [LABEL_STRATEGY]: name });
const consider = { [LABEL_CONSIDER]: 'true' };

/** Hints after admission, one entry an endpoint. */
const hintsAfter = (input: HintsInput): unknown[] => {
  const decision = decideHints(input);
  expect(decision.kind, JSON.stringify(decision)).to.be.oneOf(['patch', 'unchanged']);
  const operations = decision.kind === 'patch' ? decision.operations : [];
  return (applyJsonPatch(input.object as EndpointSlice, operations).endpoints ?? []).map(({ hints }) => hints);
};

const { zone: _zone, ...zoneless } = endpoint();
const { nodeName: _nodeName, ...nodeless } = endpoint({ zone: 'a' });

describe('decideHints', () => {
  describe('without a plan', () => {
    const cases: {
      name: string;
      labels: Record<string, string>;
      endpoints: Endpoint[];
      want: unknown[];
      nodeHints?: boolean;
    }[] = [
      {
        name: 'no label: untouched, with and without hints',
        labels: {},
        endpoints: [withHints('a', undefined), withHints('b', zones('c'))],
        want: [undefined, zones('c')],
      },
      {
        name: 'consider: own zone',
        labels: consider,
        endpoints: [withHints('a', undefined), withHints('b', undefined)],
        want: [zones('a'), zones('b')],
      },
      {
        name: 'consider with another value: untouched',
        labels: { [LABEL_CONSIDER]: 'True' },
        endpoints: [withHints('a', undefined)],
        want: [undefined],
      },
      {
        name: 'same-zone: own zone replaces other hints',
        labels: strategy('same-zone'),
        endpoints: [withHints('a', zones('b', 'c'))],
        want: [zones('a')],
      },
      {
        name: 'same-zone: forNodes is dropped',
        labels: strategy('same-zone'),
        endpoints: [withHints('a', { ...zones('a'), ...nodes('n') })],
        want: [zones('a')],
      },
      {
        name: 'same-zone: unknown fields of hints are dropped',
        labels: strategy('same-zone'),
        endpoints: [withHints('a', { ...zones('a'), forRacks: [] })],
        want: [zones('a')],
      },
      {
        name: 'same-zone: ready or not does not matter',
        labels: strategy('same-zone'),
        endpoints: [withHints('a', undefined, { conditions: { ready: false } })],
        want: [zones('a')],
      },
      {
        name: 'same-zone: no zone keeps what it has',
        labels: strategy('same-zone'),
        endpoints: [{ ...zoneless }, { ...zoneless, hints: zones('b') }],
        want: [undefined, zones('b')],
      },
      {
        name: 'same-zone: an empty zone is no zone',
        labels: strategy('same-zone'),
        endpoints: [withHints('', undefined)],
        want: [undefined],
      },
      {
        name: 'same-zone: a zone that the API refuses as a hint is no zone',
        labels: strategy('same-zone'),
        endpoints: [withHints('z'.repeat(64), undefined), withHints('a b', undefined), withHints('-a', undefined)],
        want: [undefined, undefined, undefined],
      },
      {
        name: 'same-zone: 63 characters are a zone',
        labels: strategy('same-zone'),
        endpoints: [withHints('z'.repeat(63), undefined)],
        want: [zones('z'.repeat(63))],
      },
      {
        name: 'same-node: own zone and own node',
        labels: strategy('same-node'),
        endpoints: [withHints('a', undefined, { nodeName: 'n1.example' })],
        want: [{ ...zones('a'), ...nodes('n1.example') }],
      },
      {
        name: 'same-node: no zone still names the node',
        labels: strategy('same-node'),
        endpoints: [{ ...zoneless, nodeName: 'n1' }],
        want: [nodes('n1')],
      },
      {
        name: 'same-node: no node still names the zone',
        labels: strategy('same-node'),
        endpoints: [nodeless],
        want: [zones('a')],
      },
      {
        name: 'same-node: a node name that the API refuses is none',
        labels: strategy('same-node'),
        endpoints: [withHints('a', undefined, { nodeName: 'Not_A_Node' })],
        want: [zones('a')],
      },
      {
        name: 'same-node before 1.33: own zone only',
        labels: strategy('same-node'),
        endpoints: [withHints('a', undefined)],
        want: [zones('a')],
        nodeHints: false,
      },
      {
        name: 'both labels: the strategy wins over consider',
        labels: { ...consider, ...strategy('same-node') },
        endpoints: [withHints('a', undefined, { nodeName: 'n1' })],
        want: [{ ...zones('a'), ...nodes('n1') }],
      },
      {
        name: 'a strategy that nobody knows asks for nothing',
        labels: strategy('fastest'),
        endpoints: [withHints('a', undefined)],
        want: [undefined],
      },
      {
        name: 'a strategy that nobody knows leaves consider standing',
        labels: { ...consider, ...strategy('fastest') },
        endpoints: [withHints('a', undefined)],
        want: [zones('a')],
      },
      {
        name: 'the name of a member of every object is no strategy',
        labels: strategy('__proto__'),
        endpoints: [withHints('a', undefined)],
        want: [undefined],
      },
    ];
    for (const { name, labels, endpoints, want, nodeHints = true } of cases) {
      it(name, () => expect(hintsAfter(inputOf(sliceOf(endpoints, labels), { nodeHints }))).to.deep.equal(want));
    }

    it('the mark of a spread plan does not concern same-zone', () => {
      const object = sliceOf([withHints('a', undefined)], strategy('same-zone'), { [ANNOTATION_PLAN]: 'spread' });
      expect(hintsAfter(inputOf(object))).to.deep.equal([zones('a')]);
    });

    it('the old object is not looked at: a label that is gone leaves the hints of the writer', () => {
      const oldObject = sliceOf([withHints('a', zones('a'))], strategy('same-zone'));
      expect(hintsAfter(inputOf(sliceOf([withHints('a', undefined)]), { oldObject }))).to.deep.equal([undefined]);
    });
  });

  for (const planned of ['proportional', 'load-aware']) {
    describe(planned, () => {
      const labels = strategy(planned);
      const keepsNodes = planned === 'load-aware';
      const uid = (value: string) => ({ targetRef: { kind: 'Pod', name: 'p', uid: value } });
      const stored = withHints('b', zones('a', 'b'), uid('u1'));
      const cases: {
        name: string;
        old?: Endpoint[] | null;
        oldLabels?: Record<string, string>;
        next: Endpoint[];
        want: unknown[];
      }[] = [
        {
          name: 'a stripped endpoint keeps its plan',
          old: [stored],
          next: [withHints('b', undefined, uid('u1'))],
          want: [zones('a', 'b')],
        },
        {
          name: 'hints of another writer are replaced by the plan',
          old: [stored],
          next: [withHints('b', zones('c'), uid('u1'))],
          want: [zones('a', 'b')],
        },
        { name: 'no old object: own zone', next: [withHints('b', undefined)], want: [zones('b')] },
        { name: 'old endpoints null: own zone', old: null, next: [withHints('b', undefined)], want: [zones('b')] },
        {
          name: 'another address: own zone',
          old: [stored],
          next: [withHints('b', undefined, { ...uid('u1'), addresses: ['198.18.0.99'] })],
          want: [zones('b')],
        },
        {
          name: 'another Pod at the address: own zone',
          old: [stored],
          next: [withHints('b', undefined, uid('u2'))],
          want: [zones('b')],
        },
        { name: 'UID gone: own zone', old: [stored], next: [withHints('b', undefined)], want: [zones('b')] },
        {
          name: 'UID absent on both sides counts as equal',
          old: [withHints('b', zones('a', 'b'))],
          next: [withHints('b', undefined)],
          want: [zones('a', 'b')],
        },
        {
          name: 'another zone: own zone',
          old: [stored],
          next: [withHints('c', undefined, uid('u1'))],
          want: [zones('c')],
        },
        {
          name: 'unhinted before: own zone',
          old: [withHints('b', undefined, uid('u1'))],
          next: [withHints('b', undefined, uid('u1'))],
          want: [zones('b')],
        },
        {
          name: 'old slice with another strategy: own zone',
          old: [stored],
          oldLabels: strategy('same-zone'),
          next: [withHints('b', undefined, uid('u1'))],
          want: [zones('b')],
        },
        {
          name: 'old slice without a strategy: own zone',
          old: [stored],
          oldLabels: {},
          next: [withHints('b', undefined, uid('u1'))],
          want: [zones('b')],
        },
        {
          name: `forNodes is ${keepsNodes ? 'kept' : 'dropped'}`,
          old: [withHints('b', { ...zones('a'), ...nodes('n') }, uid('u1'))],
          next: [withHints('b', { ...zones('a'), ...nodes('n') }, uid('u1'))],
          want: [{ ...zones('a'), ...(keepsNodes ? nodes('n') : {}) }],
        },
        {
          name: `a stripped endpoint ${keepsNodes ? 'keeps its Nodes' : 'gets no Nodes'}`,
          old: [
            withHints('b', { ...zones('a'), ...nodes('n', 'm') }, uid('u1')),
            withHints('c', zones('c'), uid('u2')),
          ],
          next: [withHints('b', undefined, uid('u1')), withHints('c', undefined, uid('u2'))],
          want: [{ ...zones('a'), ...(keepsNodes ? nodes('n', 'm') : {}) }, zones('c')],
        },
        {
          name: 'Nodes without zones are no plan',
          old: [withHints('b', nodes('n'), uid('u1'))],
          next: [withHints('b', nodes('n'), uid('u1'))],
          want: [zones('b')],
        },
        {
          name: 'Nodes that were not stored are not taken over',
          old: [withHints('b', zones('a'), uid('u1'))],
          next: [withHints('b', { ...zones('a'), ...nodes('n') }, uid('u1'))],
          want: [zones('a')],
        },
        {
          name: 'more than eight zones are no plan',
          old: [withHints('b', zones(...letters('abcdefghi')), uid('u1'))],
          next: [withHints('b', undefined, uid('u1'))],
          want: [zones('b')],
        },
        {
          name: 'eight zones are a plan',
          old: [withHints('b', zones(...letters('abcdefgh')), uid('u1'))],
          next: [withHints('b', undefined, uid('u1'))],
          want: [zones(...letters('abcdefgh'))],
        },
        {
          name: 'a zone twice is no plan',
          old: [withHints('b', zones('a', 'a'), uid('u1'))],
          next: [withHints('b', undefined, uid('u1'))],
          want: [zones('b')],
        },
        {
          name: 'an empty zone name is no plan',
          old: [withHints('b', zones(''), uid('u1'))],
          next: [withHints('b', undefined, uid('u1'))],
          want: [zones('b')],
        },
        {
          name: 'one identity with two plans is no plan',
          old: [stored, withHints('b', zones('c'), uid('u1'))],
          next: [withHints('b', undefined, uid('u1'))],
          want: [zones('b')],
        },
        {
          name: 'one identity with one plan twice is a plan',
          old: [stored, stored],
          next: [withHints('b', undefined, uid('u1'))],
          want: [zones('a', 'b')],
        },
        {
          name: 'an endpoint without zone is untouched',
          old: [{ ...zoneless, hints: zones('a') }],
          next: [{ ...zoneless }, { ...zoneless, hints: zones('c') }],
          want: [undefined, zones('c')],
        },
        {
          name: 'a zone called ambiguous is a zone',
          old: [withHints('b', zones('ambiguous'), uid('u1'))],
          next: [withHints('b', undefined, uid('u1'))],
          want: [zones('ambiguous')],
        },
      ];
      for (const { name, old, oldLabels = labels, next, want } of cases) {
        it(name, () => {
          const oldObject = old === undefined ? undefined : sliceOf(old, oldLabels);
          expect(hintsAfter(inputOf(sliceOf(next, labels), { oldObject }))).to.deep.equal(want);
        });
      }

      it('passes what the flow controller writes', () => {
        const object = sliceOf([withHints('a', zones('b', 'c')), withHints('b', undefined)], labels);
        expect(decideHints(inputOf(object, { userName: PLANNER }))).to.deep.equal({ kind: 'unchanged' });
      });

      it('passes the flow controller even while its Lease looks dead', () => {
        const object = sliceOf([withHints('a', zones('b'))], labels);
        expect(decideHints(inputOf(object, { userName: PLANNER, plannerAlive: false })).kind).to.equal('unchanged');
      });

      it('removes hints while the slice carries the mark of a spread plan', () => {
        const object = sliceOf([withHints('a', zones('a')), withHints('b', undefined)], labels, {
          [ANNOTATION_PLAN]: 'spread',
        });
        const decision = decideHints(inputOf(object, { oldObject: object }));
        expect(decision).to.deep.equal({ kind: 'patch', operations: [{ op: 'remove', path: '/endpoints/0/hints' }] });
      });

      it('another value of the mark is no mark', () => {
        const object = sliceOf([withHints('a', undefined)], labels, { [ANNOTATION_PLAN]: 'Spread' });
        expect(hintsAfter(inputOf(object))).to.deep.equal([zones('a')]);
      });

      it('carries nothing over and hints nothing once the planner is dead', () => {
        const object = sliceOf([withHints('a', zones('a', 'b')), withHints('b', undefined)], labels);
        expect(hintsAfter(inputOf(object, { oldObject: object, plannerAlive: false }))).to.deep.equal([
          undefined,
          undefined,
        ]);
      });
    });
  }

  describe('already right: no patch', () => {
    const right = [
      { name: 'same-zone', object: sliceOf([withHints('a', zones('a'))], strategy('same-zone')) },
      {
        name: 'same-zone, empty forNodes',
        object: sliceOf([withHints('a', { ...zones('a'), forNodes: [] })], consider),
      },
      {
        name: 'same-node',
        object: sliceOf([withHints('a', { ...zones('a'), ...nodes('n') }, { nodeName: 'n' })], strategy('same-node')),
      },
      { name: 'no endpoints', object: sliceOf([], consider) },
      { name: 'endpoints null', object: sliceOf(null, consider) },
    ];
    for (const { name, object } of right) {
      it(name, () => expect(decideHints(inputOf(object))).to.deep.equal({ kind: 'unchanged' }));
    }
  });

  it('patches only the endpoints that need it, with add', () => {
    const object = sliceOf(
      [withHints('a', zones('a')), withHints('b', zones('a')), withHints('c', undefined)],
      consider,
    );
    expect(decideHints(inputOf(object))).to.deep.equal({
      kind: 'patch',
      operations: [
        { op: 'add', path: '/endpoints/1/hints', value: zones('b') },
        { op: 'add', path: '/endpoints/2/hints', value: zones('c') },
      ],
    });
  });

  describe('hostile objects are named and not served', () => {
    const cases: { name: string; object: unknown; message: RegExp }[] = [
      { name: 'no object', object: undefined, message: /^object is not/ },
      { name: 'a list', object: [], message: /^object is not/ },
      { name: 'metadata a string', object: { metadata: 'x' }, message: /^metadata is not/ },
      { name: 'labels a list', object: { metadata: { labels: [] } }, message: /^metadata\.labels is not/ },
      {
        name: 'strategy a number',
        object: { metadata: { labels: { [LABEL_STRATEGY]: 1 } } },
        message: /strategy\] is not a string/,
      },
      {
        name: 'annotations a number',
        object: { metadata: { labels: consider, annotations: 5 } },
        message: /^metadata\.annotations/,
      },
      {
        name: 'endpoints an object',
        object: { metadata: { labels: consider }, endpoints: {} },
        message: /^endpoints is not a list/,
      },
      {
        name: 'endpoint null',
        object: sliceOf([null as unknown as Endpoint], consider),
        message: /^endpoints\[0\] is not an object/,
      },
      {
        name: 'no addresses',
        object: sliceOf([{ zone: 'a' } as Endpoint], consider),
        message: /^endpoints\[0\] has no list of addresses/,
      },
      {
        name: 'address a number',
        object: sliceOf([endpoint({ addresses: [7 as unknown as string] })], consider),
        message: /address that is not a string/,
      },
      {
        name: 'zone an object',
        object: sliceOf([endpoint(), { ...endpoint(), zone: {} as string }], consider),
        message: /^endpoints\[1\] has a zone that is not/,
      },
      {
        name: 'nodeName a number',
        object: sliceOf([endpoint({ nodeName: 1 as unknown as string })], consider),
        message: /nodeName that is not/,
      },
      {
        name: 'targetRef a string',
        object: sliceOf([endpoint({ targetRef: 'x' as unknown as object })], consider),
        message: /targetRef that is not/,
      },
      {
        name: 'targetRef.uid a number',
        object: sliceOf([endpoint({ targetRef: { uid: 5 as unknown as string } })], consider),
        message: /targetRef\.uid that is not/,
      },
      {
        name: 'hints a list',
        object: sliceOf([endpoint({ hints: [] as unknown as object })], consider),
        message: /hints that are not/,
      },
    ];
    for (const { name, object, message } of cases) {
      it(name, () => {
        const decision = decideHints(inputOf(object));
        expect(decision.kind).to.equal('invalid');
        expect(decision.kind === 'invalid' && decision.message).to.match(message);
      });
    }

    it('own members called __proto__ change nothing', () => {
      const object: unknown = JSON.parse(
        `{"metadata":{"labels":{"${LABEL_STRATEGY}":"same-zone","__proto__":"x"}},"endpoints":[{"addresses":["1.2.3.4"],"__proto__":{"zone":"evil"}}]}`,
      );
      expect(decideHints(inputOf(object))).to.deep.equal({ kind: 'unchanged' });
      expect(({} as Record<string, unknown>)['zone']).to.equal(undefined);
    });

    it('a hostile old object carries nothing over', () => {
      const object = sliceOf([withHints('a', undefined)], strategy('load-aware'));
      for (const oldObject of [
        null,
        5,
        [],
        { metadata: 5 },
        {
          metadata: { labels: strategy('load-aware') },
          endpoints: [
            null,
            { addresses: 5 },
            { addresses: ['198.18.0.10'], zone: 'a', hints: { forZones: [null, 5] } },
          ],
        },
      ]) {
        expect(hintsAfter(inputOf(object, { oldObject }))).to.deep.equal([zones('a')]);
      }
    });
  });

  it('is linear: 10,000 endpoints with one and the same address', () => {
    const same = Array.from({ length: 10_000 }, () => withHints('a', zones('b')));
    const object = sliceOf(
      same.map(({ hints: _hints, ...rest }) => rest),
      strategy('load-aware'),
    );
    const decision = decideHints(inputOf(object, { oldObject: sliceOf(same, strategy('load-aware')) }));
    expect(decision.kind === 'patch' && decision.operations.length).to.equal(10_000);
  });
});

const zoneName = fc.constantFrom('a', 'b', 'c', 'eu-1a', '', 'x'.repeat(64), 'not valid', 'é');
const hints = fc.option(
  fc.record(
    {
      forZones: fc.array(fc.record({ name: zoneName }), { maxLength: 9 }),
      forNodes: fc.array(fc.record({ name: fc.constantFrom('n1', 'n2') }), { maxLength: 2 }),
    },
    { requiredKeys: [] },
  ),
  { nil: undefined },
);
const anyEndpoint = fc.record(
  {
    addresses: fc.constantFrom('10.0.0.1', '10.0.0.2', '10.0.0.3').map((address) => [address]),
    zone: zoneName,
    nodeName: fc.constantFrom('n1', 'n2', 'Bad_Node'),
    targetRef: fc.record({ uid: fc.constantFrom('u1', 'u2') }, { requiredKeys: [] }),
    hints,
  },
  { requiredKeys: ['addresses'] },
);
const labelSet = fc.record(
  {
    [LABEL_STRATEGY]: fc.constantFrom('same-zone', 'same-node', 'proportional', 'load-aware', 'other'),
    [LABEL_CONSIDER]: fc.constantFrom('true', 'false'),
  },
  { requiredKeys: [] },
);
const anySlice = fc
  .tuple(
    fc.array(anyEndpoint, { maxLength: 6 }),
    labelSet,
    fc.constantFrom<Record<string, string>>({}, { [ANNOTATION_PLAN]: 'spread' }),
  )
  .map(
    ([endpoints, labels, annotations]) =>
      JSON.parse(JSON.stringify({ metadata: { labels, annotations }, endpoints })) as EndpointSlice,
  );
const anyInput = fc
  .record({
    object: anySlice,
    oldObject: fc.option(anySlice, { nil: undefined }),
    userName: fc.constantFrom(CONTROLLER, PLANNER),
    plannerAlive: fc.boolean(),
    nodeHints: fc.boolean(),
  })
  .map(({ object, ...more }) => inputOf(object, more));

const stripHints = (object: EndpointSlice): unknown => ({
  ...object,
  endpoints: object.endpoints?.map(({ hints: _hints, ...rest }) => rest),
});

const after = (input: HintsInput): EndpointSlice => {
  const decision = decideHints(input);
  return applyJsonPatch(input.object as EndpointSlice, decision.kind === 'patch' ? decision.operations : []);
};

describe('decideHints, whatever the slice', () => {
  it('is done after one turn: the patched slice needs no patch', () => {
    fc.assert(
      fc.property(anyInput, (input) => {
        const object = after(input);
        expect(decideHints({ ...input, object })).to.deep.equal({ kind: 'unchanged' });
      }),
    );
  });

  it('once stored, a stripped slice comes back as it was', () => {
    fc.assert(
      fc.property(anySlice, (object) => {
        const stored = after(inputOf(object));
        const again = after(inputOf(stripHints(stored), { oldObject: stored }));
        // No Node and an empty list of Nodes are the same hint; the API server stores neither.
        const named = ({ forZones, forNodes = [] }: EndpointHints) => ({
          forZones,
          ...(forNodes.length > 0 ? { forNodes } : {}),
        });
        const written = (one: EndpointSlice) =>
          one.endpoints?.map(({ zone, hints: carried }) => (isZoneName(zone) && carried ? named(carried) : undefined));
        const asks = ['same-zone', 'same-node', 'proportional', 'load-aware'].includes(
          object.metadata?.labels?.[LABEL_STRATEGY] ?? '',
        );
        if (asks) expect(written(again)).to.deep.equal(written(stored));
      }),
    );
  });

  it('changes nothing but hints', () => {
    fc.assert(
      fc.property(anyInput, (input) => {
        expect(stripHints(after(input))).to.deep.equal(stripHints(input.object as EndpointSlice));
      }),
    );
  });

  it('decides on every endpoint alone: order does not matter', () => {
    fc.assert(
      fc.property(anyInput, (input) => {
        const object = input.object as EndpointSlice;
        const reversed = { ...object, endpoints: [...(object.endpoints ?? [])].reverse() };
        const oldObject = input.oldObject as EndpointSlice | undefined;
        const oldReversed = oldObject && { ...oldObject, endpoints: [...(oldObject.endpoints ?? [])].reverse() };
        const mirrored = after({ ...input, object: reversed, oldObject: oldReversed }).endpoints ?? [];
        expect([...mirrored].reverse()).to.deep.equal(after(input).endpoints ?? []);
      }),
    );
  });

  it('writes only hints that the API accepts', () => {
    fc.assert(
      fc.property(anyInput, (input) => {
        const decision = decideHints(input);
        for (const operation of decision.kind === 'patch' ? decision.operations : []) {
          if (operation.op === 'remove') continue;
          const { forZones = [], forNodes = [] } = operation.value as NonNullable<Endpoint['hints']>;
          expect(forZones.length).to.be.at.most(8);
          expect(new Set(forZones.map(({ name }) => name)).size).to.equal(forZones.length);
          expect(
            forZones.every(({ name }) => isZoneName(name)) && forNodes.every(({ name }) => isNodeName(name)),
          ).to.equal(true);
          expect(forZones.length + forNodes.length).to.be.above(0);
        }
      }),
    );
  });

  it('never mutates what it is given', () => {
    fc.assert(
      fc.property(anyInput, (input) => {
        const before = structuredClone({ object: input.object, oldObject: input.oldObject });
        decideHints(input);
        expect({ object: input.object, oldObject: input.oldObject }).to.deep.equal(before);
      }),
    );
  });

  it('never throws, whatever JSON it is given', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), labelSet, (endpoints, oldObject, labels) => {
        const decision = decideHints(inputOf({ metadata: { labels }, endpoints }, { oldObject }));
        expect(decision.kind).to.be.oneOf(['unchanged', 'patch', 'invalid']);
      }),
    );
  });
});
