import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { applyMergePatch, jsonPatchOf } from '../../../../pkg/webhook/routing-settings.ts';
import { applyJsonPatch } from '../../../fixtures/json-patch.ts';

const key = fc.constantFrom('a', 'b', 'a/b', 'm~n', '~1', '');
const leaf = fc.oneof(fc.constantFrom('x', 'y', 1, true), fc.array(fc.constantFrom(1, 2), { maxLength: 2 }));
const { tree } = fc.letrec<{ tree: Record<string, unknown> }>((tie) => ({
  tree: fc.dictionary(key, fc.oneof({ depthSize: 'small' }, leaf, tie('tree')), { maxKeys: 3 }),
}));
const { patch } = fc.letrec<{ patch: Record<string, unknown> }>((tie) => ({
  patch: fc.dictionary(key, fc.oneof({ depthSize: 'small' }, leaf, fc.constant(null), tie('patch')), { maxKeys: 3 }),
}));

describe('merge patches', () => {
  it('follow RFC 7386', () => {
    const target = { a: 'b', c: { d: 'e', f: 'g' }, keep: [1] };
    expect(applyMergePatch(target, { a: 'z', c: { f: null }, n: { x: null, y: 1 } })).to.deep.equal({
      a: 'z',
      c: { d: 'e' },
      keep: [1],
      n: { y: 1 },
    });
  });

  it('a member called __proto__ is a member', () => {
    const result = applyMergePatch(JSON.parse('{"__proto__":{"a":1}}'), JSON.parse('{"__proto__":{"b":2}}'));
    expect(JSON.stringify(result)).to.equal('{"__proto__":{"a":1,"b":2}}');
    expect(Object.hasOwn(Object.prototype, 'b')).to.equal(false);
  });

  it('escape keys and add missing parents as a whole', () => {
    expect(jsonPatchOf({ metadata: {} }, { metadata: { labels: { 'a/b~c': 'x' } } })).to.deep.equal([
      { op: 'add', path: '/metadata/labels', value: { 'a/b~c': 'x' } },
    ]);
    expect(jsonPatchOf({ l: {} }, { l: { 'a/b~c': 'x' } })).to.deep.equal([
      { op: 'add', path: '/l/a~1b~0c', value: 'x' },
    ]);
  });

  it('become a JSON Patch that applies and does the same, leaving empty parents out', () => {
    const pruned = (value: unknown): unknown =>
      typeof value === 'object' && value !== null && !Array.isArray(value)
        ? Object.fromEntries(
            Object.entries(value)
              .map(([name, one]) => [name, pruned(one)] as const)
              .filter(([, one]) => JSON.stringify(one) !== '{}'),
          )
        : value;
    fc.assert(
      fc.property(tree, patch, (target, merge) => {
        const patched = applyJsonPatch(target, jsonPatchOf(target, merge));
        expect(pruned(patched)).to.deep.equal(pruned(applyMergePatch(target, merge)));
      }),
    );
  });
});
