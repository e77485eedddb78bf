// Plans that revert the settings of a single object, a malformed record, and the report.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { planSettings } from '../../../pkg/routing/plan.ts';
import { APPLIED, CONSIDER, deepFreeze } from './support.ts';
import { on, patchOf, plan } from './plan-support.ts';
import type { JsonPatchOperation } from '../../../pkg/apis/admission.ts';
import { keepSettings } from '../../../pkg/routing/keep.ts';
import { applyMergePatch, createRoutingSettingsHandler } from '../../../pkg/webhook/routing-settings.ts';
import { applyJsonPatch } from '../../fixtures/json-patch.ts';
import type { SettingsCase } from '../../fixtures/settings-cases.ts';
import { SETTINGS_CASES } from '../../fixtures/settings-cases.ts';

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
