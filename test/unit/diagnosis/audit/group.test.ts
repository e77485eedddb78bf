// Failures before cost, and what routing by zone cannot save apart from both.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { auditGroup } from '../../../../pkg/diagnosis/audit/service.ts';

type Grouped = Parameters<typeof auditGroup>[0];

const COSTLY: Grouped = {
  cause: null,
  alsoFound: [],
  endpoints: 3,
  verdict: 'NotWanted',
  saving: { routing: 0.67, endpoints: 0 },
  crossZoneShare: 0.67,
  scope: { through: 'clusterIP', around: [], unseen: [], seenIn: [], seenShare: null, enters: '', foreign: false },
};
const UNKNOWN = { saving: null, crossZoneShare: null };
const KEPT: Partial<Grouped> = { verdict: 'Effective', crossZoneShare: 0, saving: { routing: 0, endpoints: 0 } };
/** So many connections were measured past it to another zone, of two. */
const past = (crossing: number): Pick<Grouped, 'scope'> => {
  const measured = { connections: 2, share: 0.25, seconds: 600, seenOn: { count: 3, of: 3 }, settled: false };
  return { scope: { ...COSTLY.scope, past: { ...measured, crossing } } };
};
const way = (keeps: true): Pick<Grouped, 'scope'> => {
  const around = [{ client: 'istio' as const, object: 'Pod shop/client', possible: false, all: true as const, keeps }];
  return { scope: { ...COSTLY.scope, around } };
};
const cause = (reason: NonNullable<Grouped['cause']>['reason']): Grouped['cause'] => ({
  reason,
  evidence: '',
  remedy: '',
  stage: 'wanted',
  fix: [],
});

const rows: readonly (readonly [name: string, more: Partial<Grouped>, is: string])[] = [
  ['traffic crosses that could stay', {}, 'Costs'],
  ['it requests routing without effect', { verdict: 'Ineffective' }, 'Fails'],
  ['no endpoint is ready', { ...UNKNOWN, cause: cause('NoReadyEndpoints') }, 'Fails'],
  [
    'its zone has no endpoint and the data plane gives none',
    { cause: cause('CiliumNotOptedIn'), alsoFound: ['NoBackendForZone'] },
    'Fails',
  ],
  [
    'the policy Local leaves Nodes without an endpoint, and nothing crosses',
    { cause: cause('NoLocalEndpoints'), crossZoneShare: 0, saving: { routing: 0, endpoints: 0 } },
    'Fails',
  ],
  ['a Pod is published that is not ready', { cause: cause('PublishedNotReady') }, 'Fails'],
  ['it has one endpoint', { endpoints: 1, saving: { routing: 0, endpoints: 0.67 } }, 'NotSavable'],
  ['it has one endpoint and requests routing without effect', { endpoints: 1, verdict: 'Ineffective' }, 'NotSavable'],
  ['it is the API server', { cause: cause('ApiServer') }, 'NotSavable'],
  ['clients go another way', { ...UNKNOWN, cause: cause('ClusterIPNotUsed') }, 'NotSavable'],
  ['these keep to zones', { ...UNKNOWN, ...way(true) }, 'Kept'],
  ['some clients bypass the proxies', { saving: null }, 'Costs'],
  ['its endpoints have no zone', UNKNOWN, 'NotKnown'],
  ['it is headless', { ...UNKNOWN, cause: cause('Headless') }, 'NotSavable'],
  ['its endpoints share one zone and more would help', { saving: { routing: 0, endpoints: 0.67 } }, 'Costs'],
  ['no other way of routing keeps more', { saving: { routing: 0, endpoints: 0 } }, 'NotSavable'],
  ['a zone is evacuated', { cause: cause('Evacuated'), verdict: 'Effective' }, 'NotSavable'],
  ['a zone is evacuated, and hints are ignored', { cause: cause('Evacuated'), verdict: 'Ineffective' }, 'Fails'],
  ['the data plane is not known on some Nodes', { verdict: 'Unknown', saving: null }, 'Costs'],
  ['who routes is known on no Node', { ...UNKNOWN, verdict: 'Unknown' }, 'NotKnown'],
  ['no Node is known', { ...UNKNOWN, cause: cause('NoNodes'), verdict: 'Ineffective' }, 'NotKnown'],
  ['all traffic stays', KEPT, 'Kept'],
  ['what crosses was measured past the cluster IP', { ...KEPT, ...past(1) }, 'NotSavable'],
  ['what goes past the cluster IP stays as well', { ...KEPT, ...past(0) }, 'Kept'],
];

describe('the group of an audited Service', () => {
  for (const [name, more, is] of rows) {
    it(`is ${is} where ${name}`, () => {
      expect(auditGroup({ ...COSTLY, ...more })).to.equal(is);
    });
  }
});
