// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import {
  ANNOTATION_TOPOLOGY_AWARE_HINTS,
  ANNOTATION_TOPOLOGY_MODE,
  LABEL_CONSIDER,
  LABEL_STRATEGY,
} from '../../../pkg/apis/names.ts';
import { formatApplied, parseApplied } from '../../../pkg/routing/applied.ts';
import { isCanonicalApplied } from '../../../pkg/routing/canonical-applied.ts';
import { HOSTILE_APPLIED } from '../../fixtures/settings-cases.ts';
import { upTo } from '../../support/depth.ts';

const value = fc.constantFrom('true', 'auto', 'Auto', 'same-zone', 'example.com/x', 'PreferSameZone', 'A_b.c-1');
const map = (...keys: string[]) =>
  fc.dictionary(fc.constantFrom(...keys), value, { maxKeys: keys.length, noNullPrototype: true });
const record = fc.record(
  {
    labels: map(LABEL_CONSIDER, LABEL_STRATEGY),
    annotations: map(ANNOTATION_TOPOLOGY_AWARE_HINTS, ANNOTATION_TOPOLOGY_MODE),
    trafficDistribution: value,
    removedAnnotations: map(ANNOTATION_TOPOLOGY_AWARE_HINTS, ANNOTATION_TOPOLOGY_MODE),
  },
  { requiredKeys: [] },
);

describe('the one form of applied', () => {
  it('is what formatApplied writes, whatever it writes', () => {
    fc.assert(
      fc.property(record, (one) => {
        const text = formatApplied(one);
        if (text !== undefined) expect(isCanonicalApplied(text), text).to.equal(true);
      }),
    );
  });

  it('is nothing else: whatever has it comes back as it was', () => {
    const pieces = [
      '{',
      '}',
      ',',
      '"labels":{',
      '"annotations":{',
      '"trafficDistribution":"x"',
      '"removedAnnotations":{',
    ];
    const members = [`"${LABEL_CONSIDER}":"true"`, `"${ANNOTATION_TOPOLOGY_MODE}":"auto"`, '},', ' ', '\n', '"'];
    const text = fc.array(fc.constantFrom(...pieces, ...members), { maxLength: 8 }).map((all) => all.join(''));
    fc.assert(
      fc.property(text, (one) => {
        const again = formatApplied(parseApplied(one).record);
        expect(isCanonicalApplied(one), one).to.equal(again === one);
      }),
      { numRuns: upTo(5_000) },
    );
  });

  for (const text of HOSTILE_APPLIED) {
    it(`is not ${JSON.stringify(text.slice(0, 100))}`, () => {
      expect(isCanonicalApplied(text)).to.equal(false);
    });
  }
});
