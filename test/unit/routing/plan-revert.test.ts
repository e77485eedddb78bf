// Plans that revert the settings of a single object, a malformed record, and the report.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { planSettings, strategySettings } from '../../../pkg/routing/plan.ts';
import { APPLIED, CONSIDER, HINTS, MODE, STRATEGY, deepFreeze } from './support.ts';
import { check, on, patchOf, plan } from './plan-support.ts';
import type { JsonPatchOperation } from '../../../pkg/apis/admission.ts';
import { keepSettings } from '../../../pkg/routing/keep.ts';
import { applyMergePatch, createRoutingSettingsHandler } from '../../../pkg/webhook/routing-settings.ts';
import { applyJsonPatch } from '../../fixtures/json-patch.ts';
import type { SettingsCase } from '../../fixtures/settings-cases.ts';
import { SETTINGS_CASES } from '../../fixtures/settings-cases.ts';

describe('planSettings on: values of others stay and are reported', () => {
  const claim = { labels: { [CONSIDER]: 'true' } };
  check([
    {
      name: "a user's own trafficDistribution",
      object: { field: 'PreferSameNode' },
      want: on(34),
      patch: undefined,
      foreign: [{ field: 'spec.trafficDistribution', value: 'PreferSameNode' }],
    },
    {
      name: "a user's own trafficDistribution beside a strategy that has no field",
      object: { field: 'PreferClose', labels: { [STRATEGY]: 'proportional' } },
      want: strategySettings({ major: 1, minor: 34 }, 'proportional'),
      patch: undefined,
      foreign: [{ field: 'spec.trafficDistribution', value: 'PreferClose' }],
    },
    {
      name: "a user's domain-prefixed mode where ours would be auto",
      object: { annotations: { [MODE]: 'topology.extensions.gardener.cloud/proportional' } },
      want: on(30),
      patch: { metadata: { labels: { [CONSIDER]: 'true' }, annotations: { [APPLIED]: claim } } },
      foreign: [{ field: `metadata.annotations[${MODE}]`, value: 'topology.extensions.gardener.cloud/proportional' }],
    },
    {
      name: "a user's domain-prefixed mode where nothing of ours goes there",
      object: { annotations: { [MODE]: 'example.com/x' }, field: 'PreferSameZone' },
      want: on(34),
      patch: undefined,
    },
    {
      name: "a user's opt-out in the annotation",
      object: { annotations: { [MODE]: 'Disabled' } },
      want: on(30),
      patch: { metadata: { labels: { [CONSIDER]: 'true' }, annotations: { [APPLIED]: claim } } },
      foreign: [{ field: `metadata.annotations[${MODE}]`, value: 'Disabled' }],
    },
    {
      name: "a user's opt-out in the label",
      object: { labels: { [CONSIDER]: 'false' }, field: 'PreferClose' },
      want: on(31),
      patch: undefined,
      foreign: [{ field: `metadata.labels[${CONSIDER}]`, value: 'false' }],
    },
    {
      name: 'the deprecated annotation with another value: both together would be rejected, so ours gives way',
      object: { annotations: { [HINTS]: 'Disabled' } },
      want: on(30),
      patch: { metadata: { labels: { [CONSIDER]: 'true' }, annotations: { [APPLIED]: claim } } },
      foreign: [{ field: `metadata.annotations[${HINTS}]`, value: 'Disabled' }],
    },
    {
      name: 'the deprecated annotation with another value, where nothing of ours goes beside it',
      object: { annotations: { [HINTS]: 'Disabled' }, field: 'PreferSameZone' },
      want: on(34),
      patch: undefined,
    },
  ]);
});

describe('planSettings off', () => {
  const everything = {
    labels: { [CONSIDER]: 'true' },
    annotations: { [MODE]: 'auto' },
    trafficDistribution: 'PreferClose',
  };
  check([
    { name: 'nothing of ours: nothing to do', object: {}, want: undefined, patch: undefined },
    {
      name: 'reverts everything that applied records',
      object: {
        labels: { [CONSIDER]: 'true' },
        annotations: { [MODE]: 'auto' },
        field: 'PreferClose',
        applied: everything,
      },
      want: undefined,
      patch: {
        metadata: { labels: { [CONSIDER]: null }, annotations: { [MODE]: null, [APPLIED]: null } },
        spec: { trafficDistribution: null },
      },
    },
    {
      name: 'leaves values that their owner changed since, without a warning',
      object: {
        labels: { [CONSIDER]: 'false' },
        annotations: { [MODE]: 'Disabled' },
        field: 'PreferSameNode',
        applied: everything,
      },
      want: undefined,
      patch: { metadata: { annotations: { [APPLIED]: null } } },
    },
    {
      name: "leaves Gardener's own settings, without a warning",
      object: { labels: { [CONSIDER]: 'true' }, annotations: { [MODE]: 'auto' }, field: 'PreferSameZone' },
      want: undefined,
      patch: undefined,
    },
    {
      name: 'puts back the auto annotations that had to give way',
      object: {
        field: 'PreferSameZone',
        applied: { trafficDistribution: 'PreferSameZone', removedAnnotations: { [MODE]: 'Auto' } },
      },
      want: undefined,
      patch: {
        metadata: { annotations: { [MODE]: 'Auto', [APPLIED]: null } },
        spec: { trafficDistribution: null },
      },
    },
    {
      name: 'puts nothing back over what somebody set since',
      object: { annotations: { [MODE]: 'example.com/x' }, applied: { removedAnnotations: { [MODE]: 'Auto' } } },
      want: undefined,
      patch: { metadata: { annotations: { [APPLIED]: null } } },
    },
    {
      name: 'puts no deprecated annotation back beside a mode that differs: the API server would reject it',
      object: { annotations: { [MODE]: 'example.com/x' }, applied: { removedAnnotations: { [HINTS]: 'auto' } } },
      want: undefined,
      patch: { metadata: { annotations: { [APPLIED]: null } } },
    },
    {
      name: 'puts no mode back beside a deprecated annotation that differs',
      object: { annotations: { [HINTS]: 'Disabled' }, applied: { removedAnnotations: { [MODE]: 'auto' } } },
      want: undefined,
      patch: { metadata: { annotations: { [APPLIED]: null } } },
    },
    {
      name: 'old kubelets do not matter any more',
      object: {},
      want: undefined,
      mixedKubelets: true,
      patch: undefined,
    },
  ]);
});

describe('planSettings: malformed applied annotation', () => {
  const reported = { field: `metadata.annotations[${APPLIED}]`, value: '{"labels":7}' };
  const object = deepFreeze({
    metadata: { annotations: { [APPLIED]: '{"labels":7}' } },
    spec: { trafficDistribution: 'PreferClose' },
  });

  it('is overwritten when something is set', () => {
    const result = planSettings({ object, want: on(31) });
    expect(patchOf(result)).to.deep.equal({
      metadata: { labels: { [CONSIDER]: 'true' }, annotations: { [APPLIED]: { labels: { [CONSIDER]: 'true' } } } },
    });
    expect(result.foreign).to.deep.equal([reported]);
  });
});

describe('planSettings: the report', () => {
  it('refuses settings that it could not revert', () => {
    expect(() => plan({}, { labels: { app: 'x' }, annotations: {} })).to.throw(RangeError, '"app"');
  });
});

const users = { owner: 'gardenlet', reconciler: 'settings-reconciler' };
const handle = createRoutingSettingsHandler({ settingsReconcilerUser: users.reconciler });

/** The object after admission by the webhook. */
const handled = ({ by, object, oldObject }: SettingsCase, next: unknown = object): unknown => {
  const answer = handle({
    uid: 'review',
    kind: { group: '', version: 'v1', kind: 'Service' },
    operation: 'UPDATE',
    userInfo: { username: users[by] },
    object: next,
    oldObject,
  });
  if (answer.kind === 'unchanged') return object;
  if (answer.kind !== 'patch') throw new Error(JSON.stringify(answer));
  return applyJsonPatch(next, JSON.parse(answer.patch) as JsonPatchOperation[]);
};

const kept = ({ object, oldObject }: SettingsCase) => keepSettings(object, oldObject);

describe('the cases of keeping settings', () => {
  it('put back and leave alone, by both writers', () => {
    const changed = SETTINGS_CASES.filter((one) => JSON.stringify(handled(one)) !== JSON.stringify(one.object));
    expect(changed.length).to.be.within(50, SETTINGS_CASES.length - 100);
    expect(changed.filter(({ by }) => by === 'reconciler')).to.deep.equal([]);
  });

  it('are done after one turn', () => {
    for (const one of SETTINGS_CASES) {
      const after = applyMergePatch(one.object, kept(one) ?? {}) as SettingsCase['object'];
      expect(kept({ ...one, object: after }), one.name).to.equal(undefined);
    }
  });

  it('conclude nothing from a text in another form', () => {
    const hostile = SETTINGS_CASES.filter(({ name }) => /^applied ".*dropped$/.test(name));
    expect(hostile.length).to.be.above(70);
    for (const one of hostile) expect(kept(one), one.name).to.equal(undefined);
  });
});
