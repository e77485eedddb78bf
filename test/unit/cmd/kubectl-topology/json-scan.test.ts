// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { InputError } from '../../../../cmd/kubectl-topology/errors.ts';
import { locateInJson, positionIn, skipValue } from '../../../../cmd/kubectl-topology/input/json-scan.ts';
import { readJson } from '../../../../cmd/kubectl-topology/input/json.ts';
import { upTo } from '../../../support/depth.ts';

const take = (text: string): unknown[] => {
  const taken: unknown[] = [];
  readJson(Buffer.from(text), 'f', (object) => void taken.push(object));
  return taken;
};

/** Objects without a kind, so that nothing of them is a list. */
const anyObject = fc.dictionary(
  fc.string({ maxLength: 6 }).filter((key) => key !== 'kind' && key !== '__proto__'),
  fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.parse(JSON.stringify(value)) as unknown),
  { maxKeys: 5 },
);

describe('kubectl-topology: JSON in pieces', () => {
  it('hands over what JSON.parse would build, alone, in sequence, in a list', () => {
    fc.assert(
      fc.property(fc.array(anyObject, { minLength: 1, maxLength: 4 }), fc.constantFrom(0, 2), (objects, indent) => {
        const print = (value: unknown): string => JSON.stringify(value, null, indent);
        expect(take(objects.map(print).join('\n'))).to.deep.equal(objects);
        expect(take(print(objects))).to.deep.equal(objects);
        expect(take(print({ items: objects, kind: 'List', apiVersion: 'v1' }))).to.deep.equal(objects);
      }),
    );
  });

  it('never throws anything but an InputError with line and column, whatever the text', () => {
    const pieces = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"',
      '\\',
      '"a"',
      '1',
      ' ',
      '\n',
      'tru',
      'null',
      '"kind":"List"',
      '"items":[',
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 12 }), (parts) => {
        try {
          take(parts.join(''));
        } catch (error) {
          expect(error).to.be.instanceOf(InputError);
          expect((error as InputError).line).to.be.at.least(1);
        }
      }),
    );
  });

  it('accepts what JSON.parse accepts, and refuses what it refuses', () => {
    // No single braces: they could make it two documents, which only we accept.
    const pieces = fc.constantFrom('{"a":1}', '{}', '[', ']', ',', ':', '"a"', '1', ' ', 'null');
    fc.assert(
      fc.property(fc.array(pieces, { minLength: 1, maxLength: 8 }), (parts) => {
        const text = `{"x":${parts.join('')}}`;
        const accepted = (read: () => unknown): boolean => {
          try {
            read();
            return true;
          } catch {
            return false;
          }
        };
        expect(
          accepted(() => take(text)),
          text,
        ).to.equal(accepted(() => JSON.parse(text)));
      }),
      { numRuns: upTo(500) },
    );
  });

  it('ends a value where it ends', () => {
    const cases: readonly (readonly [string, number])[] = [
      ['{"a":"}"} x', 9],
      ['"a\\"b" x', 6],
      ['[[1],[2]],', 9],
      ['12,', 2],
      ['true', 4],
    ];
    for (const [text, end] of cases) expect(skipValue(Buffer.from(text), 0), text).to.equal(end);
  });

  it('finds fields, and the nearest parent of one that is missing', () => {
    const text = '{\n "a": [\n  {"b": "ü"},\n  {"b": 2}\n ]\n}';
    const at = (path: readonly (string | number)[]) =>
      positionIn(Buffer.from(text), locateInJson(Buffer.from(text), 0, path));
    expect(at(['a', 1, 'b'])).to.deep.equal({ line: 4, column: 9 });
    expect(at(['a', 0, 'b'])).to.deep.equal({ line: 3, column: 9 });
    expect(at(['a', 1, 'c'])).to.deep.equal({ line: 4, column: 3 });
    expect(at(['x'])).to.deep.equal({ line: 1, column: 1 });
    expect(at(['a', 7])).to.deep.equal({ line: 2, column: 7 });
  });

  it('gives items of typed lists the kind and version of the list', () => {
    expect(take('{"items":[{"a":1},{"kind":"X"}],"kind":"NodeList","apiVersion":"v1"}')).to.deep.equal([
      { apiVersion: 'v1', kind: 'Node', a: 1 },
      { kind: 'X' },
    ]);
    expect(take('{"kind":"NodeList","items":null}')).to.deep.equal([]);
  });
});
