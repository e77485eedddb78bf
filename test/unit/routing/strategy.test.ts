// Which strategy a Service asks for.
import { expect } from 'chai';
import fc from 'fast-check';
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
import {
  CONSIDER,
  HINTS,
  MODE,
  STRATEGY,
  arbitrarySettings,
  mergePatch,
  serviceFrom,
  APPLIED,
  deepFreeze,
} from './support.ts';
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
    ['a label', build(label, {}), 'load-aware'],
    ['an annotation', build({}, annotation), 'proportional'],
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

  it('is not changed by what we set for it', () => {
    const minors = fc.integer({ min: 24, max: 37 });
    fc.assert(
      fc.property(arbitrarySettings, minors, fc.boolean(), (settings, minor, mixedKubelets) => {
        const before = serviceFrom(settings);
        const strategy = requestedStrategy(before);
        fc.pre(strategy !== undefined);
        const want = strategySettings({ major: 1, minor }, strategy);
        const plan = planSettings({ object: before, want, mixedKubelets });
        const after = plan.kind === 'patch' ? mergePatch(before, plan.patch) : before;
        expect(requestedStrategy(after)).to.equal(strategy);
      }),
    );
  });
});

describe('effectiveStrategy', () => {
  const mode = (strategy: string) => ({ [MODE]: `${PREFIX}${strategy}` });
  const cases: { name: string; annotations: StringMap; ours?: string; is: string | undefined }[] = [
    { name: 'the annotation of its author', annotations: mode('proportional'), is: 'proportional' },
    {
      name: 'a planned strategy that a RoutingConfig names',
      annotations: mode('load-aware'),
      ours: 'load-aware',
      is: 'load-aware',
    },
    {
      name: 'nothing, where our annotation only serves old proxies',
      annotations: mode('same-zone'),
      ours: 'same-zone',
      is: undefined,
    },
    { name: 'nothing, where our annotation is gone', annotations: {}, ours: 'load-aware', is: undefined },
    {
      name: 'what its author made of our annotation',
      annotations: mode('same-node'),
      ours: 'load-aware',
      is: 'same-node',
    },
  ];
  for (const { name, annotations, ours, is } of cases) {
    const object = build({}, annotations, ours === undefined ? undefined : { annotations: mode(ours) });
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
  const cases: { name: string; selector: LabelSelector; fits: boolean }[] = [
    { name: 'empty', selector: {}, fits: true },
    { name: 'a label that is equal', selector: { matchLabels: { team: 'a' } }, fits: true },
    { name: 'a label that is not', selector: { matchLabels: { team: 'b' } }, fits: false },
    { name: 'In', selector: { matchExpressions: [{ key: 'team', operator: 'In', values: ['a', 'b'] }] }, fits: true },
    {
      name: 'In, without the label',
      selector: { matchExpressions: [{ key: 'x', operator: 'In', values: ['a'] }] },
      fits: false,
    },
    { name: 'NotIn', selector: { matchExpressions: [{ key: 'team', operator: 'NotIn', values: ['a'] }] }, fits: false },
    {
      name: 'NotIn, without the label',
      selector: { matchExpressions: [{ key: 'x', operator: 'NotIn', values: ['a'] }] },
      fits: true,
    },
    { name: 'Exists', selector: { matchExpressions: [{ key: 'tier', operator: 'Exists' }] }, fits: true },
    { name: 'DoesNotExist', selector: { matchExpressions: [{ key: 'tier', operator: 'DoesNotExist' }] }, fits: false },
    {
      name: 'a key that every object inherits',
      selector: { matchExpressions: [{ key: 'constructor', operator: 'Exists' }] },
      fits: false,
    },
    {
      name: 'all must hold',
      selector: { matchLabels: { team: 'a' }, matchExpressions: [{ key: 'x', operator: 'Exists' }] },
      fits: false,
    },
  ];
  for (const { name, selector, fits } of cases)
    it(`${name}: ${fits ? 'fits' : 'does not fit'}`, () => expect(matchesSelector(selector, labels)).to.equal(fits));
});

describe('planStrategyLabel', () => {
  const applied = (record: object | null): string | null => (record === null ? null : JSON.stringify(record));
  const cases: {
    name: string;
    object: ServiceLike;
    label?: string | null;
    record?: object | null;
    unchanged?: true;
  }[] = [
    {
      name: 'sets the label that the annotation names',
      object: build({}, { [MODE]: `${PREFIX}load-aware` }),
      label: 'load-aware',
      record: { labels: { [STRATEGY]: 'load-aware' } },
    },
    {
      name: 'follows the annotation',
      object: build(
        { [STRATEGY]: 'load-aware' },
        { [MODE]: `${PREFIX}proportional` },
        { labels: { [STRATEGY]: 'load-aware' } },
      ),
      label: 'proportional',
      record: { labels: { [STRATEGY]: 'proportional' } },
    },
    {
      name: 'takes the label back with the annotation',
      object: build({ [STRATEGY]: 'load-aware' }, {}, { labels: { [STRATEGY]: 'load-aware' } }),
      label: null,
      record: null,
    },
    {
      name: "leaves the author's label alone",
      object: build({ [STRATEGY]: 'same-node' }, { [MODE]: `${PREFIX}proportional` }),
      unchanged: true,
    },
    {
      name: "leaves the author's label without annotation",
      object: build({ [STRATEGY]: 'same-node' }, {}),
      unchanged: true,
    },
    { name: 'has nothing to do for other domains', object: build({}, { [MODE]: 'example.com/x' }), unchanged: true },
    { name: 'has nothing to do for auto', object: build({}, { [MODE]: 'auto' }), unchanged: true },
    {
      name: 'has nothing to do twice',
      object: build(
        { [STRATEGY]: 'load-aware' },
        { [MODE]: `${PREFIX}load-aware` },
        { labels: { [STRATEGY]: 'load-aware' } },
      ),
      unchanged: true,
    },
  ];
  for (const { name, object, label, record, unchanged } of cases) {
    it(name, () => {
      const plan = planStrategyLabel(object);
      if (unchanged === true) {
        expect(plan.kind).to.equal('unchanged');
        return;
      }
      expect(plan)
        .to.have.property('patch')
        .that.deep.equals({
          metadata: { labels: { [STRATEGY]: label }, annotations: { [APPLIED]: applied(record ?? null) } },
        });
    });
  }

  it('agrees with the settings reconciler, which then has no label left to set', () => {
    const before = build({}, { [MODE]: `${PREFIX}load-aware` });
    const admission = planStrategyLabel(before);
    const labelled = admission.kind === 'patch' ? mergePatch(before, admission.patch) : before;
    const strategy = requestedStrategy(labelled);
    expect(strategy).to.equal('load-aware');
    const want = strategySettings({ major: 1, minor: 34 }, 'load-aware');
    expect(planSettings({ object: labelled, want })).to.deep.equal({ kind: 'unchanged', foreign: [] });
  });
});

describe('planRelease', () => {
  const claim = (strategy: string, more: object = {}) => ({ labels: { [STRATEGY]: strategy }, ...more });
  const cases: { name: string; object: ServiceLike; metadata: object | undefined }[] = [
    ...['load-aware', 'proportional'].map((strategy) => ({
      name: `leaves the label ${strategy} while the annotation asks for it`,
      object: build({ [STRATEGY]: strategy }, { [MODE]: `${PREFIX}${strategy}` }, claim(strategy)),
      metadata: undefined,
    })),
    {
      name: 'reverts all else meanwhile, and remembers whose the label is',
      object: build(
        { [STRATEGY]: 'load-aware', [CONSIDER]: 'true' },
        { [MODE]: `${PREFIX}load-aware` },
        { labels: { [STRATEGY]: 'load-aware', [CONSIDER]: 'true' } },
      ),
      metadata: { labels: { [CONSIDER]: null }, annotations: { [APPLIED]: JSON.stringify(claim('load-aware')) } },
    },
    {
      name: 'takes the label back once the annotation is gone',
      object: build({ [STRATEGY]: 'load-aware' }, {}, claim('load-aware')),
      metadata: { labels: { [STRATEGY]: null }, annotations: { [APPLIED]: null } },
    },
    {
      name: 'takes it back where the annotation asks for something else',
      object: build({ [STRATEGY]: 'load-aware' }, { [MODE]: `${PREFIX}same-zone` }, claim('load-aware')),
      metadata: { labels: { [STRATEGY]: null }, annotations: { [APPLIED]: null } },
    },
    {
      name: 'reverts the label of a strategy that nobody plans',
      object: build({ [STRATEGY]: 'same-zone' }, { [MODE]: `${PREFIX}same-zone` }, claim('same-zone')),
      metadata: { labels: { [STRATEGY]: null }, annotations: { [APPLIED]: null } },
    },
    {
      name: "leaves the author's label alone",
      object: build({ [STRATEGY]: 'load-aware' }, { [MODE]: `${PREFIX}load-aware` }),
      metadata: undefined,
    },
  ];
  for (const { name, object, metadata } of cases) {
    it(name, () => {
      const plan = planRelease(deepFreeze(object));
      expect(plan.kind === 'patch' ? plan.patch['metadata'] : undefined).to.deep.equal(metadata);
    });
  }

  it('has nothing to revert of what the flow controller set, so that the two come to an end', () => {
    for (const strategy of ['load-aware', 'proportional']) {
      const before = build({}, { [MODE]: `${PREFIX}${strategy}` });
      const labelled = planStrategyLabel(before);
      const after = labelled.kind === 'patch' ? mergePatch(before, labelled.patch) : before;
      expect(planRelease(after).kind, strategy).to.equal('unchanged');
      expect(planStrategyLabel(after).kind, strategy).to.equal('unchanged');
    }
  });
});
