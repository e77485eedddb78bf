// Hints of one slice without a plan, and slices that are not served.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { Endpoint } from '../../../pkg/apis/core.ts';
import { ANNOTATION_PLAN, LABEL_CONSIDER, LABEL_STRATEGY } from '../../../pkg/apis/names.ts';
import { decideHints } from '../../../pkg/hints/decide.ts';
import { endpoint } from '../../fixtures/core.ts';
import { hintsAfter, inputOf, nodes, sliceOf, strategy, withHints, zoneless, zones } from './support.ts';

/** An endpoint without hints. */
const bare = (zone: string, more: Partial<Endpoint> = {}): Endpoint => withHints(zone, undefined, more);
const [SAME_ZONE, SAME_NODE] = [strategy('same-zone'), strategy('same-node')];
const consider = { [LABEL_CONSIDER]: 'true' };

const { nodeName: _nodeName, ...nodeless } = endpoint({ zone: 'a' });

describe('decideHints', () => {
  describe('without a plan', () => {
    const cases: (readonly [
      name: string,
      labels: Record<string, string>,
      endpoints: Endpoint[],
      want: unknown[],
      nodeHints?: boolean,
    ])[] = [
      [
        'no label: untouched, with and without hints',
        {},
        [bare('a'), withHints('b', zones('c'))],
        [undefined, zones('c')],
      ],
      ['consider: own zone', consider, [bare('a'), bare('b')], [zones('a'), zones('b')]],
      ['consider with another value: untouched', { [LABEL_CONSIDER]: 'True' }, [bare('a')], [undefined]],
      ['same-zone: own zone replaces other hints', SAME_ZONE, [withHints('a', zones('b', 'c'))], [zones('a')]],
      ['same-zone: forNodes is dropped', SAME_ZONE, [withHints('a', { ...zones('a'), ...nodes('n') })], [zones('a')]],
      [
        'same-zone: unknown fields of hints are dropped',
        SAME_ZONE,
        [withHints('a', { ...zones('a'), forRacks: [] })],
        [zones('a')],
      ],
      [
        'same-zone: no zone keeps what it has',
        SAME_ZONE,
        [{ ...zoneless }, { ...zoneless, hints: zones('b') }],
        [undefined, zones('b')],
      ],
      ['same-zone: an empty zone is no zone', SAME_ZONE, [bare('')], [undefined]],
      [
        'same-zone: a zone that the API refuses as a hint is no zone',
        SAME_ZONE,
        [bare('z'.repeat(64)), bare('a b'), bare('-a')],
        [undefined, undefined, undefined],
      ],
      ['same-zone: 63 characters are a zone', SAME_ZONE, [bare('z'.repeat(63))], [zones('z'.repeat(63))]],
      [
        'same-node: own zone and own node',
        SAME_NODE,
        [bare('a', { nodeName: 'n1.example' })],
        [{ ...zones('a'), ...nodes('n1.example') }],
      ],
      ['same-node: no zone still names the node', SAME_NODE, [{ ...zoneless, nodeName: 'n1' }], [nodes('n1')]],
      ['same-node: no node still names the zone', SAME_NODE, [nodeless], [zones('a')]],
      [
        'same-node: a node name that the API refuses is none',
        SAME_NODE,
        [bare('a', { nodeName: 'Not_A_Node' })],
        [zones('a')],
      ],
      ['same-node before 1.33: own zone only', SAME_NODE, [bare('a')], [zones('a')], false],
      [
        'both labels: the strategy wins over consider',
        { ...consider, ...SAME_NODE },
        [bare('a', { nodeName: 'n1' })],
        [{ ...zones('a'), ...nodes('n1') }],
      ],
      ['an unknown strategy asks for nothing', strategy('fastest'), [bare('a')], [undefined]],
      [
        'an unknown strategy leaves consider standing',
        { ...consider, ...strategy('fastest') },
        [bare('a')],
        [zones('a')],
      ],
      ['the name of a member of every object is no strategy', strategy('__proto__'), [bare('a')], [undefined]],
    ];
    for (const [name, labels, endpoints, want, nodeHints = true] of cases)
      it(name, () => expect(hintsAfter(inputOf(sliceOf(endpoints, labels), { nodeHints }))).to.deep.equal(want));

    it('the mark of a spread plan does not concern same-zone', () => {
      const object = sliceOf([bare('a')], SAME_ZONE, { [ANNOTATION_PLAN]: 'spread' });
      expect(hintsAfter(inputOf(object))).to.deep.equal([zones('a')]);
    });

    it('the old object is not looked at: a label that is gone leaves the hints of the writer', () => {
      const oldObject = sliceOf([withHints('a', zones('a'))], SAME_ZONE);
      expect(hintsAfter(inputOf(sliceOf([bare('a')]), { oldObject }))).to.deep.equal([undefined]);
    });
  });
});

describe('decideHints otherwise', () => {
  describe('already right: no patch', () => {
    const right = [
      ['same-zone', sliceOf([withHints('a', zones('a'))], SAME_ZONE)],
      ['same-zone, empty forNodes', sliceOf([withHints('a', { ...zones('a'), forNodes: [] })], consider)],
      ['same-node', sliceOf([withHints('a', { ...zones('a'), ...nodes('n') }, { nodeName: 'n' })], SAME_NODE)],
      ['no endpoints', sliceOf([], consider)],
      ['endpoints null', sliceOf(null, consider)],
    ] as const;
    for (const [name, object] of right)
      it(name, () => expect(decideHints(inputOf(object))).to.deep.equal({ kind: 'unchanged' }));
  });

  it('patches only the endpoints that need it, with add', () => {
    const object = sliceOf([withHints('a', zones('a')), withHints('b', zones('a')), bare('c')], consider);
    expect(decideHints(inputOf(object))).to.deep.equal({
      kind: 'patch',
      operations: [
        { op: 'add', path: '/endpoints/1/hints', value: zones('b') },
        { op: 'add', path: '/endpoints/2/hints', value: zones('c') },
      ],
    });
  });

  describe('hostile objects are named and not served', () => {
    const cases: (readonly [name: string, object: unknown, message: RegExp])[] = [
      ['no object', undefined, /^object is not/],
      ['a list', [], /^object is not/],
      ['metadata a string', { metadata: 'x' }, /^metadata is not/],
      ['labels a list', { metadata: { labels: [] } }, /^metadata\.labels is not/],
      ['strategy a number', { metadata: { labels: { [LABEL_STRATEGY]: 1 } } }, /strategy\] is not a string/],
      ['annotations a number', { metadata: { labels: consider, annotations: 5 } }, /^metadata\.annotations/],
      ['endpoints an object', { metadata: { labels: consider }, endpoints: {} }, /^endpoints is not a list/],
      ['endpoint null', sliceOf([null as unknown as Endpoint], consider), /^endpoints\[0\] is not an object/],
      ['no addresses', sliceOf([{ zone: 'a' } as Endpoint], consider), /^endpoints\[0\] has no list of addresses/],
      [
        'address a number',
        sliceOf([endpoint({ addresses: [7 as unknown as string] })], consider),
        /address that is not a string/,
      ],
      [
        'zone an object',
        sliceOf([endpoint(), { ...endpoint(), zone: {} as string }], consider),
        /^endpoints\[1\] has a zone that is not/,
      ],
      [
        'nodeName a number',
        sliceOf([endpoint({ nodeName: 1 as unknown as string })], consider),
        /nodeName that is not/,
      ],
      [
        'targetRef a string',
        sliceOf([endpoint({ targetRef: 'x' as unknown as object })], consider),
        /targetRef that is not/,
      ],
      [
        'targetRef.uid a number',
        sliceOf([endpoint({ targetRef: { uid: 5 as unknown as string } })], consider),
        /targetRef\.uid that is not/,
      ],
      ['hints a list', sliceOf([endpoint({ hints: [] as unknown as object })], consider), /hints that are not/],
    ];
    for (const [name, object, message] of cases) {
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
      const object = sliceOf([bare('a')], strategy('load-aware'));
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
      ])
        expect(hintsAfter(inputOf(object, { oldObject }))).to.deep.equal([zones('a')]);
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
