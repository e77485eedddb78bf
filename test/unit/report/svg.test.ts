// Pictures carry their figures as text and labels, and escape names of zones.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { heatMap, shareBar } from '../../../pkg/report/svg.ts';

const matrix = { 'eu-1a': { 'eu-1a': 0.4, 'eu-1b': 0.1 }, 'eu-1b': { 'eu-1a': 0, 'eu-1b': 0.5 } };

const matches = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map(([, found = '']) => found);

describe('report: heat map', () => {
  const { text } = heatMap(matrix);

  it('labels every cell with where from, where to, and how much', () => {
    expect(matches(text, /<g class="[^"]*" role="img" aria-label="([^"]*)"/g)).to.deep.equal([
      'From eu-1a to eu-1a: 40 % of all connections, in the zone',
      'From eu-1a to eu-1b: 10 % of all connections, crossing',
      'From eu-1b to eu-1a: 0 % of all connections, crossing',
      'From eu-1b to eu-1b: 50 % of all connections, in the zone',
    ]);
    expect(matches(text, />(\d+ %)<\/text/g)).to.deep.equal(['40 %', '10 %', '0 %', '50 %']);
  });

  it('says so where there are more zones than a picture holds', () => {
    const zones = Array.from({ length: 600 }, (_, index) => `z${index}`);
    const share = 1 / zones.length ** 2;
    const large = Object.fromEntries(zones.map((from) => [from, Object.fromEntries(zones.map((to) => [to, share]))]));
    expect(heatMap(large).text).to.equal(
      '<p>600 zones are too many for a picture; <code>-o json</code> holds all of them.</p>',
    );
  });

  it('colors by quarters of the largest cell, apart for what stays and what crosses', () => {
    expect(matches(text, /<g class="cell ([\w-]+)"/g)).to.deep.equal(['stay-4', 'cross-1', 'cross-0', 'stay-4']);
  });

  it('is as large as its zones and their names need', () => {
    const widthOf = (zone: string): number =>
      Number(/viewBox="0 0 (\d+) /.exec(heatMap({ [zone]: { [zone]: 1 } }).text)?.[1]);
    expect(widthOf('a-zone-with-a-long-name')).to.be.greaterThan(widthOf('a'));
    expect(widthOf('x'.repeat(200))).to.equal(widthOf('y'.repeat(25)));
  });

  it('names the place without zone, and escapes the others', () => {
    const hostile = heatMap({ '': { '<b>': 1 } }).text;
    expect(hostile).to.contain('From no zone to &lt;b&gt;: 100 %').and.not.to.contain('<b>');
  });

  it('of nothing is a sentence', () => {
    expect(heatMap({}).text).to.equal('<p>There are no connections between zones.</p>');
  });
});

describe('report: bar of shares', () => {
  it('sets parts beside each other and says what they are', () => {
    const { text } = shareBar([
      { kind: 'stays', label: 'stays', share: 0.25 },
      { kind: 'routing', label: 'could stay', share: 0.5 },
    ]);
    expect(matches(text, /aria-label="([^"]*)"/g)).to.deep.equal(['stays: 25 %; could stay: 50 %']);
    expect(matches(text, / x="([\d.]+)"/g)).to.deep.equal(['0', '250']);
    expect(matches(text, / width="([\d.]+)"/g)).to.deep.equal(['250', '500']);
  });
});
