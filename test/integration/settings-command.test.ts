// The settings-reconciler as a process: flags, exit codes, dry run, cleanup, probes, and a stop that leaves nothing behind.
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import type { EndpointSlice, Lease } from '../../pkg/apis/core.ts';
import { ANNOTATION_EVACUATED, LABEL_ROUTING, NOWHERE } from '../../pkg/apis/names.ts';
import { ENDPOINT_SLICES, LEASES, NAMESPACES } from '../../pkg/apis/resources.ts';
import { runInProcess } from '../fixtures/command-in-process.ts';
import { startCommand } from '../fixtures/command-process.ts';
import { endpoint, node, service, slice } from '../fixtures/core.ts';
import { cluster, etcd, namespace } from '../fixtures/gardener.ts';
import { eventually } from './controller-bed.ts';
import {
  expectOnlyReads,
  expectWell,
  explainsItself,
  openCommandFolder,
  refusesWrongArguments,
  urlsOf,
} from './controller-command.ts';
import type { CommandFolder } from './controller-command.ts';
import { type Bed, USER, openBed } from './settings-support.ts';

const NS = 'shoot--foo--bar';

const start = (...args: string[]) => startCommand('settings-reconciler', args);
const run = (...args: string[]) => runInProcess('settings-reconciler', args);

describe('the settings-reconciler command', () => {
  let bed: Bed;
  let folder: CommandFolder;
  before(async () => {
    bed = await openBed();
    await bed.apply(
      ...['eu-1a', 'eu-1b'].map((zone) => node({ zone })),
      namespace(),
      cluster(),
      service({ metadata: { name: 'vpa-webhook', namespace: NS } }),
      service({ metadata: { name: 'kube-apiserver', namespace: NS } }),
      etcd(),
    );
    const config = 'kind: SettingsReconcilerConfiguration\nmodes: {seed: {}}\nkeep: on\n';
    folder = openCommandFolder(bed, USER, { 'config.yaml': config });
  });
  after(() => bed.close());

  refusesWrongArguments(start);
  it('exits with 2 for a version that is none', async () => {
    const { code, stderr } = await run(...folder.flags, '--kubernetes-version', 'x');
    expect([code, stderr]).to.deep.equal([2, stderr.match(/.*"x" is not a Kubernetes version.*\n/)?.[0]]);
  });
  explainsItself(run, '--dry-run -o json');

  it('prints what it would change, as table and as JSON, and writes nothing', async () => {
    bed.sandbox.clearRequests();
    const table = await run(...folder.flags, '--dry-run');
    expect(table.code, table.stderr).to.equal(0);
    expect(table.stdout).to.match(/^NAMESPACE +OBJECT +FIELD +BEFORE +AFTER +REASON$/m);
    expect(table.stdout).to.match(
      /^shoot--foo--bar +Service\/vpa-webhook +spec\.trafficDistribution +- +PreferSameZone +Enabled$/m,
    );
    expect(table.stdout).to.match(/Service\/kube-apiserver +LayerSevenLoadBalancing/);
    expect(table.stdout).to.contain('1 Service(s) would be changed, 0 are up to date, 1 Etcd(s) would be hinted');
    const json = await run(...folder.flags, '--dry-run', '-o', 'json');
    const report = JSON.parse(json.stdout) as { changes: unknown[]; refused: { reason: string }[] };
    expect(report.changes).to.have.length(2);
    expect(report.refused.map(({ reason }) => reason)).to.deep.equal(['LayerSevenLoadBalancing']);
    expectOnlyReads(bed, USER);
  });

  it('runs until SIGTERM with probes and metrics, leads by Lease, and --cleanup takes everything back', async () => {
    const child = start(...folder.flags, '--health-port', '0', '--metrics-port', '0', '--bind-address', '127.0.0.1');
    const { health, metrics } = await urlsOf(child);
    await eventually(() => expect(bed.service(NS, 'vpa-webhook').spec?.trafficDistribution).to.equal('PreferSameZone'));
    await expectWell(health);
    await eventually(() =>
      expect(bed.sandbox.get(NAMESPACES, { name: NS })?.metadata?.labels?.[LABEL_ROUTING]).to.equal('true'),
    );
    await eventually(async () => {
      const text = await (await fetch(metrics)).text();
      expect(text).to.contain('topology_aware_routing_settings_objects{owner="shoot-settings",reason="Enabled"} 2');
      expect(text).to.contain('reason="LayerSevenLoadBalancing"} 1');
      expect(text).to.contain('topology_aware_routing_settings_writes_total{kind="Service",cause="change"} 1');
    });
    child.kill('SIGTERM');
    expect((await child.ended).code, child.output()).to.equal(0);
    const lease = bed.sandbox.get<Lease>(LEASES, { namespace: 'default', name: 'settings-reconciler' });
    expect(lease?.spec?.holderIdentity, 'released').to.be.oneOf(['', undefined]);

    // An evacuation that was not ended before its components were stopped.
    const mark = JSON.stringify({ evacuated: { 'eu-1a': true }, alsoServe: [], original: 'own' });
    const evacuated = slice({
      metadata: { namespace: NS, annotations: { [ANNOTATION_EVACUATED]: mark } },
      endpoints: [endpoint({ zone: 'eu-1a', hints: { forZones: [{ name: NOWHERE }] } })],
    });
    await bed.apply(evacuated);

    const cleaned = await run(...folder.flags, '--cleanup');
    expect(cleaned.code, cleaned.stderr).to.equal(0);
    expect(cleaned.stdout).to.equal(
      '1 evacuated EndpointSlice(s) returned\nsettings removed from 1 Service(s), marks from 1 Namespace(s) and 0 EndpointSlice(s)\n',
    );
    const ref = { namespace: NS, name: evacuated.metadata?.name ?? '' };
    const returned = bed.sandbox.get<EndpointSlice>(ENDPOINT_SLICES, ref);
    expect(returned?.endpoints?.[0]?.hints).to.deep.equal({ forZones: [{ name: 'eu-1a' }] });
    expect(returned?.metadata?.annotations ?? {}).to.deep.equal({});
    expect(bed.service(NS, 'vpa-webhook').spec?.trafficDistribution).to.equal(undefined);
    expect(bed.service(NS, 'vpa-webhook').metadata?.annotations ?? {}).to.deep.equal({});
    expect(bed.etcd(NS, 'etcd-main').metadata?.generation, 'never written').to.equal(1);
    expect(bed.sandbox.get(NAMESPACES, { name: NS })?.metadata?.labels).not.to.have.property(LABEL_ROUTING);
  });
});
