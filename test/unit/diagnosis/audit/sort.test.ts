// Every order of the Services: what deserves a look first comes first, and the same input gives the same output.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { AUDIT_GROUPS, type ServiceAudit } from '../../../../pkg/diagnosis/audit/service.ts';
import { SORT_KEYS, sortServices } from '../../../../pkg/diagnosis/audit/sum.ts';
import { audit } from '../../../../pkg/diagnosis/audit/audit.ts';
import { auditCluster } from '../../../fixtures/audit-cluster.ts';
import { snapshotOf } from '../../../fixtures/snapshot.ts';

describe('audit: order', () => {
  const { nodes, services, slices } = auditCluster({ nodes: 6, services: 26, endpoints: 120 });
  const snapshot = snapshotOf(...nodes, ...services, ...slices);
  const report = audit(snapshot, { now: 0, proxy: { kind: 'kube-proxy' } });

  for (const key of SORT_KEYS) {
    it(`by ${key} is the same for any input order, and loses none`, () => {
      const sorted = sortServices(report.services, key);
      expect(sortServices([...report.services].reverse(), key)).to.deep.equal(sorted);
      expect(sorted).to.have.members(report.services);
    });
  }

  it('by worst: what fails, what costs, what cannot be saved, the rest; in each what crosses most first', () => {
    const sorted = sortServices(report.services, 'worst');
    const groups = [...Map.groupBy(sorted, ({ group }) => group)];
    expect(groups.map(([group]) => group)).to.deep.equal(
      AUDIT_GROUPS.filter((group) => groups.some(([own]) => own === group)),
    );
    for (const [group, own] of groups) {
      const found = own.map(({ crossZoneShare, weight }) => (crossZoneShare ?? 0) * weight);
      expect(found, group).to.deep.equal([...found].sort((a, b) => b - a));
    }
    expect(groups.flatMap(([, own]) => own)).to.deep.equal(sorted);
  });

  const figures: readonly (readonly [(typeof SORT_KEYS)[number], (service: ServiceAudit) => number, 1 | -1])[] = [
    ['saving', ({ saving, weight }) => (saving?.routing ?? 0) * weight, -1],
    ['cross-zone', ({ crossZoneShare }) => crossZoneShare ?? -1, -1],
    ['in-zone', ({ inZoneShare }) => inZoneShare ?? 2, 1],
    ['overload', ({ worstOverload }) => worstOverload ?? -1, -1],
    ['endpoints', ({ endpoints }) => endpoints, -1],
    ['zones', ({ zones }) => zones, 1],
  ];
  for (const [key, figure, sign] of figures) {
    it(`by ${key}: ${sign === 1 ? 'least' : 'most'} first, unknown last`, () => {
      const found = sortServices(report.services, key).map(figure);
      expect(found).to.deep.equal([...found].sort((a, b) => (a - b) * sign));
    });
  }
});
