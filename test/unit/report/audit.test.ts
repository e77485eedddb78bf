// The audit as text: columns by what is known, and nothing of objects that a terminal would obey.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { audit, type AuditOptions, type AuditReport } from '../../../pkg/diagnosis/audit/audit.ts';
import { BUILT_IN_PRICES, tariffOf } from '../../../pkg/diagnosis/prices.ts';
import { costText, renderAudit, verdictsText } from '../../../pkg/report/audit.ts';
import { type AuditCluster, auditCluster, hostileCluster } from '../../fixtures/audit-cluster.ts';
import { snapshotOf } from '../../fixtures/snapshot.ts';

const STYLE = { color: false, wide: false, columns: 100 };

const reportOf = ({ nodes, services, slices }: AuditCluster, options: Partial<AuditOptions> = {}): AuditReport =>
  audit(snapshotOf(...nodes, ...services, ...slices), { now: 0, proxy: { kind: 'kube-proxy' }, ...options });

const cluster = auditCluster({ nodes: 6, services: 13, endpoints: 70 });
const bill = { tariff: tariffOf(BUILT_IN_PRICES.aws, cluster.nodes), gigabytesPerDay: 1_000 };

const headerOf = (text: string): string[] => (text.split('\n')[0] ?? '').trim().split(/ {2,}/);

describe('report: audit as text', () => {
  it('has columns of money only with a bill, and of evidence only where it is wide', () => {
    const plain = headerOf(renderAudit(reportOf(cluster), STYLE));
    expect(plain.slice(-2)).to.deep.equal(['SAVES', 'CAUSE']);
    const money = headerOf(renderAudit(reportOf(cluster, { bill }), STYLE));
    expect(money.slice(-3)).to.deep.equal(['EST. COST/MONTH', 'EST. SAVED/MONTH', 'CAUSE']);
    const wide = headerOf(renderAudit(reportOf(cluster), { ...STYLE, wide: true }));
    expect(wide.slice(-3)).to.deep.equal(['ALSO', 'EVIDENCE', 'REMEDY']);
  });

  it('leaves columns out, the least important first, where a row would be wider than 120', () => {
    for (const options of [{}, { bill }]) {
      const [rows = ''] = renderAudit(reportOf(cluster, options), STYLE).split('\n\n');
      expect(Math.max(...rows.split('\n').map((line) => line.length))).to.be.at.most(120);
      expect(headerOf(rows)).to.include.members(['NAMESPACE', 'SERVICE', 'EFFECTIVE', 'IN ZONE', 'SAVES', 'CAUSE']);
      expect(headerOf(rows)).not.to.include('ZONES');
    }
    const wide = headerOf(renderAudit(reportOf(cluster, { bill }), { ...STYLE, wide: true }));
    expect(wide).to.include.members(['GIVEN', 'USED', 'OVERLOAD', 'ENDPOINTS', 'ZONES']);
  });

  it('breaks sentences, but no rows, at the width of the terminal', () => {
    const text = renderAudit(reportOf(cluster, { bill }), { ...STYLE, columns: 70 });
    const [rows = '', ...rest] = text.split('\n\n');
    expect(Math.max(...rows.split('\n').map((line) => line.length))).to.be.greaterThan(100);
    const sentences = rest.join('\n').split('\n').slice(1);
    expect(sentences.filter((line) => line.length > 70 && !/ {2,}/.test(line.trim()))).to.deep.equal([]);
  });

  it('says where the figures come from', () => {
    const report = reportOf(cluster, { bill });
    expect(verdictsText(report.sum)).to.match(
      /^13 Services, 6 ready Nodes: \d+ effective.*, \d+ ineffective, \d+ not wanted; 1 without/,
    );
    expect(costText(report)).to.contain(
      'At an assumed 1,000 GB a day, divided among 12 Services by their ready endpoints',
    );
    expect(costText(report)).to.contain(BUILT_IN_PRICES.aws.source);
    expect(costText(reportOf(cluster))).to.equal('');
  });

  it('passes no control character of an object to the terminal', () => {
    const evil = (text: string): string => text.replaceAll('script', String.raw`\u001b[2J\u0007`);
    const hostile = JSON.parse(evil(JSON.stringify(hostileCluster()))) as AuditCluster;
    for (const wide of [false, true]) {
      const text = renderAudit(reportOf(hostile, { bill }), { ...STYLE, wide });
      expect(text).to.contain('alert(1)');
      expect(text).not.to.match(/[\u0000-\u0009\u000B-\u001F\u007F-\u009F]/);
    }
  });

  it('of nothing is the sum alone', () => {
    const text = renderAudit(reportOf({ nodes: cluster.nodes, services: [], slices: [] }), STYLE);
    expect(text).to.match(/^0 Services, 6 ready Nodes: 0 effective/);
    expect(text).to.contain('No prediction is possible');
  });
});
