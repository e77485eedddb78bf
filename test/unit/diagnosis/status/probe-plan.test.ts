// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { KubernetesObject } from '../../../../pkg/apis/meta.ts';
import { EXTENSION_NAME, LABEL_STRATEGY } from '../../../../pkg/apis/names.ts';
import { probePlan } from '../../../../pkg/diagnosis/status/probe-plan.ts';
import { service } from '../../../fixtures/core.ts';
import { installation, namespaceObject } from '../../../fixtures/installation.ts';
import { STATUS_NOW, statusObjects } from '../../../fixtures/status-evidence.ts';

const plan = (objects: readonly KubernetesObject[]) =>
  probePlan(statusObjects(objects)).map(({ carrier, namespace }) => [carrier, namespace]);
const installed = installation({ now: STATUS_NOW, caBundle: 'x' });
const policy = (name: string, excluded: string) => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'MutatingAdmissionPolicy',
  metadata: { name, labels: { 'app.kubernetes.io/name': EXTENSION_NAME } },
  spec: {
    matchConstraints: {
      namespaceSelector: {
        matchExpressions: [{ key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: [excluded] }],
      },
    },
  },
});

describe('probe plan', () => {
  it('tries the webhook where it serves: never in a namespace that is left out', () => {
    const names = ['kube-system', 'default', 'zoo', 'shop'].map((name) => namespaceObject(name));
    expect(plan([...installed, ...names])).to.deep.equal([['webhook', 'shop']]);
  });

  it('prefers a namespace with a managed Service', () => {
    const own = service({ metadata: { name: 'web', namespace: 'zoo', labels: { [LABEL_STRATEGY]: 'same-zone' } } });
    expect(plan([...installed, namespaceObject('shop'), own])).to.deep.equal([['webhook', 'zoo']]);
  });

  it('knows of no namespace where all that is known is left out', () => {
    expect(plan([...installed, namespaceObject('default')])).to.deep.equal([['webhook', undefined]]);
  });

  it('tries policies as well, by their own selectors, and each backend once', () => {
    const policies = [policy('x.same-zone', 'shop'), policy('x.same-node', 'nowhere')];
    const objects = [...installed, namespaceObject('shop'), namespaceObject('zoo'), ...policies];
    expect(plan(objects)).to.deep.equal([
      ['webhook', 'shop'],
      ['policy', 'extension-topology'],
    ]);
  });

  it('tries nothing where nothing is registered', () => {
    const bare = installed.filter(({ kind }) => kind !== 'MutatingWebhookConfiguration');
    expect(plan([...bare, namespaceObject('shop')])).to.deep.equal([]);
  });
});
