// The sandbox's JSON Patch and merge patch against the examples and rules of their RFCs.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { applyJsonPatch, applyMergePatch, decodeJsonPatch, PatchError } from '../../sandbox/patch-json.ts';

const failure = (run: () => unknown): PatchError => {
  try {
    run();
  } catch (error) {
    if (error instanceof PatchError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
};

describe('applyJsonPatch', () => {
  for (const { name, target, patch, expected } of [
    { name: 'adds a member', target: { a: 1 }, patch: [{ op: 'add', path: '/b', value: 2 }], expected: { a: 1, b: 2 } },
    {
      name: 'replaces an existing member by add',
      target: { a: 1 },
      patch: [{ op: 'add', path: '/a', value: 2 }],
      expected: { a: 2 },
    },
    {
      name: 'inserts into a list',
      target: { a: [1, 3] },
      patch: [{ op: 'add', path: '/a/1', value: 2 }],
      expected: { a: [1, 2, 3] },
    },
    {
      name: 'appends with a dash',
      target: { a: [1] },
      patch: [{ op: 'add', path: '/a/-', value: 2 }],
      expected: { a: [1, 2] },
    },
    {
      name: 'appends at the length',
      target: { a: [1] },
      patch: [{ op: 'add', path: '/a/1', value: 2 }],
      expected: { a: [1, 2] },
    },
    {
      name: 'unescapes keys',
      target: { 'a/b': 1, '~': 2 },
      patch: [
        { op: 'remove', path: '/a~1b' },
        { op: 'replace', path: '/~0', value: 3 },
      ],
      expected: { '~': 3 },
    },
    { name: 'removes from a list', target: [1, 2, 3], patch: [{ op: 'remove', path: '/1' }], expected: [1, 3] },
    {
      name: 'moves',
      target: { a: { b: 1 } },
      patch: [{ op: 'move', from: '/a/b', path: '/c' }],
      expected: { a: {}, c: 1 },
    },
    {
      name: 'copies deeply',
      target: { a: { b: 1 } },
      patch: [
        { op: 'copy', from: '/a', path: '/c' },
        { op: 'replace', path: '/c/b', value: 2 },
      ],
      expected: { a: { b: 1 }, c: { b: 2 } },
    },
    {
      name: 'replaces the whole',
      target: { a: 1 },
      patch: [{ op: 'replace', path: '', value: { b: 2 } }],
      expected: { b: 2 },
    },
    {
      name: 'tests deeply',
      target: { a: { b: [1] } },
      patch: [{ op: 'test', path: '/a', value: { b: [1] } }],
      expected: { a: { b: [1] } },
    },
    {
      name: 'takes a missing member as null in a test',
      target: { a: 1 },
      patch: [{ op: 'test', path: '/b', value: null }],
      expected: { a: 1 },
    },
    {
      name: 'adds the key __proto__ as data',
      target: {},
      patch: [{ op: 'add', path: '/__proto__', value: 1 }],
      expected: JSON.parse('{"__proto__":1}') as unknown,
    },
  ]) {
    it(name, () => {
      const before = structuredClone(target);
      expect(applyJsonPatch(target, decodeJsonPatch(patch))).to.deep.equal(expected);
      expect(target).to.deep.equal(before);
    });
  }

  for (const { name, target, patch } of [
    { name: 'adding below what is missing', target: {}, patch: [{ op: 'add', path: '/a/b', value: 1 }] },
    { name: 'adding beyond the end', target: [1], patch: [{ op: 'add', path: '/2', value: 1 }] },
    { name: 'a list index with a leading zero', target: [1, 2], patch: [{ op: 'remove', path: '/01' }] },
    { name: 'removing what is missing', target: {}, patch: [{ op: 'remove', path: '/a' }] },
    { name: 'replacing what is missing', target: {}, patch: [{ op: 'replace', path: '/a', value: 1 }] },
    { name: 'a test that fails', target: { a: 1 }, patch: [{ op: 'test', path: '/a', value: 2 }] },
    { name: 'moving what is missing', target: {}, patch: [{ op: 'move', from: '/a', path: '/b' }] },
    { name: 'an unknown operation', target: {}, patch: [{ op: 'merge', path: '/a' }] },
    { name: 'a member of Object.prototype', target: {}, patch: [{ op: 'remove', path: '/toString' }] },
  ]) {
    it(`refuses ${name} and changes nothing`, () => {
      const before = structuredClone(target);
      expect(failure(() => applyJsonPatch(target, decodeJsonPatch(patch))).kind).to.equal('inapplicable');
      expect(target).to.deep.equal(before);
    });
  }

  for (const { name, patch } of [
    { name: 'an object', patch: {} },
    { name: 'a string in the list', patch: ['add'] },
    { name: 'an operation without path', patch: [{ op: 'add' }] },
    { name: 'a path without a slash', patch: [{ op: 'remove', path: 'a' }] },
  ]) {
    it(`does not decode ${name}`, () => {
      expect(failure(() => decodeJsonPatch(patch)).kind).to.equal('undecodable');
    });
  }
});

describe('applyMergePatch', () => {
  for (const { target, patch, expected } of [
    { target: { a: 'b' }, patch: { a: 'c' }, expected: { a: 'c' } },
    { target: { a: 'b' }, patch: { b: 'c' }, expected: { a: 'b', b: 'c' } },
    { target: { a: 'b' }, patch: { a: null }, expected: {} },
    { target: { a: ['b'] }, patch: { a: 'c' }, expected: { a: 'c' } },
    { target: { a: { b: 'c' } }, patch: { a: { b: 'd', c: null } }, expected: { a: { b: 'd' } } },
    { target: { a: [{ b: 'c' }] }, patch: { a: [1] }, expected: { a: [1] } },
    { target: { e: null }, patch: { a: 1 }, expected: { e: null, a: 1 } },
    { target: [1, 2], patch: { a: 'b', c: null }, expected: { a: 'b' } },
    { target: {}, patch: { a: { bb: { ccc: null } } }, expected: { a: { bb: {} } } },
  ]) {
    it(`${JSON.stringify(target)} and ${JSON.stringify(patch)} make ${JSON.stringify(expected)}`, () => {
      expect(applyMergePatch(target, patch)).to.deep.equal(expected);
    });
  }

  it('gives the patch itself where nothing is null, and a second time changes nothing', () => {
    const leaf = fc.oneof(fc.integer(), fc.string(), fc.boolean());
    const tree = fc.dictionary(fc.string(), fc.oneof(leaf, fc.dictionary(fc.string(), leaf)));
    fc.assert(
      fc.property(tree, tree, (target, patch) => {
        const once = applyMergePatch(target, patch);
        expect(applyMergePatch(once, patch)).to.deep.equal(once);
        expect(applyMergePatch({}, patch)).to.deep.equal(applyMergePatch(patch, {}));
      }),
    );
  });
});
