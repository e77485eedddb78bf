import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import type { JsonPatchOperation } from '../../../pkg/apis/admission.ts';
import { patchText } from '../../../pkg/hints/decide.ts';

const shared = { forZones: [{ name: 'a' }] };
const operation: fc.Arbitrary<JsonPatchOperation> = fc.oneof(
  fc.record({ op: fc.constant('remove' as const), path: fc.string({ unit: 'binary' }) }),
  fc.record({
    op: fc.constantFrom('add' as const, 'replace' as const),
    path: fc.string({ unit: 'binary' }),
    value: fc.oneof(fc.constant(shared), fc.jsonValue()),
  }),
);

describe('patchText', () => {
  it('prints what JSON.stringify prints', () => {
    const operations: JsonPatchOperation[] = [
      { op: 'add', path: '/endpoints/0/hints', value: shared },
      { op: 'add', path: '/endpoints/1/hints', value: shared },
      { op: 'remove', path: '/endpoints/2/hints' },
    ];
    expect(patchText(operations)).to.equal(JSON.stringify(operations));
  });

  it('prints an empty list', () => expect(patchText([])).to.equal('[]'));

  it('reads back as what was printed, whatever the operations', () => {
    fc.assert(
      fc.property(fc.array(operation), (operations) => {
        expect(JSON.parse(patchText(operations))).to.deep.equal(JSON.parse(JSON.stringify(operations)));
      }),
    );
  });
});
