// Tests of the strategy label: set for those who ask by annotation, reverted with it, and never another writer's.
import { expect } from 'chai';
import { describe, it, beforeEach } from 'mocha';
import {
  ANNOTATION_APPLIED,
  ANNOTATION_TOPOLOGY_MODE,
  GROUP,
  LABEL_STRATEGY,
  ANNOTATION_PLAN,
} from '../../../../pkg/apis/names.ts';
import { labelPlan, revertLabel } from '../../../../pkg/controllers/flow/write.ts';
import { service, slice } from '../../../fixtures/core.ts';
import type { KubernetesObject, ObjectRef } from '../../../../pkg/apis/meta.ts';
import type { Resource } from '../../../../pkg/apis/resources.ts';
import { cleanUpPlans } from '../../../../pkg/controllers/flow/cleanup.ts';
import type { Client } from '../../../../pkg/kubernetes/types.ts';
import { apiError } from '../../../fixtures/memory-client.ts';
import { recordingLogger } from '../../../fixtures/recording-logger.ts';

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
  for (const { name, service: given, observeOnly = false, writes } of cases)
    it(name, () => expect(written(labelPlan(given, observeOnly))).to.deep.equal(writes));

  it('is reverted by the cleanup whatever the annotation says', () => {
    expect(written(revertLabel(own('load-aware', mode('load-aware'))))).to.deep.include({
      labels: { [LABEL_STRATEGY]: null },
    });
    expect(written(revertLabel(authored))).to.deep.equal(NOTHING);
    expect(written(revertLabel(service()))).to.deep.equal(NOTHING);
  });
});

const LABELS = { [LABEL_STRATEGY]: 'load-aware' };
const { signal } = new AbortController();

describe('cleanUp of the flow controller', () => {
  let objects: Record<string, KubernetesObject[]>;
  let failures: Record<string, Error[]>;
  let calls: string[];

  beforeEach(() => {
    calls = [];
    failures = {};
    const applied = { [ANNOTATION_APPLIED]: JSON.stringify({ labels: LABELS }) };
    objects = {
      services: [
        service({ metadata: { name: 'ours', labels: LABELS, annotations: applied } }),
        service({ metadata: { name: 'theirs', labels: LABELS } }),
      ],
      endpointslices: [
        slice({ metadata: { name: 'planned', annotations: { [ANNOTATION_PLAN]: 'spread' } } }),
        slice({ metadata: { name: 'unplanned' } }),
      ],
      flowpolicies: [],
    };
  });

  const client = {
    async *pages({ plural }: Resource) {
      await Promise.resolve();
      yield { items: objects[plural] ?? [] };
    },
    patch({ plural }: Resource, { name }: ObjectRef) {
      calls.push(`patch ${plural}/${name}`);
      const failure = failures[plural]?.shift();
      if (failure !== undefined) return Promise.reject(failure);
      objects[plural] = objects[plural]!.filter(({ metadata }) => metadata?.name !== name);
      return Promise.resolve({});
    },
  };
  const run = (serves: (namespace: string) => boolean = () => true) =>
    cleanUpPlans({ client: client as unknown as Client, logger: recordingLogger(), serves }, signal);

  it('gives up where another writer wins every time', async () => {
    failures = { services: Array.from({ length: 9 }, () => apiError(409)) };
    const failed = await run().catch((error: unknown) => error);
    expect(failed)
      .to.be.instanceOf(Error)
      .with.property('message')
      .that.matches(/not clean after 5 passes/);
  });

  it('reverts its label and its hints, and leaves what others wrote', async () => {
    expect(await run()).to.deep.equal({ services: 1, slices: 1, policies: 0 });
    expect(calls).to.deep.equal(['patch services/ours', 'patch endpointslices/planned']);
  });

  for (const [plural, name] of Object.entries({ services: 'ours', endpointslices: 'planned' })) {
    it(`finds ${plural} again after a conflict`, async () => {
      failures = { [plural]: [apiError(409)] };
      expect(await run()).to.include({ services: 1, slices: 1 });
      expect(calls.filter((call) => call.includes(plural))).to.deep.equal([
        `patch ${plural}/${name}`,
        `patch ${plural}/${name}`,
      ]);
    });
  }
});
