import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { KubernetesObject } from '../../../../pkg/apis/meta.ts';
import { LABEL_STRATEGY } from '../../../../pkg/apis/names.ts';
import { probedNamespace } from '../../../../pkg/diagnosis/status/findings.ts';
import { service } from '../../../fixtures/core.ts';
import { installation, namespaceObject } from '../../../fixtures/installation.ts';
import { STATUS_NOW, statusObjects } from '../../../fixtures/status-evidence.ts';

const probed = (objects: readonly KubernetesObject[]) => probedNamespace(statusObjects(objects));
const installed = installation({ now: STATUS_NOW, caBundle: 'x' });
describe('probed namespace', () => {
  it('is one that the webhook serves: never one that is left out', () => {
    const names = ['kube-system', 'default', 'zoo', 'shop'].map((name) => namespaceObject(name));
    expect(probed([...installed, ...names])).to.equal('shop');
  });

  it('is rather one with a managed Service', () => {
    const own = service({ metadata: { name: 'web', namespace: 'zoo', labels: { [LABEL_STRATEGY]: 'same-zone' } } });
    expect(probed([...installed, namespaceObject('shop'), own])).to.equal('zoo');
  });

  it('is empty where all that is known is left out', () => {
    expect(probed([...installed, namespaceObject('default')])).to.equal('');
  });

  it('is undefined where nothing is registered', () => {
    const bare = installed.filter(({ kind }) => kind !== 'MutatingWebhookConfiguration');
    expect(probed([...bare, namespaceObject('shop')])).to.equal(undefined);
  });
});
