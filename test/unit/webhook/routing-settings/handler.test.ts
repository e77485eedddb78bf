import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { AdmissionRequest } from '../../../../pkg/apis/admission.ts';
import { ANNOTATION_APPLIED } from '../../../../pkg/apis/names.ts';
import { createRoutingSettingsHandler } from '../../../../pkg/webhook/routing-settings.ts';
import { service } from '../../../fixtures/core.ts';

const RECONCILER = 'system:serviceaccount:extension-tar:settings-reconciler';
const annotations = { [ANNOTATION_APPLIED]: '{"trafficDistribution":"PreferSameZone"}' };
const applied = service({ metadata: { annotations }, spec: { trafficDistribution: 'PreferSameZone' } });
/** Drops what was applied. */
const dropping = (username: string): AdmissionRequest => ({
  uid: '1',
  kind: { group: '', version: 'v1', kind: 'Service' },
  operation: 'UPDATE',
  userInfo: { username },
  object: service(),
  oldObject: applied,
});

describe('the handler of settings', () => {
  const handle = createRoutingSettingsHandler({ settingsReconcilerUser: RECONCILER });
  const users = [
    { name: 'gardenlet', user: 'system:serviceaccount:garden:gardenlet', kind: 'patch' },
    { name: 'our reconciler', user: RECONCILER, kind: 'unchanged' },
    {
      name: 'the reconciler of another installation',
      user: 'system:serviceaccount:runtime-extension-tar:settings-reconciler',
      kind: 'unchanged',
    },
    { name: 'a person who is called like one', user: 'settings-reconciler', kind: 'patch' },
    { name: 'an account that only begins so', user: 'system:serviceaccount:x:settings-reconciler-2', kind: 'patch' },
    { name: 'nobody', user: '', kind: 'patch' },
  ];
  for (const { name, user, kind } of users) {
    it(`${kind === 'patch' ? 'puts back what is dropped by' : 'follows'} ${name}`, () =>
      expect(handle(dropping(user)).kind).to.equal(kind));
  }

  it('configured with a user of another form, leaves the writes of that user alone', () => {
    const outside = createRoutingSettingsHandler({ settingsReconcilerUser: 'reconciler' });
    expect(outside(dropping('reconciler')).kind).to.equal('unchanged');
  });
});
