// Hints of one slice without a plan, and slices that are not served.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { Endpoint } from '../../../pkg/apis/core.ts';
import { ANNOTATION_PLAN, LABEL_CONSIDER, LABEL_STRATEGY } from '../../../pkg/apis/names.ts';
import { decideHints } from '../../../pkg/hints/decide.ts';
import { endpoint } from '../../fixtures/core.ts';
import { hintsAfter, inputOf, nodes, sliceOf, strategy, withHints, zoneless, zones } from './support.ts';

const consider = { [LABEL_CONSIDER]: 'true' };

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
});

describe('decideHints otherwise', () => {
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
