// Which strategy a Service asks for.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { StringMap } from '../../../pkg/apis/meta.ts';
import { planSettings, strategySettings } from '../../../pkg/routing/plan.ts';
import {
  conflictingMode,
  effectiveStrategy,
  planRelease,
  planStrategyLabel,
  requestedStrategy,
  strategyFromAnnotation,
} from '../../../pkg/routing/strategy.ts';
import { type ServiceLike, matchesSelector } from '../../../pkg/routing/types.ts';
import { CONSIDER, HINTS, MODE, STRATEGY, mergePatch, APPLIED, deepFreeze } from './support.ts';
import { PREFIX, build } from './strategy-support.ts';
import type { LabelSelector } from '../../../pkg/apis/admission.ts';

describe('a Service whose labels or annotations are null, as JSON may have them', () => {
  for (const metadata of [{ labels: null, annotations: null }, null]) {
    it(`metadata ${JSON.stringify(metadata)}: asks for no strategy and changes nothing`, () => {
      const object = { metadata } as unknown as ServiceLike;
      expect(requestedStrategy(object)).to.equal(undefined);
      expect(effectiveStrategy(object)).to.equal(undefined);
      expect(conflictingMode(object)).to.equal(undefined);
      expect(planStrategyLabel(object).kind).to.equal('unchanged');
      expect(planRelease(object).kind).to.equal('unchanged');
    });
  }
});

describe('strategyFromAnnotation', () => {
  for (const [value, expected] of [
    [`${PREFIX}same-zone`, 'same-zone'],
    [`${PREFIX}same-node`, 'same-node'],
    [`${PREFIX}proportional`, 'proportional'],
    [`${PREFIX}load-aware`, 'load-aware'],
    [`${PREFIX}Same-Zone`, undefined],
    [PREFIX, undefined],
    [`${PREFIX}same-zone/more`, undefined],
    ['same-zone', undefined],
    ['example.com/same-zone', undefined],
    ['auto', undefined],
    ['Disabled', undefined],
    ['', undefined],
    [undefined, undefined],
  ] as const) {
    it(`${JSON.stringify(value)}: ${expected ?? 'none'}`, () => {
      expect(strategyFromAnnotation(value)).to.equal(expected);
    });
  }
});

describe('requestedStrategy', () => {
  const annotation = { [MODE]: `${PREFIX}proportional` };
  const label = { [STRATEGY]: 'load-aware' };
  for (const [name, object, expected] of [
    ['nothing', build({}, {}), undefined],
    ['no metadata', {}, undefined],
    ['both: the label wins', build(label, annotation), 'load-aware'],
    ['a label that is no strategy: the annotation', build({ [STRATEGY]: 'x' }, annotation), 'proportional'],
    ['a label that is our copy: the annotation decides', build(label, annotation, { labels: label }), 'proportional'],
    ['a label that is our copy of an annotation now gone', build(label, {}, { labels: label }), undefined],
    [
      'a label changed since we copied: it is the author’s',
      build(label, annotation, { labels: { [STRATEGY]: 'proportional' } }),
      'load-aware',
    ],
    ['an annotation of ours asks for nothing', build({}, annotation, { annotations: annotation }), undefined],
    ["Gardener's label names none", build({ [CONSIDER]: 'true' }, {}), undefined],
    ['a malformed record claims nothing', build(label, {}, []), 'load-aware'],
  ] as const)
    it(name, () => expect(requestedStrategy(object)).to.equal(expected));
});

/** The annotation that asks for a strategy, the label that names it, and the record of a label that we set. */
const asks = (strategy: string) => ({ [MODE]: `${PREFIX}${strategy}` });
const named = (strategy: string) => ({ [STRATEGY]: strategy });
const claim = (strategy: string, more: object = {}) => ({ labels: { ...named(strategy), ...more } });

describe('effectiveStrategy', () => {
  const cases: { name: string; annotations: StringMap; ours?: string; is: string | undefined }[] = [
    { name: 'the annotation of its author', annotations: asks('proportional'), is: 'proportional' },
    { name: 'what a RoutingConfig names', annotations: asks('load-aware'), ours: 'load-aware', is: 'load-aware' },
    { name: 'nothing that serves old proxies', annotations: asks('same-zone'), ours: 'same-zone', is: undefined },
    { name: 'nothing, where our annotation is gone', annotations: {}, ours: 'load-aware', is: undefined },
    { name: 'what its author made of ours', annotations: asks('same-node'), ours: 'load-aware', is: 'same-node' },
  ];
  for (const { name, annotations, ours, is } of cases) {
    const object = build({}, annotations, ours === undefined ? undefined : { annotations: asks(ours) });
    it(`is ${name}`, () => expect(effectiveStrategy(object)).to.equal(is));
  }
});

describe('conflictingMode', () => {
  const label = { [STRATEGY]: 'proportional' };
  for (const [name, object, expected] of [
    [
      "the author's Auto beside a strategy",
      build(label, { [MODE]: 'Auto' }),
      { field: `metadata.annotations[${MODE}]`, value: 'Auto' },
    ],
    [
      'the deprecated annotation',
      build(label, { [HINTS]: 'auto' }),
      { field: `metadata.annotations[${HINTS}]`, value: 'auto' },
    ],
    ["Gardener's consider label with auto", build({ [CONSIDER]: 'true' }, { [MODE]: 'auto' }), undefined],
    ['a strategy with its own annotation', build(label, { [MODE]: `${PREFIX}proportional` }), undefined],
    ['a strategy and Disabled', build(label, { [MODE]: 'Disabled' }), undefined],
    [
      'auto that we set for old proxies',
      build(label, { [HINTS]: 'auto' }, { annotations: { [HINTS]: 'auto' } }),
      undefined,
    ],
    ['auto without strategy', build({}, { [MODE]: 'auto' }), undefined],
  ] as const)
    it(name, () => expect(conflictingMode(object)).to.deep.equal(expected));
});

describe('a label selector', () => {
  const labels = { team: 'a', tier: 'web' };
  const requires = (key: string, operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist', ...values: string[]) => ({
    matchExpressions: [{ key, operator, ...(values.length === 0 ? {} : { values }) }],
  });
  const cases: { name: string; selector: LabelSelector; fits: boolean }[] = [
    { name: 'empty', selector: {}, fits: true },
    { name: 'a label that is equal', selector: { matchLabels: { team: 'a' } }, fits: true },
    { name: 'a label that is not', selector: { matchLabels: { team: 'b' } }, fits: false },
    { name: 'In', selector: requires('team', 'In', 'a', 'b'), fits: true },
    { name: 'In, without the label', selector: requires('x', 'In', 'a'), fits: false },
    { name: 'NotIn', selector: requires('team', 'NotIn', 'a'), fits: false },
    { name: 'NotIn, without the label', selector: requires('x', 'NotIn', 'a'), fits: true },
    { name: 'Exists', selector: requires('tier', 'Exists'), fits: true },
    { name: 'DoesNotExist', selector: requires('tier', 'DoesNotExist'), fits: false },
    { name: 'a key that every object inherits', selector: requires('constructor', 'Exists'), fits: false },
    { name: 'all must hold', selector: { matchLabels: { team: 'a' }, ...requires('x', 'Exists') }, fits: false },
  ];
  for (const { name, selector, fits } of cases)
    it(`${name}: ${fits ? 'fits' : 'does not fit'}`, () => expect(matchesSelector(selector, labels)).to.equal(fits));
});

describe('planStrategyLabel', () => {
  const ours = (label: string, annotations: StringMap) => build(named(label), annotations, claim(label));
  /** The label that is written, with a record of it; null: both go; undefined: nothing is written. */
  const cases: readonly (readonly [name: string, object: ServiceLike, label?: string | null])[] = [
    ['sets the label that the annotation names', build({}, asks('load-aware')), 'load-aware'],
    ['follows the annotation', ours('load-aware', asks('proportional')), 'proportional'],
    ['takes the label back with the annotation', ours('load-aware', {}), null],
    ["leaves the author's label alone", build(named('same-node'), asks('proportional'))],
    ["leaves the author's label without annotation", build(named('same-node'), {})],
    ['has nothing to do for other domains', build({}, { [MODE]: 'example.com/x' })],
    ['has nothing to do for auto', build({}, { [MODE]: 'auto' })],
    ['has nothing to do twice', ours('load-aware', asks('load-aware'))],
  ];
  for (const [name, object, label] of cases) {
    it(name, () => {
      const plan = planStrategyLabel(object);
      const applied = typeof label === 'string' ? JSON.stringify(claim(label)) : null;
      const metadata = { labels: { [STRATEGY]: label }, annotations: { [APPLIED]: applied } };
      if (label === undefined) expect(plan.kind).to.equal('unchanged');
      else expect(plan).to.have.property('patch').that.deep.equals({ metadata });
    });
  }

  it('agrees with the settings reconciler, which then has no label left to set', () => {
    const before = build({}, asks('load-aware'));
    const admission = planStrategyLabel(before);
    const labelled = admission.kind === 'patch' ? mergePatch(before, admission.patch) : before;
    const strategy = requestedStrategy(labelled);
    expect(strategy).to.equal('load-aware');
    const want = strategySettings({ major: 1, minor: 34 }, 'load-aware');
    expect(planSettings({ object: labelled, want })).to.deep.equal({ kind: 'unchanged', foreign: [] });
  });
});

describe('planRelease', () => {
  const GONE = { labels: { [STRATEGY]: null }, annotations: { [APPLIED]: null } };
  const considered = { [CONSIDER]: 'true' };
  const cases: readonly (readonly [name: string, object: ServiceLike, metadata?: object])[] = [
    ...['load-aware', 'proportional'].map(
      (strategy) =>
        [
          `leaves the label ${strategy} while the annotation asks for it`,
          build(named(strategy), asks(strategy), claim(strategy)),
        ] as const,
    ),
    [
      'reverts all else meanwhile, and remembers whose the label is',
      build({ ...named('load-aware'), ...considered }, asks('load-aware'), claim('load-aware', considered)),
      { labels: { [CONSIDER]: null }, annotations: { [APPLIED]: JSON.stringify(claim('load-aware')) } },
    ],
    ['takes the label back once nothing asks', build(named('load-aware'), {}, claim('load-aware')), GONE],
    ['or something else', build(named('load-aware'), asks('same-zone'), claim('load-aware')), GONE],
    ['reverts what no flow-controller plans', build(named('same-zone'), asks('same-zone'), claim('same-zone')), GONE],
    ["leaves the author's label alone", build(named('load-aware'), asks('load-aware'))],
  ];
  for (const [name, object, metadata] of cases) {
    it(name, () => {
      const plan = planRelease(deepFreeze(object));
      expect(plan.kind === 'patch' ? plan.patch['metadata'] : undefined).to.deep.equal(metadata);
    });
  }
});
