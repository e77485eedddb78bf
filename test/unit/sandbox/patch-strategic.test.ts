// The sandbox's strategic merge patch, by the directives that kubectl writes.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { applyStrategicMergePatch } from '../../sandbox/patch-strategic.ts';

describe('applyStrategicMergePatch', () => {
  for (const { name, target, patch, expected } of [
    {
      name: 'merges Service ports by port',
      target: { ports: [{ port: 80, name: 'a' }, { port: 81 }] },
      patch: { ports: [{ port: 80, name: 'b' }, { port: 82 }] },
      expected: { ports: [{ port: 80, name: 'b' }, { port: 81 }, { port: 82 }] },
    },
    {
      name: 'merges container ports by containerPort',
      target: { ports: [{ containerPort: 80, name: 'a' }] },
      patch: { ports: [{ containerPort: 80, protocol: 'TCP' }] },
      expected: { ports: [{ containerPort: 80, name: 'a', protocol: 'TCP' }] },
    },
    {
      name: 'deletes an item by its key',
      target: { ports: [{ port: 80 }, { port: 81 }] },
      patch: { ports: [{ $patch: 'delete', port: 80 }] },
      expected: { ports: [{ port: 81 }] },
    },
    {
      name: 'ignores the order of elements',
      target: { conditions: [{ type: 'Ready', status: 'False' }] },
      patch: { '$setElementOrder/conditions': [{ type: 'Ready' }], conditions: [{ type: 'Ready', status: 'True' }] },
      expected: { conditions: [{ type: 'Ready', status: 'True' }] },
    },
    {
      name: 'replaces a map',
      target: { selector: { a: 'b' } },
      patch: { selector: { $patch: 'replace', c: 'd' } },
      expected: { selector: { c: 'd' } },
    },
    {
      name: 'replaces a list',
      target: { ports: [{ port: 80 }] },
      patch: { ports: [{ $patch: 'replace' }, { port: 81 }] },
      expected: { ports: [{ port: 81 }] },
    },
    {
      name: 'replaces lists without a key',
      target: { externalIPs: ['a'] },
      patch: { externalIPs: ['b'] },
      expected: { externalIPs: ['b'] },
    },
    {
      name: 'merges finalizers as a set',
      target: { finalizers: ['a'] },
      patch: { finalizers: ['b', 'a'] },
      expected: { finalizers: ['a', 'b'] },
    },
    {
      name: 'removes from a set',
      target: { finalizers: ['a', 'b'] },
      patch: { '$deleteFromPrimitiveList/finalizers': ['a'] },
      expected: { finalizers: ['b'] },
    },
    {
      name: 'removes by null',
      target: { labels: { a: '1', b: '2' } },
      patch: { labels: { a: null } },
      expected: { labels: { b: '2' } },
    },
    {
      name: 'retains keys only',
      target: { strategy: { type: 'A', rolling: {} } },
      patch: { strategy: { $retainKeys: ['type'], type: 'B' } },
      expected: { strategy: { type: 'B' } },
    },
  ]) {
    it(name, () => {
      const before = structuredClone(target);
      expect(applyStrategicMergePatch(target, patch)).to.deep.equal(expected);
      expect(target).to.deep.equal(before);
    });
  }
});
