// The label that a domain-prefixed annotation becomes, and how it is released.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { planSettings, strategySettings } from '../../../pkg/routing/plan.ts';
import { planRelease, planStrategyLabel, requestedStrategy } from '../../../pkg/routing/strategy.ts';
import type { ServiceLike } from '../../../pkg/routing/types.ts';
import { APPLIED, CONSIDER, MODE, STRATEGY, deepFreeze, mergePatch } from './support.ts';
import { PREFIX, build } from './strategy-support.ts';

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
    expect(planSettings({ object: labelled, want })).to.deep.equal({
      kind: 'unchanged',
      foreign: [],
    });
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
