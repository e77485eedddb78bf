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

const considered = { labels: { [CONSIDER]: 'true' } };
const field = (trafficDistribution: string) => ({ trafficDistribution });
const record = (applied: object, more: object = {}) => ({ annotations: { ...more, [APPLIED]: applied } });
const [CLOSE, SAME] = [field('PreferClose'), field('PreferSameZone')];
const LOAD_AWARE = { labels: { [STRATEGY]: 'load-aware' } };
const hinted = { [HINTS]: 'auto' };
const prefixed = { [MODE]: SAME_ZONE };

describe('planSettings on: a bare Service', () => {
  check([
    {
      name: '1.26: annotation and label',
      object: {},
      want: on(26),
      patch: { metadata: { ...considered, ...record({ ...considered, annotations: hinted }, hinted) } },
    },
    {
      name: '1.31: field and label',
      object: {},
      want: on(31),
      patch: { metadata: { ...considered, ...record({ ...considered, ...CLOSE }) }, spec: CLOSE },
    },
    { name: '1.34: the field alone', object: {}, want: on(34), patch: { metadata: record(SAME), spec: SAME } },
    {
      name: 'while a kubelet is 1.30 or older: the domain-prefixed annotation beside the field',
      object: {},
      want: on(34),
      mixedKubelets: true,
      patch: { metadata: record({ annotations: prefixed, ...SAME }, prefixed), spec: SAME },
    },
    {
      name: 'a strategy: its label',
      object: {},
      want: strategySettings({ major: 1, minor: 34 }, 'load-aware'),
      patch: { metadata: { ...LOAD_AWARE, ...record(LOAD_AWARE) } },
    },
  ]);
});

describe('planSettings on: what is there already', () => {
  const documented = (auto: string) => ({ ...considered, annotations: { [MODE]: auto } });
  const claimed = { field: 'PreferClose', ...considered, applied: { ...CLOSE, ...considered, annotations: {} } };
  check([
    { name: "Gardener's own equal value", object: { field: 'PreferSameZone' }, want: on(34), patch: undefined },
    { name: 'our own', object: { field: 'PreferSameZone', applied: SAME }, want: on(34), patch: undefined },
    { name: "Gardener's documented form up to 1.30", object: documented('auto'), want: on(30), patch: undefined },
    { name: 'the other spelling of auto is as good', object: documented('Auto'), want: on(30), patch: undefined },
    {
      name: 'half of it: only the rest is set and claimed',
      object: { field: 'PreferClose' },
      want: on(31),
      patch: { metadata: { ...considered, ...record(considered) } },
    },
    { name: 'another order of keys in applied is no reason to write', object: claimed, want: on(31), patch: undefined },
    {
      name: 'the owner has since set what is wanted: the claim is dropped',
      object: { field: 'PreferSameZone', applied: CLOSE },
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
