// Plans that set something on a single object: what is set, what stays, and who owns it.
import { describe, it } from 'mocha';
import { expect } from 'chai';
import { planSettings, strategySettings } from '../../../pkg/routing/plan.ts';
import { APPLIED, CONSIDER, HINTS, MODE, STRATEGY, deepFreeze } from './support.ts';
import { check, on, patchOf, plan } from './plan-support.ts';
import type { JsonPatchOperation } from '../../../pkg/apis/admission.ts';
import { keepSettings } from '../../../pkg/routing/keep.ts';
import { applyMergePatch } from '../../../pkg/apis/values.ts';
import { createRoutingSettingsHandler } from '../../../pkg/webhook/routing-settings.ts';
import { applyJsonPatch } from '../../sandbox/patch-json.ts';
import { SETTINGS_CASES, type SettingsCase } from '../../fixtures/settings-cases.ts';

const SAME_ZONE = 'topology.extensions.gardener.cloud/same-zone';

describe('planSettings on: a bare Service', () => {
  check([
    {
      name: '1.26: annotation and label',
      object: {},
      want: on(26),
      patch: {
        metadata: {
          labels: { [CONSIDER]: 'true' },
          annotations: {
            [HINTS]: 'auto',
            [APPLIED]: { labels: { [CONSIDER]: 'true' }, annotations: { [HINTS]: 'auto' } },
          },
        },
      },
    },
    {
      name: '1.31: field and label',
      object: {},
      want: on(31),
      patch: {
        metadata: {
          labels: { [CONSIDER]: 'true' },
          annotations: { [APPLIED]: { labels: { [CONSIDER]: 'true' }, trafficDistribution: 'PreferClose' } },
        },
        spec: { trafficDistribution: 'PreferClose' },
      },
    },
    {
      name: '1.34: the field alone',
      object: {},
      want: on(34),
      patch: {
        metadata: { annotations: { [APPLIED]: { trafficDistribution: 'PreferSameZone' } } },
        spec: { trafficDistribution: 'PreferSameZone' },
      },
    },
    {
      name: 'while a kubelet is 1.30 or older: the domain-prefixed annotation beside the field',
      object: {},
      want: on(34),
      mixedKubelets: true,
      patch: {
        metadata: {
          annotations: {
            [MODE]: SAME_ZONE,
            [APPLIED]: { annotations: { [MODE]: SAME_ZONE }, trafficDistribution: 'PreferSameZone' },
          },
        },
        spec: { trafficDistribution: 'PreferSameZone' },
      },
    },
    {
      name: 'a strategy: its label',
      object: {},
      want: strategySettings({ major: 1, minor: 34 }, 'load-aware'),
      patch: {
        metadata: {
          labels: { [STRATEGY]: 'load-aware' },
          annotations: { [APPLIED]: { labels: { [STRATEGY]: 'load-aware' } } },
        },
      },
    },
  ]);
});

describe('planSettings on: what is there already', () => {
  check([
    {
      name: "Gardener's own equal value: nothing to do",
      object: { field: 'PreferSameZone' },
      want: on(34),
      patch: undefined,
    },
    {
      name: 'our own equal value: nothing to do',
      object: { field: 'PreferSameZone', applied: { trafficDistribution: 'PreferSameZone' } },
      want: on(34),
      patch: undefined,
    },
    {
      name: "Gardener's documented form up to 1.30: nothing to do",
      object: { labels: { [CONSIDER]: 'true' }, annotations: { [MODE]: 'auto' } },
      want: on(30),
      patch: undefined,
    },
    {
      name: 'the other spelling of auto is as good',
      object: { labels: { [CONSIDER]: 'true' }, annotations: { [MODE]: 'Auto' } },
      want: on(30),
      patch: undefined,
    },
    {
      name: 'half of it: only the rest is set and claimed',
      object: { field: 'PreferClose' },
      want: on(31),
      patch: {
        metadata: { labels: { [CONSIDER]: 'true' }, annotations: { [APPLIED]: { labels: { [CONSIDER]: 'true' } } } },
      },
    },
    {
      name: 'another order of keys in applied is no reason to write',
      object: {
        field: 'PreferClose',
        labels: { [CONSIDER]: 'true' },
        applied: { trafficDistribution: 'PreferClose', labels: { [CONSIDER]: 'true' }, annotations: {} },
      },
      want: on(31),
      patch: undefined,
    },
    {
      name: 'the owner has since set what is wanted: the claim is dropped',
      object: { field: 'PreferSameZone', applied: { trafficDistribution: 'PreferClose' } },
      want: on(34),
      patch: { metadata: { annotations: { [APPLIED]: null } } },
    },
  ]);
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
