// Failures before cost, and what routing by zone cannot save apart from both.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { auditGroup } from '../../../../pkg/diagnosis/audit/service.ts';

type Grouped = Parameters<typeof auditGroup>[0];

const COSTLY: Grouped = {
  namespace: 'shop',
  name: 'web',
  cause: null,
  alsoFound: [],
  endpoints: 3,
  verdict: 'NotWanted',
  saving: { routing: 0.67, endpoints: 0 },
  crossZoneShare: 0.67,
  scope: { through: 'clusterIP', around: [], unseen: [], enters: '' },
};
const KEPT: Partial<Grouped> = { verdict: 'Effective', crossZoneShare: 0, saving: { routing: 0, endpoints: 0 } };
/** So many connections were measured past it to another zone, of two. */
const past = (crossing: number): Pick<Grouped, 'scope'> => {
  const measured = { connections: 2, share: 0.25, seconds: 600, seenOn: { count: 3, of: 3 }, settled: false };
  return { scope: { ...COSTLY.scope, past: { ...measured, crossing } } };
};
const cause = (reason: NonNullable<Grouped['cause']>['reason']): Grouped['cause'] => ({
  reason,
  evidence: '',
  remedy: '',
  stage: 'wanted',
  fix: [],
});

const rows: readonly { name: string; more: Partial<Grouped>; is: string }[] = [
  { name: 'traffic crosses that could stay', more: {}, is: 'Costs' },
  { name: 'it asks in vain', more: { verdict: 'Ineffective' }, is: 'Fails' },
  {
    name: 'no endpoint is ready',
    more: { cause: cause('NoReadyEndpoints'), crossZoneShare: null, saving: null },
    is: 'Fails',
  },
  {
    name: 'its zone has no endpoint and the data plane gives none',
    more: { cause: cause('CiliumNotOptedIn'), alsoFound: ['NoBackendForZone'] },
    is: 'Fails',
  },
  {
    name: 'the policy Local leaves Nodes without an endpoint, and nothing crosses',
    more: { cause: cause('NoLocalEndpoints'), crossZoneShare: 0, saving: { routing: 0, endpoints: 0 } },
    is: 'Fails',
  },
  { name: 'a Pod is published that is not ready', more: { cause: cause('PublishedNotReady') }, is: 'Fails' },
  { name: 'it has one endpoint', more: { endpoints: 1, saving: { routing: 0, endpoints: 0.67 } }, is: 'NotSavable' },
  { name: 'it has one endpoint and asks in vain', more: { endpoints: 1, verdict: 'Ineffective' }, is: 'NotSavable' },
  { name: 'it is the API server', more: { cause: cause('ApiServer') }, is: 'NotSavable' },
  { name: 'some clients bypass the proxies', more: { saving: null }, is: 'Costs' },
  { name: 'its endpoints have no zone', more: { crossZoneShare: null, saving: null }, is: 'NotKnown' },
  { name: 'it is headless', more: { cause: cause('Headless'), crossZoneShare: null, saving: null }, is: 'NotSavable' },
  {
    name: 'its endpoints share one zone and more would help',
    more: { saving: { routing: 0, endpoints: 0.67 } },
    is: 'Costs',
  },
  { name: 'no other way of routing keeps more', more: { saving: { routing: 0, endpoints: 0 } }, is: 'NotSavable' },
  { name: 'a zone is evacuated', more: { cause: cause('Evacuated'), verdict: 'Effective' }, is: 'NotSavable' },
  {
    name: 'a zone is evacuated, and hints are ignored',
    more: { cause: cause('Evacuated'), verdict: 'Ineffective' },
    is: 'Fails',
  },
  { name: 'the data plane is not known on some Nodes', more: { verdict: 'Unknown', saving: null }, is: 'Costs' },
  {
    name: 'who routes is known on no Node',
    more: { verdict: 'Unknown', saving: null, crossZoneShare: null },
    is: 'NotKnown',
  },
  {
    name: 'no Node is known',
    more: { cause: cause('NoNodes'), verdict: 'Ineffective', saving: null, crossZoneShare: null },
    is: 'NotKnown',
  },
  { name: 'all traffic stays', more: KEPT, is: 'Kept' },
  { name: 'what crosses was measured past the cluster IP', more: { ...KEPT, ...past(1) }, is: 'NotSavable' },
  { name: 'what goes past the cluster IP stays as well', more: { ...KEPT, ...past(0) }, is: 'Kept' },
];

describe('the group of an audited Service', () => {
  for (const { name, more, is } of rows) {
    it(`is ${is} where ${name}`, () => {
      expect(auditGroup({ ...COSTLY, ...more })).to.equal(is);
    });
  }
});
