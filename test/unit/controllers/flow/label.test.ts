// Tests of the strategy label: set for those who ask by annotation, reverted with it, and never another writer's.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { ANNOTATION_APPLIED, ANNOTATION_TOPOLOGY_MODE, GROUP, LABEL_STRATEGY } from '../../../../pkg/apis/names.ts';
import { labelPlan, revertLabel } from '../../../../pkg/controllers/flow/write.ts';
import { service } from '../../../fixtures/core.ts';

describe('the strategy label', () => {
  const mode = (strategy: string) => ({ [ANNOTATION_TOPOLOGY_MODE]: `${GROUP}/${strategy}` });

  const applied = (strategy: string) => ({
    [ANNOTATION_APPLIED]: JSON.stringify({ labels: { [LABEL_STRATEGY]: strategy } }),
  });

  const own = (strategy: string, annotations: Record<string, string> = {}) =>
    service({
      metadata: { labels: { [LABEL_STRATEGY]: strategy }, annotations: { ...applied(strategy), ...annotations } },
    });

  const authored = service({ metadata: { labels: { [LABEL_STRATEGY]: 'load-aware' } } });
  const NOTHING = { labels: {}, changes: 0 };

  /** The labels that a plan writes. */
  const written = (plan: ReturnType<typeof labelPlan>): object => {
    if (plan.kind === 'unchanged') return NOTHING;
    const { labels = {} } = plan.patch['metadata'] as { labels?: object };
    return { labels, changes: plan.changes.length };
  };

  const cases: { name: string; service: ReturnType<typeof service>; observeOnly?: boolean; writes: object }[] = [
    {
      name: 'is set for an annotation',
      service: service({ metadata: { annotations: mode('load-aware') } }),
      writes: { labels: { [LABEL_STRATEGY]: 'load-aware' }, changes: 2 },
    },
    { name: 'stays while the annotation does', service: own('load-aware', mode('load-aware')), writes: NOTHING },
    {
      name: 'follows the annotation',
      service: own('load-aware', mode('proportional')),
      writes: { labels: { [LABEL_STRATEGY]: 'proportional' }, changes: 2 },
    },
    {
      name: 'goes with the annotation',
      service: own('load-aware'),
      writes: { labels: { [LABEL_STRATEGY]: null }, changes: 2 },
    },
    { name: 'is left to its author', service: authored, writes: NOTHING },
    {
      name: 'is not ours for same-zone',
      service: service({ metadata: { annotations: mode('same-zone') } }),
      writes: NOTHING,
    },
    { name: 'is not ours to take for same-zone', service: own('same-zone'), writes: NOTHING },
    {
      name: 'is not set while observing',
      service: service({ metadata: { annotations: mode('load-aware') } }),
      observeOnly: true,
      writes: NOTHING,
    },
    {
      name: 'stays while observing goes on',
      service: own('observe-load-aware', mode('load-aware')),
      observeOnly: true,
      writes: NOTHING,
    },
    {
      name: 'names the strategy when observing ends',
      service: own('observe-load-aware', mode('load-aware')),
      writes: { labels: { [LABEL_STRATEGY]: 'load-aware' }, changes: 2 },
    },
    {
      name: 'goes with the annotation while observing',
      service: own('observe-load-aware'),
      observeOnly: true,
      writes: { labels: { [LABEL_STRATEGY]: null }, changes: 2 },
    },
    {
      name: 'comes to say so when observing begins',
      service: own('load-aware', mode('load-aware')),
      observeOnly: true,
      writes: { labels: { [LABEL_STRATEGY]: 'observe-load-aware' }, changes: 2 },
    },
    { name: 'of its author stays while observing', service: authored, observeOnly: true, writes: NOTHING },
  ];
  for (const { name, service: given, observeOnly = false, writes } of cases) {
    it(name, () => expect(written(labelPlan(given, observeOnly))).to.deep.equal(writes));
  }

  it('is reverted by the cleanup whatever the annotation says', () => {
    expect(written(revertLabel(own('load-aware', mode('load-aware'))))).to.deep.include({
      labels: { [LABEL_STRATEGY]: null },
    });
    expect(written(revertLabel(authored))).to.deep.equal(NOTHING);
    expect(written(revertLabel(service()))).to.deep.equal(NOTHING);
  });
});
