import { expect } from 'chai';
import { describe, it } from 'mocha';
import { renderReport, reportOf } from '../../../cmd/settings-reconciler/dry-run.ts';
import {
  ENABLED,
  etcdDecision,
  namespaceDecision,
  refusedFor,
  serviceDecision,
} from '../controllers/settings/support.ts';

const VERSION = { major: 1, minor: 34 };
const report = reportOf(
  [
    namespaceDecision({
      objects: [
        etcdDecision(),
        serviceDecision('vpa-webhook'),
        serviceDecision('done', ENABLED, { spec: { trafficDistribution: 'PreferSameZone' } }),
        serviceDecision('left-out', refusedFor('LayerSevenLoadBalancing')),
      ],
    }),
  ],
  VERSION,
);

describe('dry run', () => {
  it('lists each field that would change with its reason', () => {
    expect(report.kubernetesVersion).to.equal('1.34');
    expect(
      report.changes.map(({ kind, name, field, before, after, reason }) => [kind, name, field, before, after, reason]),
    ).to.deep.equal([
      ['Service', 'vpa-webhook', 'spec.trafficDistribution', null, 'PreferSameZone', 'Enabled'],
      [
        'Service',
        'vpa-webhook',
        'metadata.annotations[topology.extensions.gardener.cloud/applied]',
        null,
        '{"trafficDistribution":"PreferSameZone"}',
        'Enabled',
      ],
    ]);
  });

  it('lists Etcds with what is done for their client Services: they are never written', () => {
    expect(report.etcds).to.deep.equal([
      {
        namespace: 'shoot--foo--bar',
        name: 'etcd-main',
        settings: "hints at once, trafficDistribution=PreferClose with etcd-druid's next write of the client Service",
      },
    ]);
    expect(renderReport(report, 'table')).to.match(/^NAMESPACE +ETCD +SETTINGS\n/m);
  });

  it('lists what stays without settings, and counts what is right', () => {
    expect(report.refused.map(({ name, reason }) => [name, reason])).to.deep.equal([
      ['left-out', 'LayerSevenLoadBalancing'],
    ]);
    expect(report.unchanged).to.equal(1);
  });

  it('says so where nothing is to do and the version is not known', () => {
    const nothing = reportOf([], undefined);
    expect(renderReport(nothing, 'table')).to.equal(
      'Kubernetes unknown: 0 Service(s) would be changed, 0 are up to date, 0 Etcd(s) would be hinted, 0 object(s) are refused. Nothing was written.\n',
    );
    expect(nothing.kubernetesVersion).to.equal(null);
  });
});
