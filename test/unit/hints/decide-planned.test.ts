// Hints of a slice with a plan: what admission keeps of it.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { Endpoint } from '../../../pkg/apis/core.ts';
import { ANNOTATION_PLAN } from '../../../pkg/apis/names.ts';
import { decideHints } from '../../../pkg/hints/decide.ts';
import { letters } from '../../fixtures/admission-cases.ts';
import { PLANNER, hintsAfter, inputOf, nodes, sliceOf, strategy, withHints, zoneless, zones } from './support.ts';

describe('decideHints with a plan', () => {
  for (const strategyName of ['proportional', 'load-aware']) {
    describe(strategyName, () => {
      const labels = strategy(strategyName);
      const uid = (value: string) => ({ targetRef: { kind: 'Pod', name: 'p', uid: value } });
      /** The endpoint as it may be stored: with hints of a plan. */
      const planned = (hints: object | undefined) => withHints('b', hints, uid('u1'));
      const [KEPT, OWN] = [zones('a', 'b'), zones('b')];
      const stored = planned(KEPT);
      const stripped = planned(undefined);
      const withoutPod = withHints('b', undefined);
      const eight = zones(...letters('abcdefgh'));
      const withNode = { ...zones('a'), ...nodes('n') };
      interface Case {
        readonly name: string;
        readonly old?: Endpoint[] | null;
        readonly oldLabels?: Record<string, string>;
        readonly next?: Endpoint;
        readonly want?: object;
      }
      const cases: readonly Case[] = [
        { name: 'a stripped endpoint keeps its plan', old: [stored], want: KEPT },
        {
          name: 'hints of another writer are replaced by the plan',
          old: [stored],
          next: planned(zones('c')),
          want: KEPT,
        },
        { name: 'no old object: own zone' },
        { name: 'old endpoints null: own zone', old: null },
        { name: 'another address: own zone', old: [stored], next: { ...stripped, addresses: ['198.18.0.99'] } },
        { name: 'another Pod at the address: own zone', old: [stored], next: withHints('b', undefined, uid('u2')) },
        { name: 'UID gone: own zone', old: [stored], next: withoutPod },
        { name: 'UID absent on both sides counts as equal', old: [withHints('b', KEPT)], next: withoutPod, want: KEPT },
        { name: 'another zone: own zone', old: [stored], next: { ...stripped, zone: 'c' }, want: zones('c') },
        { name: 'unhinted before: own zone', old: [stripped] },
        { name: 'old slice with another strategy: own zone', old: [stored], oldLabels: strategy('same-zone') },
        { name: 'old slice without a strategy: own zone', old: [stored], oldLabels: {} },
        { name: 'forNodes is dropped', old: [planned(withNode)], next: planned(withNode), want: zones('a') },
        { name: 'a stripped endpoint gets no Nodes', old: [planned(withNode)], want: zones('a') },
        { name: 'Nodes without zones are no plan', old: [planned(nodes('n'))], next: planned(nodes('n')) },
        {
          name: 'Nodes that were not stored are not taken over',
          old: [planned(zones('a'))],
          next: planned(withNode),
          want: zones('a'),
        },
        { name: 'more than eight zones are no plan', old: [planned(zones(...letters('abcdefghi')))] },
        { name: 'eight zones are a plan', old: [planned(eight)], want: eight },
        { name: 'a zone twice is no plan', old: [planned(zones('a', 'a'))] },
        { name: 'an empty zone name is no plan', old: [planned(zones(''))] },
        { name: 'one identity with two plans is no plan', old: [stored, planned(zones('c'))] },
        { name: 'one identity with one plan twice is a plan', old: [stored, stored], want: KEPT },
        { name: 'a zone called ambiguous is a zone', old: [planned(zones('ambiguous'))], want: zones('ambiguous') },
      ];
      for (const { name, old, oldLabels = labels, next = stripped, want = OWN } of cases) {
        it(name, () => {
          const oldObject = old === undefined ? undefined : sliceOf(old, oldLabels);
          expect(hintsAfter(inputOf(sliceOf([next], labels), { oldObject }))).to.deep.equal([want]);
        });
      }

      it('an endpoint without zone is untouched', () => {
        const oldObject = sliceOf([{ ...zoneless, hints: zones('a') }], labels);
        const next = sliceOf([{ ...zoneless }, { ...zoneless, hints: zones('c') }], labels);
        expect(hintsAfter(inputOf(next, { oldObject }))).to.deep.equal([undefined, zones('c')]);
      });

      it('passes what the flow controller writes', () => {
        const object = sliceOf([withHints('a', zones('b', 'c')), withHints('b', undefined)], labels);
        expect(decideHints(inputOf(object, { userName: PLANNER }))).to.deep.equal({ kind: 'unchanged' });
      });

      it('passes the flow controller even while its Lease looks dead', () => {
        const object = sliceOf([withHints('a', zones('b'))], labels);
        expect(decideHints(inputOf(object, { userName: PLANNER, plannerAlive: false })).kind).to.equal('unchanged');
      });

      it('removes hints while the slice carries the mark of a spread plan', () => {
        const object = sliceOf([withHints('a', zones('a')), withHints('b', undefined)], labels, {
          [ANNOTATION_PLAN]: 'spread',
        });
        const decision = decideHints(inputOf(object, { oldObject: object }));
        expect(decision).to.deep.equal({ kind: 'patch', operations: [{ op: 'remove', path: '/endpoints/0/hints' }] });
      });

      it('another value of the mark is no mark', () => {
        const object = sliceOf([withHints('a', undefined)], labels, { [ANNOTATION_PLAN]: 'Spread' });
        expect(hintsAfter(inputOf(object))).to.deep.equal([zones('a')]);
      });

      it('carries nothing over and hints nothing once the planner is dead', () => {
        const object = sliceOf([withHints('a', zones('a', 'b')), withHints('b', undefined)], labels);
        expect(hintsAfter(inputOf(object, { oldObject: object, plannerAlive: false }))).to.deep.equal([
          undefined,
          undefined,
        ]);
      });
    });
  }
});
