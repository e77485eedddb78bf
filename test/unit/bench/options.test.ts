// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { replaceGenerated } from '../../bench/docs.ts';
import { parseOptions } from '../../bench/options.ts';
import { markdownTable } from '../../bench/table.ts';

describe('bench/options', () => {
  const all = ['webhook', 'reconciler', 'kubectl-topology'];
  const cases = [
    { args: [], benchmarks: all, quick: false, writeDocs: false },
    { args: ['all', '--quick'], benchmarks: all, quick: true, writeDocs: false },
    { args: ['webhook', '--write-docs'], benchmarks: ['webhook'], quick: false, writeDocs: true },
    { args: ['--quick', 'reconciler'], benchmarks: ['reconciler'], quick: true, writeDocs: false },
    { args: ['docs'], benchmarks: [], quick: false, writeDocs: true },
  ];
  for (const { args, ...options } of cases) {
    it(`takes ${JSON.stringify(args)}`, () => expect(parseOptions(args)).to.deep.equal({ kind: 'run', options }));
  }

  it('asks for help', () => expect(parseOptions(['webhook', '-h'])).to.deep.equal({ kind: 'help' }));

  const wrong = [
    { args: ['hooks'], message: 'there is no benchmark "hooks"' },
    { args: ['webhook', 'reconciler'], message: 'one benchmark at a time' },
    { args: ['--fast'], message: '--fast' },
    { args: ['--quick', '--write-docs'], message: 'not for the docs' },
  ];
  for (const { args, message } of wrong) {
    it(`refuses ${JSON.stringify(args)}`, () => {
      const parsed = parseOptions(args);
      expect(parsed.kind).to.equal('wrong');
      expect(parsed).to.have.property('message').that.includes(message);
    });
  }
});

describe('bench/docs', () => {
  const document = 'a\n<!-- begin generated: x -->\nold\n<!-- end generated: x -->\nb\n';

  it('replaces what is between the markers and nothing else', () => {
    const expected = 'a\n<!-- begin generated: x -->\n\nnew\n\n<!-- end generated: x -->\nb\n';
    expect(replaceGenerated(document, 'x', 'new\n')).to.equal(expected);
    expect(replaceGenerated(expected, 'x', 'new')).to.equal(expected);
  });

  it('takes text with replacement patterns literally', () => {
    expect(replaceGenerated(document, 'x', "$& $' $1")).to.include("$& $' $1");
  });

  it('refuses a document without the markers, or with them the wrong way round', () => {
    expect(() => replaceGenerated(document, 'y', 'new')).to.throw('lacks the markers');
    expect(() => replaceGenerated('<!-- end generated: x --><!-- begin generated: x -->', 'x', '')).to.throw('lacks');
  });
});

describe('bench/table', () => {
  it('aligns figures to the right and text to the left', () => {
    expect(markdownTable(['a', 'b', 'c'], [['x', 'y', '1']])).to.equal(
      '| a | b | c |\n| --- | --- | ---: |\n| x | y | 1 |',
    );
  });
});
