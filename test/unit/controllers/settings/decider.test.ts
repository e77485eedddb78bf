// Which Nodes tell the zones of a cluster without Gardener.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { Namespace } from '../../../../pkg/apis/core.ts';
import type { StringMap } from '../../../../pkg/apis/meta.ts';
import {
  ANNOTATION_APPLIED,
  ANNOTATION_TOPOLOGY_MODE,
  GROUP,
  LABEL_ETCD_CLIENTS,
  LABEL_ROUTING,
  LABEL_STRATEGY,
} from '../../../../pkg/apis/names.ts';
import { decideRelease } from '../../../../pkg/controllers/settings/decider.ts';
import { service } from '../../../fixtures/core.ts';
import { NS, context } from './support.ts';

const FIELD = { trafficDistribution: 'PreferSameZone' };
const APPLIED = { annotations: { [ANNOTATION_APPLIED]: JSON.stringify(FIELD) } };

const of = (name: string) => ({ name, namespace: NS });

const namespaceWith = (labels: StringMap = {}): Namespace => ({ metadata: { name: NS, labels } });

describe('decideRelease', () => {
  const snapshot = {
    namespace: namespaceWith(),
    label: 'true',
    services: [
      service({ metadata: { ...of('routed'), ...APPLIED }, spec: FIELD }),
      service({ metadata: of('bare'), spec: FIELD }),
    ],
    // The version does not matter for a release.
    context: context({ version: undefined }),
  };
  const decision = decideRelease(snapshot)!;

  it("reverts what carries this project's settings, regardless of their writer, and nothing else", () => {
    expect(decision.objects.map(({ kind, ref }) => `${kind}/${ref.name}`)).to.deep.equal(['Service/routed']);
    expect(decision.objects.map(({ plan }) => plan.kind === 'patch' && plan.patch)).to.deep.equal([
      { spec: { trafficDistribution: null }, metadata: { annotations: { [ANNOTATION_APPLIED]: null } } },
    ]);
  });

  const planned = {
    metadata: {
      ...of('planned'),
      labels: { [LABEL_STRATEGY]: 'load-aware' },
      annotations: {
        [ANNOTATION_TOPOLOGY_MODE]: `${GROUP}/load-aware`,
        [ANNOTATION_APPLIED]: JSON.stringify({ labels: { [LABEL_STRATEGY]: 'load-aware' } }),
      },
    },
  };
  for (const { name, namespace, services, left } of [
    { name: 'nothing of ours', namespace: namespaceWith(), services: [], left: undefined },
    { name: 'our label alone', namespace: namespaceWith({ [LABEL_ROUTING]: 'true' }), services: [], left: 0 },
    {
      name: 'the label of Etcd clients alone',
      namespace: namespaceWith({ [LABEL_ETCD_CLIENTS]: 'true' }),
      services: [],
      left: 0,
    },
    {
      name: "another installation's label",
      namespace: namespaceWith({ [LABEL_ROUTING]: 'runtime' }),
      services: [],
      left: undefined,
    },
    {
      name: 'a strategy label that admission keeps',
      namespace: namespaceWith(),
      services: [service(planned)],
      left: undefined,
    },
  ])
    it(`finds ${left === undefined ? 'nothing' : 'something'} to release where there is ${name}`, () =>
      expect(decideRelease({ ...snapshot, namespace, services })?.objects.length).to.equal(left));
});
