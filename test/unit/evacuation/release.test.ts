// What of a slice is this project's: removed by `kubectl topology off`, while hints of other writers stay.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { Endpoint, EndpointSlice } from '../../../pkg/apis/core.ts';
import {
  ANNOTATION_EVACUATED,
  ANNOTATION_PLAN,
  ANNOTATION_TOUCHED,
  LABEL_CONSIDER,
  LABEL_STRATEGY,
  NOT_READY,
  NOWHERE,
} from '../../../pkg/apis/names.ts';
import type { StringMap } from '../../../pkg/apis/meta.ts';
import { releaseOperations } from '../../../pkg/evacuation/admit.ts';
import { applyJsonPatch } from '../../fixtures/json-patch.ts';
import { at, hintsFor, hintsIn, moved, routed, sliceOf } from './support.ts';

const having = (
  { labels = {}, annotations = {} }: { labels?: StringMap; annotations?: StringMap },
  ...endpoints: Endpoint[]
): EndpointSlice => {
  const one = sliceOf(...endpoints);
  return { ...one, metadata: { ...one.metadata, labels: { ...one.metadata?.labels, ...labels }, annotations } };
};

const waiting = (zone: string, hint: string): Endpoint =>
  at(zone, { conditions: { ready: false }, hints: hintsFor(hint) });

describe('what is removed from a slice when hints are switched off', () => {
  const cases: (readonly [name: string, slice: () => EndpointSlice, want: unknown[]])[] = [
    ['nothing of an unhinted slice', () => sliceOf(at('a'), at('b')), [undefined, undefined]],
    [
      "nothing of kube-controller-manager's",
      () => sliceOf(routed('a'), routed('b', 'b', 'c'), at('c')),
      [['a'], ['b', 'c'], undefined],
    ],
    [
      'same-zone hints',
      () => having({ labels: { [LABEL_STRATEGY]: 'same-zone' } }, routed('a'), waiting('b', `${NOT_READY}b`)),
      [undefined, undefined],
    ],
    [
      'hints of an observed strategy are not ours',
      () => having({ labels: { [LABEL_STRATEGY]: 'observe-load-aware' } }, routed('a'), routed('b')),
      [['a'], ['b']],
    ],
    [
      "hints by Gardener's label",
      () => having({ labels: { [LABEL_CONSIDER]: 'true' } }, routed('a'), routed('b')),
      [undefined, undefined],
    ],
    [
      'a plan, also where the label is gone',
      () => having({ annotations: { [ANNOTATION_PLAN]: 'zones' } }, routed('a', 'a', 'b'), routed('b')),
      [undefined, undefined],
    ],
    [
      'a plan without hints, and a resync',
      () => having({ annotations: { [ANNOTATION_PLAN]: 'spread', [ANNOTATION_TOUCHED]: 'then' } }, at('a')),
      [undefined],
    ],
    [
      'an evacuation of a slice without hints',
      () => moved([sliceOf(at('a'), at('b'))], [{ zone: 'a', percent: 100, rounding: 'Up' }])[0] as EndpointSlice,
      [undefined, undefined],
    ],
    [
      "an evacuation, and kube-controller-manager's hints come back",
      () =>
        moved(
          [sliceOf(routed('a'), routed('b'), routed('c'))],
          [{ zone: 'a', percent: 100, rounding: 'Up' }],
        )[0] as EndpointSlice,
      [['a'], ['b'], ['c']],
    ],
    [
      'an evacuation of a planned slice',
      () => {
        const planned = having(
          { labels: { [LABEL_STRATEGY]: 'load-aware' }, annotations: { [ANNOTATION_PLAN]: 'zones' } },
          routed('a', 'a', 'b'),
          routed('b'),
        );
        return moved([planned], [{ zone: 'a', percent: 100, rounding: 'Up' }])[0] as EndpointSlice;
      },
      [undefined, undefined],
    ],
    [
      'hints for no client without a mark that could be read',
      () =>
        having(
          { annotations: { [ANNOTATION_EVACUATED]: '{' } },
          routed('a', NOWHERE),
          waiting('b', `${NOT_READY}b`),
          routed('c'),
        ),
      [undefined, undefined, ['c']],
    ],
  ];
  for (const [name, slice, want] of cases)
    it(name, () => {
      const before = slice();
      const after = applyJsonPatch(before, releaseOperations(before));
      expect(hintsIn([after])).to.deep.equal(want);
      const left = Object.keys(after.metadata?.annotations ?? {});
      expect(left.filter((key) => [ANNOTATION_EVACUATED, ANNOTATION_PLAN, ANNOTATION_TOUCHED].includes(key))).to.be
        .empty;
      expect(releaseOperations(after)).to.deep.equal([]);
    });
});
