// Hints of a slice with a plan: what admission keeps of it.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { Endpoint } from '../../../pkg/apis/core.ts';
import { ANNOTATION_PLAN } from '../../../pkg/apis/names.ts';
import { decideHints } from '../../../pkg/hints/decide.ts';
import { letters } from '../../fixtures/admission-cases.ts';
import { PLANNER, hintsAfter, inputOf, nodes, sliceOf, strategy, withHints, zoneless, zones } from './support.ts';

describe('decideHints with a plan', () => {
  for (const planned of ['proportional', 'load-aware']) {
    describe(planned, () => {
      const labels = strategy(planned);
      const uid = (value: string) => ({ targetRef: { kind: 'Pod', name: 'p', uid: value } });
      const stored = withHints('b', zones('a', 'b'), uid('u1'));
      const cases: (readonly [
        name: string,
        more: { old?: Endpoint[] | null; oldLabels?: Record<string, string> },
        next: Endpoint[],
        want: unknown[],
      ])[] = [
        [
          'a stripped endpoint keeps its plan',
          { old: [stored] },
          [withHints('b', undefined, uid('u1'))],
          [zones('a', 'b')],
        ],
        [
          'hints of another writer are replaced by the plan',
          { old: [stored] },
          [withHints('b', zones('c'), uid('u1'))],
          [zones('a', 'b')],
        ],
        ['no old object: own zone', {}, [withHints('b', undefined)], [zones('b')]],
        ['old endpoints null: own zone', { old: null }, [withHints('b', undefined)], [zones('b')]],
        [
          'another address: own zone',
          { old: [stored] },
          [withHints('b', undefined, { ...uid('u1'), addresses: ['198.18.0.99'] })],
          [zones('b')],
        ],
        [
          'another Pod at the address: own zone',
          { old: [stored] },
          [withHints('b', undefined, uid('u2'))],
          [zones('b')],
        ],
        ['UID gone: own zone', { old: [stored] }, [withHints('b', undefined)], [zones('b')]],
        [
          'UID absent on both sides counts as equal',
          { old: [withHints('b', zones('a', 'b'))] },
          [withHints('b', undefined)],
          [zones('a', 'b')],
        ],
        ['another zone: own zone', { old: [stored] }, [withHints('c', undefined, uid('u1'))], [zones('c')]],
        [
          'unhinted before: own zone',
          { old: [withHints('b', undefined, uid('u1'))] },
          [withHints('b', undefined, uid('u1'))],
          [zones('b')],
        ],
        [
          'old slice with another strategy: own zone',
          { old: [stored], oldLabels: strategy('same-zone') },
          [withHints('b', undefined, uid('u1'))],
          [zones('b')],
        ],
        [
          'old slice without a strategy: own zone',
          { old: [stored], oldLabels: {} },
          [withHints('b', undefined, uid('u1'))],
          [zones('b')],
        ],
        [
          'forNodes is dropped',
          { old: [withHints('b', { ...zones('a'), ...nodes('n') }, uid('u1'))] },
          [withHints('b', { ...zones('a'), ...nodes('n') }, uid('u1'))],
          [zones('a')],
        ],
        [
          'a stripped endpoint gets no Nodes',
          {
            old: [
              withHints('b', { ...zones('a'), ...nodes('n', 'm') }, uid('u1')),
              withHints('c', zones('c'), uid('u2')),
            ],
          },
          [withHints('b', undefined, uid('u1')), withHints('c', undefined, uid('u2'))],
          [zones('a'), zones('c')],
        ],
        [
          'Nodes without zones are no plan',
          { old: [withHints('b', nodes('n'), uid('u1'))] },
          [withHints('b', nodes('n'), uid('u1'))],
          [zones('b')],
        ],
        [
          'Nodes that were not stored are not taken over',
          { old: [withHints('b', zones('a'), uid('u1'))] },
          [withHints('b', { ...zones('a'), ...nodes('n') }, uid('u1'))],
          [zones('a')],
        ],
        [
          'more than eight zones are no plan',
          { old: [withHints('b', zones(...letters('abcdefghi')), uid('u1'))] },
          [withHints('b', undefined, uid('u1'))],
          [zones('b')],
        ],
        [
          'eight zones are a plan',
          { old: [withHints('b', zones(...letters('abcdefgh')), uid('u1'))] },
          [withHints('b', undefined, uid('u1'))],
          [zones(...letters('abcdefgh'))],
        ],
        [
          'a zone twice is no plan',
          { old: [withHints('b', zones('a', 'a'), uid('u1'))] },
          [withHints('b', undefined, uid('u1'))],
          [zones('b')],
        ],
        [
          'an empty zone name is no plan',
          { old: [withHints('b', zones(''), uid('u1'))] },
          [withHints('b', undefined, uid('u1'))],
          [zones('b')],
        ],
        [
          'one identity with two plans is no plan',
          { old: [stored, withHints('b', zones('c'), uid('u1'))] },
          [withHints('b', undefined, uid('u1'))],
          [zones('b')],
        ],
        [
          'one identity with one plan twice is a plan',
          { old: [stored, stored] },
          [withHints('b', undefined, uid('u1'))],
          [zones('a', 'b')],
        ],
        [
          'an endpoint without zone is untouched',
          { old: [{ ...zoneless, hints: zones('a') }] },
          [{ ...zoneless }, { ...zoneless, hints: zones('c') }],
          [undefined, zones('c')],
        ],
        [
          'a zone called ambiguous is a zone',
          { old: [withHints('b', zones('ambiguous'), uid('u1'))] },
          [withHints('b', undefined, uid('u1'))],
          [zones('ambiguous')],
        ],
      ];
      for (const [name, { old, oldLabels = labels }, next, want] of cases) {
        it(name, () => {
          const oldObject = old === undefined ? undefined : sliceOf(old, oldLabels);
          expect(hintsAfter(inputOf(sliceOf(next, labels), { oldObject }))).to.deep.equal(want);
        });
      }

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
