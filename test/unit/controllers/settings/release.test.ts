// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { ANNOTATION_APPLIED } from '../../../../pkg/apis/names.ts';
import { decideRelease } from '../../../../pkg/controllers/settings/release.ts';
import { service } from '../../../fixtures/core.ts';
import { NS, context } from './support.ts';

const FIELD = { trafficDistribution: 'PreferSameZone' };
const APPLIED = { annotations: { [ANNOTATION_APPLIED]: JSON.stringify(FIELD) } };

const of = (name: string) => ({ name, namespace: NS });

describe('decideRelease', () => {
  const decision = decideRelease({
    namespace: NS,
    managed: {
      owner: 'shoot-settings',
      enabled: true,
      objects: [
        { kind: 'Service', ref: of('routed') },
        { kind: 'Service', ref: of('bare') },
        { kind: 'Service', ref: of('gone') },
        { kind: 'Etcd', ref: of('etcd-main') },
      ],
    },
    services: [
      service({ metadata: { ...of('routed'), ...APPLIED }, spec: FIELD }),
      service({ metadata: of('bare'), spec: FIELD }),
      service({ metadata: { ...of('other'), ...APPLIED }, spec: FIELD }),
    ],
    // The version does not matter for taking back.
    context: context({ version: undefined }),
  });

  it('takes back what the process decided about and what still carries settings, and nothing else', () => {
    expect(decision.objects.map(({ kind, ref }) => `${kind}/${ref.name}`)).to.deep.equal(['Service/routed']);
    expect(decision.objects.map(({ plan }) => plan.kind === 'patch' && plan.patch)).to.deep.equal([
      { spec: { trafficDistribution: null }, metadata: { annotations: { [ANNOTATION_APPLIED]: null } } },
    ]);
  });

  it('says why, about the namespace', () => {
    expect(decision.decision).to.deep.include({ kind: 'refused', reason: 'NamespaceNotOwned' });
    expect(decision.regarding).to.deep.equal({ apiVersion: 'v1', kind: 'Namespace', name: NS });
    expect(decision.owner).to.equal('shoot-settings');
  });
});
