import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { OUTCOMES } from '../../../pkg/traffic/hints.ts';
import { WINDOW_MS, createProofWindow, verdictOf } from '../../../pkg/traffic/proof.ts';
import type { OutcomeCounts, Verdict } from '../../../pkg/traffic/proof.ts';

const nodes = (counts: Readonly<Record<string, OutcomeCounts>>): ReadonlyMap<string, OutcomeCounts> =>
  new Map(Object.entries(counts));

describe('proof: the verdict about a Service', () => {
  const cases: (readonly [name: string, given: Readonly<Record<string, OutcomeCounts>>, wanted: Partial<Verdict>])[] = [
    [
      'all connections of two Nodes were honored',
      { n1: { Honored: 10 }, n2: { Honored: 1 } },
      { status: 'True', reason: 'Honored', message: 'New connections of 2 Nodes follow the hints.' },
    ],
    [
      'one Node of two ignores hints',
      { n1: { Honored: 10 }, n2: { Honored: 5, Ignored: 10 } },
      {
        status: 'False',
        reason: 'HintsIgnored',
        nodes: ['n2'],
        message: 'New connections went to endpoints that are not hinted for their zone: n2 10 of 15.',
      },
    ],
    [
      'two connections may have raced a change',
      { n1: { Honored: 10, Ignored: 2 } },
      { status: 'True', reason: 'Honored' },
    ],
    [
      'a few of very many may be anything',
      { n1: { Honored: 1_000, Ignored: 10 } },
      { status: 'True', reason: 'Honored' },
    ],
    ['a hint is missing', { n1: { Incomplete: 4 } }, { status: 'False', reason: 'HintsIncomplete', nodes: ['n1'] }],
    [
      'a Node of endpoints was relabelled',
      { n1: { Honored: 4, Misplaced: 4 } },
      { status: 'False', reason: 'EndpointMisplaced' },
    ],
    [
      'a client goes around the proxy',
      { n1: { Bypassed: 3 }, n2: { Honored: 3 } },
      { status: 'False', reason: 'ProxyBypassed', nodes: ['n1'] },
    ],
    [
      'a zone without endpoints of its own is no fault',
      { n1: { Honored: 3 }, n3: { Uncovered: 50 } },
      { status: 'True', reason: 'Honored' },
    ],
    ['there are no hints', { n1: { Unhinted: 9 } }, { status: 'Unknown', reason: 'NoHints' }],
    ['there was no traffic', {}, { status: 'Unknown', reason: 'NoTraffic' }],
  ];
  for (const [name, given, wanted] of cases) {
    it(`${wanted.status} ${wanted.reason}: ${name}`, () => {
      expect(verdictOf(nodes(given))).to.deep.include(wanted);
    });
  }

  it('names five Nodes, and how many more', () => {
    const given = Object.fromEntries(Array.from({ length: 7 }, (_, index) => [`n${index}`, { Ignored: 3 }]));
    const { message, nodes: faulty } = verdictOf(nodes(given));
    expect(message).to.contain('n4 3 of 3 and 2 more Nodes.');
    expect(faulty).to.have.lengthOf(7);
  });

  const counts = fc.dictionary(fc.constantFrom(...OUTCOMES), fc.nat({ max: 50 })) as fc.Arbitrary<OutcomeCounts>;
  const many = fc.dictionary(fc.constantFrom('n1', 'n2', 'n3', 'n4'), counts);

  it('one more Node that honors hints never makes it False', () => {
    fc.assert(
      fc.property(many, fc.integer({ min: 1, max: 100 }), (given, honored) => {
        const before = verdictOf(nodes(given));
        const after = verdictOf(nodes({ ...given, n9: { Honored: honored } }));
        expect(after.status).to.equal(before.status === 'False' ? 'False' : 'True');
      }),
    );
  });

  it('is False only with Nodes at fault, each with three connections or more', () => {
    fc.assert(
      fc.property(many, (given) => {
        const { status, nodes: faulty } = verdictOf(nodes(given));
        expect(status === 'False').to.equal(faulty.length > 0);
        for (const node of faulty) {
          const { Ignored = 0, Incomplete = 0, Misplaced = 0, Bypassed = 0 } = given[node] ?? {};
          expect(Math.max(Ignored, Incomplete, Misplaced, Bypassed)).to.be.at.least(3);
        }
      }),
    );
  });
});

describe('proof: the window', () => {
  const reading = (counts: OutcomeCounts, node = 'n1') => new Map([[node, new Map([['s/w', counts]])]]);
  const honoredOf = (window: ReturnType<typeof createProofWindow>): number | undefined =>
    window.evidence().get('s/w')?.get('n1')?.Honored;

  it('holds what grew between readings, and not what a meter counted before it was first read', () => {
    const window = createProofWindow();
    window.add(0, reading({ Honored: 100 }));
    expect(honoredOf(window)).to.equal(undefined);
    window.add(10_000, reading({ Honored: 103 }));
    window.add(20_000, reading({ Honored: 104, Ignored: 2 }));
    expect(window.evidence().get('s/w')?.get('n1')).to.deep.equal({ Honored: 4, Ignored: 2 });
  });

  it('forgets what is older than a minute', () => {
    const window = createProofWindow();
    window.add(0, reading({}));
    window.add(1, reading({ Honored: 5 }));
    window.add(WINDOW_MS, reading({ Honored: 6 }));
    expect(honoredOf(window)).to.equal(6);
    window.add(WINDOW_MS + 1, reading({ Honored: 6 }));
    expect(honoredOf(window)).to.equal(1);
  });

  it('counts all of a meter that began anew', () => {
    const window = createProofWindow();
    window.add(0, reading({ Honored: 100 }));
    window.add(1, reading({ Honored: 7 }));
    expect(honoredOf(window)).to.equal(7);
  });

  it('a meter that is away for a reading is compared with its last one', () => {
    const window = createProofWindow();
    window.add(0, reading({ Honored: 1 }));
    window.add(1, new Map());
    window.add(2, reading({ Honored: 4 }));
    expect(honoredOf(window)).to.equal(3);
  });
});
