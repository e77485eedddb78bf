// Tests of the strategy label: set for those who ask by annotation, reverted with it, and never another writer's.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import {
  ANNOTATION_APPLIED,
  ANNOTATION_PLAN,
  ANNOTATION_TOPOLOGY_MODE,
  GROUP,
  LABEL_STRATEGY,
} from '../../../../pkg/apis/names.ts';
import type { Resource } from '../../../../pkg/apis/resources.ts';
import { cleanUpPlans } from '../../../../pkg/controllers/flow/cleanup.ts';
import { labelPlan, revertLabel } from '../../../../pkg/controllers/flow/write.ts';
import type { Client } from '../../../../pkg/kubernetes/types.ts';
import { service, slice } from '../../../fixtures/core.ts';
import { rejection } from '../../../fixtures/eventually.ts';
import { apiError } from '../../../fixtures/memory-client.ts';
import { recordingLogger } from '../../../fixtures/recording-logger.ts';

const applied = (strategy: string) => ({
  [ANNOTATION_APPLIED]: JSON.stringify({ labels: { [LABEL_STRATEGY]: strategy } }),
});

const own = (strategy: string, annotations: Record<string, string> = {}) =>
  service({
    metadata: { labels: { [LABEL_STRATEGY]: strategy }, annotations: { ...applied(strategy), ...annotations } },
  });

describe('the strategy label', () => {
  const mode = (strategy: string) => ({ [ANNOTATION_TOPOLOGY_MODE]: `${GROUP}/${strategy}` });

  const authored = service({ metadata: { labels: { [LABEL_STRATEGY]: 'load-aware' } } });
  const NOTHING = { labels: {}, changes: 0 };

  /** The labels that a plan writes. */
  const written = (plan: ReturnType<typeof labelPlan>): object => {
    if (plan.kind === 'unchanged') return NOTHING;
    const { labels = {} } = plan.patch['metadata'] as { labels?: object };
    return { labels, changes: plan.changes.length };
  };

  const asking = (strategy: string) => service({ metadata: { annotations: mode(strategy) } });
  const kept = own('load-aware', mode('load-aware'));
  const observed = own('observe-load-aware', mode('load-aware'));
  /** `label`: what is written; without one nothing is. */
  const cases: { name: string; of: ReturnType<typeof service>; observeOnly?: boolean; label?: string | null }[] = [
    { name: 'is set for an annotation', of: asking('load-aware'), label: 'load-aware' },
    { name: 'stays while the annotation does', of: kept },
    { name: 'follows the annotation', of: own('load-aware', mode('proportional')), label: 'proportional' },
    { name: 'goes with the annotation', of: own('load-aware'), label: null },
    { name: 'is left to its author', of: authored },
    { name: 'is not ours for same-zone', of: asking('same-zone') },
    { name: 'is not ours to take for same-zone', of: own('same-zone') },
    { name: 'is not set while observing', of: asking('load-aware'), observeOnly: true },
    { name: 'stays while observing goes on', of: observed, observeOnly: true },
    { name: 'names the strategy when observing ends', of: observed, label: 'load-aware' },
    { name: 'goes with the annotation while observing', of: own('observe-load-aware'), observeOnly: true, label: null },
    { name: 'comes to say so when observing begins', of: kept, observeOnly: true, label: 'observe-load-aware' },
    { name: 'of its author stays while observing', of: authored, observeOnly: true },
  ];
  for (const { name, of, observeOnly = false, label } of cases)
    it(name, () =>
      expect(written(labelPlan(of, observeOnly))).to.deep.equal(
        label === undefined ? NOTHING : { labels: { [LABEL_STRATEGY]: label }, changes: 2 },
      ),
    );

  it('is reverted by the cleanup whatever the annotation says', () => {
    expect(written(revertLabel(own('load-aware', mode('load-aware'))))).to.deep.include({
      labels: { [LABEL_STRATEGY]: null },
    });
    expect(written(revertLabel(authored))).to.deep.equal(NOTHING);
    expect(written(revertLabel(service()))).to.deep.equal(NOTHING);
  });
});

describe('cleanUp of the flow controller', () => {
  const { signal } = new AbortController();
  const stored: Readonly<Record<string, object>> = {
    services: own('load-aware'),
    endpointslices: slice({ metadata: { name: 'planned', annotations: { [ANNOTATION_PLAN]: 'spread' } } }),
  };
  /** Cleans up where the first writes of each kind meet a conflict; says what was written in the end. */
  const run = async (conflicts: number) => {
    const writes: Record<string, number> = { services: 0, endpointslices: 0 };
    const isLeft = (plural: string): boolean => (writes[plural] ?? Infinity) <= conflicts;
    const client = {
      async *pages({ plural }: Resource) {
        yield { items: await Promise.resolve(isLeft(plural) ? [stored[plural]] : []) };
      },
      patch({ plural }: Resource) {
        writes[plural] = (writes[plural] ?? 0) + 1;
        return isLeft(plural) ? Promise.reject(apiError(409)) : Promise.resolve({});
      },
    };
    const options = { client: client as unknown as Client, logger: recordingLogger(), serves: () => true };
    return { report: await cleanUpPlans(options, signal), writes };
  };

  it('finds what another writer changed again', async () =>
    expect(await run(1)).to.deep.equal({
      report: { services: 1, slices: 1, policies: 0 },
      writes: { services: 2, endpointslices: 2 },
    }));

  it('gives up where another writer wins every time', async () =>
    expect(String(await rejection(run(9)))).to.match(/not clean after 5 passes/));
});
