import { expect } from 'chai';
import { describe, it } from 'mocha';
import { LineCounter, parseDocument } from 'yaml';
import { locate, locateKey, renderPath } from '../../../../pkg/apis/config/load.ts';

const parse = (text: string) => {
  const lines = new LineCounter();
  return { lines, document: parseDocument(text, { lineCounter: lines }) };
};

describe('positions of fields', () => {
  const paths = [
    { name: 'plain words', path: ['a', 'b'], text: 'a.b' },
    { name: 'indexes', path: ['a', 2, 'b'], text: 'a[2].b' },
    { name: 'keys that are no words', path: ['a', 'x/y'], text: 'a["x/y"]' },
    { name: 'nothing', path: [], text: '' },
  ];
  for (const { name, path, text } of paths) {
    it(`renders ${name}`, () => expect(renderPath(path)).to.equal(text));
  }

  const text = 'a:\n  b: [1, {c: 2}]\n  d:\n';
  const places = [
    { name: 'a value', path: ['a', 'b'], line: 2, column: 6 },
    { name: 'an item of a list', path: ['a', 'b', '0'], line: 2, column: 7 },
    { name: 'a field in a list', path: ['a', 'b', '1', 'c'], line: 2, column: 14 },
    { name: 'the parent of a field that is not there', path: ['a', 'x'], line: 2, column: 3 },
    { name: 'the document for a wholly unknown path', path: ['x', 'y'], line: 1, column: 1 },
  ];
  for (const { name, path, line, column } of places) {
    it(`finds ${name}`, () => {
      const { document, lines } = parse(text);
      expect(locate(document, lines, path)).to.include({ line, column });
    });
  }

  it('finds the key of a field, or its parent', () => {
    const { document, lines } = parse(text);
    expect(locateKey(document, lines, ['a'], 'd')).to.deep.equal({ line: 3, column: 3 });
    expect(locateKey(document, lines, ['a'], 'nope')).to.deep.equal({ line: 2, column: 3 });
  });
});
