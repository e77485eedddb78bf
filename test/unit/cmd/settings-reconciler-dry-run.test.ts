import { expect } from 'chai';
import { describe, it } from 'mocha';
import { renderReport, reportOf } from '../../../cmd/settings-reconciler/dry-run.ts';
import { ENABLED, etcdDecision, namespaceDecision, serviceDecision } from '../controllers/settings/support.ts';

const serviceWith = (name: string, trafficDistribution: string, annotations = {}) =>
  serviceDecision(name, ENABLED, { metadata: { annotations }, spec: { trafficDistribution } });

describe('dry run', () => {
  it('lists what fields hold before and after, counts what is right, and says what is done for Etcds', () => {
    const applied = { 'topology.extensions.gardener.cloud/applied': '{"trafficDistribution":"PreferClose"}' };
    const objects = [
      etcdDecision(),
      serviceWith('older', 'PreferClose', applied),
      serviceWith('done', 'PreferSameZone'),
    ];
    const report = reportOf([namespaceDecision({ objects })], { major: 1, minor: 34 });
    expect(report.changes[0]).to.deep.include({ name: 'older', before: 'PreferClose', after: 'PreferSameZone' });
    expect(report).to.deep.include({ kubernetesVersion: '1.34', unchanged: 1 });
    const settings =
      "hints at once, trafficDistribution=PreferClose with etcd-druid's next write of the client Service";
    expect(report.etcds).to.deep.equal([{ namespace: 'shoot--foo--bar', name: 'etcd-main', settings }]);
    expect(renderReport(report, 'table')).to.match(/^NAMESPACE +ETCD +SETTINGS\n/m);
  });

  it('says so where nothing is to do and the version is not known', () => {
    expect(renderReport(reportOf([], undefined), 'table')).to.equal(
      'Kubernetes unknown: 0 Service(s) would be changed, 0 are up to date, 0 Etcd(s) would be hinted, 0 object(s) are refused. Nothing was written.\n',
    );
  });
});
