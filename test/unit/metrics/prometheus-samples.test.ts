// Samples per Pod and per pair of zones: whose they are, when they were taken, and which contradict each other.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { createProblems, quoted } from '../../../pkg/metrics/prometheus-answer.ts';
import { type Answer, type VectorRow, readSamples } from '../../../pkg/metrics/prometheus.ts';
import { LoadError } from '../../../pkg/metrics/types.ts';
import { upTo } from '../../support/depth.ts';

const NOW = 1_800_000_000;

const row = (overrides: Partial<VectorRow>): VectorRow => ({
  namespace: undefined,
  pod: undefined,
  sourceZone: undefined,
  destinationZone: undefined,
  value: 1,
  at: NOW,
  ...overrides,
});

const ofPod = (pod: string, value = 1, more: Partial<VectorRow> = {}): VectorRow =>
  row({ namespace: 'shop', pod, value, ...more });

const ofPair = (sourceZone: string, destinationZone: string, value = 1): VectorRow =>
  row({ sourceZone, destinationZone, value });

const vector = (...rows: readonly VectorRow[]): Answer => ({
  rows,
  problems: [],
  askedAt: NOW - 0.1,
  answeredAt: NOW + 0.1,
});

const read = (of: Answer, pods: readonly string[] = ['a', 'b']) =>
  readSamples(of, { namespace: 'shop', service: 'web', pods: new Set(pods) }, 60);

describe('samples of a vector', () => {
  it('are of the Pods asked for; those of other Pods and namespaces are no mistake', () => {
    const given = vector(ofPod('a', 0.5), ofPod('b', 2), ofPod('other', 9), ofPod('a', 7, { namespace: 'prod' }));
    expect(read(given)).to.deep.equal({
      kind: 'pods',
      samples: [
        { pod: 'a', load: 0.5, sampledAt: NOW, window: 60 },
        { pod: 'b', load: 2, sampledAt: NOW, window: 60 },
      ],
      problems: [],
    });
  });

  it('are of pairs of zones where they name zones and no Pod', () => {
    const given = vector(ofPair('a', 'a', 3), ofPair('a', 'b', 1));
    expect(read(given)).to.deep.equal({
      kind: 'zone-pairs',
      samples: [
        { sourceZone: 'a', destinationZone: 'a', load: 3, sampledAt: NOW, window: 60 },
        { sourceZone: 'a', destinationZone: 'b', load: 1, sampledAt: NOW, window: 60 },
      ],
      problems: [],
    });
  });

  it('are not of Pods and of zones at once', () => {
    expect(() => read(vector(ofPod('a'), ofPair('a', 'b'))))
      .to.throw(LoadError, 'samples of Pods and of pairs of zones')
      .with.property('reason', 'BadQuery');
  });

  for (const [name, given, samples, problems] of [
    [
      'two of one Pod',
      vector(ofPod('a', 1), ofPod('a', 1), ofPod('b', 2)),
      ['b'],
      [
        '1 of 2 Pods without a sample, first of "a"',
        '1 sample left out: several of one Pod, which contradict each other (sum by Pod and namespace), of "a"',
      ],
    ],
    [
      'three of one Pod, counted once',
      vector(ofPod('a', 1), ofPod('a', 2), ofPod('a', 3), ofPod('b', 2)),
      ['b'],
      [
        '1 of 2 Pods without a sample, first of "a"',
        '1 sample left out: several of one Pod, which contradict each other (sum by Pod and namespace), of "a"',
      ],
    ],
    [
      'a Pod without namespace, which may be anybody’s',
      vector(row({ pod: 'a' }), ofPod('b')),
      ['b'],
      [
        '1 of 2 Pods without a sample, first of "a"',
        '1 sample left out: without the labels of a Pod and its namespace, of "a"',
      ],
    ],
    [
      'one without any label, as of a sum over everything',
      vector(row({}), ofPod('a'), ofPod('b')),
      ['a', 'b'],
      ['1 sample left out: without the labels of a Pod and its namespace'],
    ],
  ] as const) {
    it(`leave out ${name}`, () => {
      const reading = read(given);
      expect(reading.kind === 'pods' && reading.samples.map(({ pod }) => pod)).to.deep.equal(samples);
      expect(reading.problems).to.deep.equal(problems);
    });
  }

  describe('and time', () => {
    for (const [name, at, sampledAt, problems] of [
      ['clocks that agree', NOW, NOW, []],
      ['a clock that is a little ahead', NOW + 4, NOW + 0.1, []],
      ['a clock that is ahead', NOW + 60, NOW + 0.1, ['the clock of Prometheus is 60 s ahead of this one']],
      [
        'a clock that is behind: samples look old',
        NOW - 90,
        NOW - 90,
        ['the clock of Prometheus, or a cached answer, is 90 s behind'],
      ],
    ] as const) {
      it(`with ${name}`, () => {
        const reading = read(vector(ofPod('a', 1, { at })), ['a']);
        expect(reading.samples).to.deep.equal([{ pod: 'a', load: 1, sampledAt, window: 60 }]);
        expect(reading.problems).to.deep.equal(problems);
      });
    }
  });

  it('hold for any rows: one sample at most of each Pod asked for, none in the future, none of other Pods', () => {
    const name = fc.option(fc.constantFrom('a', 'b', 'c'), { nil: undefined });
    const namespace = fc.option(fc.constantFrom('shop', 'prod'), { nil: undefined });
    const rows = fc.array(
      fc.record({
        namespace,
        pod: name,
        sourceZone: name,
        destinationZone: name,
        value: fc.double({ min: 0, max: 1e9, noNaN: true }),
        at: fc.double({ min: NOW - 1_000, max: NOW + 1_000, noNaN: true }),
      }),
      { maxLength: 8 },
    );
    const check = (given: readonly VectorRow[]): void => {
      try {
        const reading = read(vector(...given));
        for (const { sampledAt } of reading.samples) expect(sampledAt).to.be.at.most(NOW + 0.1);
        if (reading.kind === 'zone-pairs') return;
        const pods = reading.samples.map(({ pod }) => pod);
        expect(new Set(pods).size).to.equal(pods.length);
        for (const { pod, load } of reading.samples) {
          const mine = given.filter((one) => one.namespace === 'shop' && one.pod === pod);
          expect(mine.map(({ value }) => value)).to.deep.equal([load]);
          expect(pod).to.be.oneOf(['a', 'b']);
        }
      } catch (error) {
        if (!(error instanceof LoadError)) throw error;
      }
    };
    fc.assert(fc.property(rows, check), { numRuns: upTo(5_000) });
  });
});

describe('problems of samples', () => {
  it('counts by kind and names the first', () => {
    const problems = createProblems();
    problems.count('NaN', 'a');
    problems.count('negative', 'b');
    problems.count('NaN', 'c');
    problems.count('no name');
    expect(problems.sentences()).to.deep.equal([
      '2 samples left out: NaN, first of "a"',
      '1 sample left out: negative, of "b"',
      '1 sample left out: no name',
    ]);
  });

  for (const [name, text, expected] of [
    ['a name', 'web-0', '"web-0"'],
    ['quotes and backslashes', 'a"b\\c', String.raw`"a\"b\\c"`],
    ['line breaks and escapes of a terminal', 'a\n\u001b[31mb\u2028c', '"a��[31mb�c"'],
    ['half a surrogate pair', 'a\ud800b', '"a�b"'],
    ['a long text', 'x'.repeat(1_000), `"${'x'.repeat(80)}…"`],
  ] as const) {
    it(`quotes ${name}`, () => {
      expect(quoted(text)).to.equal(expected);
    });
  }
});
