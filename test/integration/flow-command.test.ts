// The flow-controller as a process: flags, exit codes, cleanup, probes, metrics, and one leader of two.
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import type { Lease } from '../../pkg/apis/core.ts';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import {
  ANNOTATION_APPLIED,
  ANNOTATION_INSTALLATION,
  ANNOTATION_PLAN,
  ANNOTATION_TOPOLOGY_MODE,
  GROUP,
  LABEL_STRATEGY,
} from '../../pkg/apis/names.ts';
import { LEASES } from '../../pkg/apis/resources.ts';
import { POD_METRICS } from '../../pkg/metrics/resource-metrics.ts';
import { NAMESPACE, USER, flowNode, flowPod, flowService, openFlowBed } from './flow-support.ts';
import type { FlowBed } from './flow-support.ts';
import { runInProcess } from '../fixtures/command-in-process.ts';
import { startCommand } from '../fixtures/command-process.ts';
import { eventually } from './controller-bed.ts';
import { expectWell, explainsItself, openCommandFolder, refusesWrongArguments, urlsOf } from './controller-command.ts';
import type { CommandFolder } from './controller-command.ts';

const ZONES = ['a', 'b'];
const LOAD_AWARE = { [ANNOTATION_TOPOLOGY_MODE]: `${GROUP}/load-aware` };
const LEASE = { namespace: 'own', name: 'flow-controller' };

const ENV = { POD_NAMESPACE: LEASE.namespace };
const start = (...args: string[]) => startCommand('flow-controller', args, ENV);
const run = (...args: string[]) => runInProcess('flow-controller', args, ENV);

const podMetrics = (name: string, cores: number): KubernetesObject =>
  ({
    apiVersion: 'metrics.k8s.io/v1beta1',
    kind: 'PodMetrics',
    metadata: { name, namespace: NAMESPACE, labels: { app: 'web' } },
    timestamp: new Date(Date.now() - 1_000).toISOString(),
    window: '15s',
    containers: [{ name: 'web', usage: { cpu: `${Math.round(cores * 1_000)}m`, memory: '1Mi' } }],
  }) as KubernetesObject;

describe('the flow-controller command', function onSandbox() {
  this.timeout(180_000);
  let bed: FlowBed;
  let folder: CommandFolder;
  const serving = ['--health-port', '0', '--metrics-port', '0', '--bind-address', '127.0.0.1'];

  before(async () => {
    bed = await openFlowBed({ resources: [POD_METRICS] });
    bed.sandbox.seed([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: LEASE.namespace } }]);
    await bed.apply(...ZONES.map((zone) => flowNode(zone)), ...ZONES.map((zone) => flowPod(`web-${zone}`, zone)));
    await bed.apply(podMetrics('web-a', 1), podMetrics('web-b', 0.1));
    await bed.apply(flowService({ annotations: LOAD_AWARE }));
    await bed.sandbox.settled();
    const kind = 'kind: FlowControllerConfiguration\n';
    folder = openCommandFolder(bed, USER, {
      'config.yaml': kind,
      'broken.yaml': `${kind}metricSources: [{name: p, type: Prometheus}]`,
      'selector.yaml': `${kind}namespaceSelector: {matchExpressions: [{key: x, operator: In}]}`,
    });
  });
  after(async () => {
    await bed.close();
    folder.remove();
  });

  refusesWrongArguments(run, start, () => folder.flags, [
    { name: 'a dry run', args: () => [...folder.flags, '--dry-run'], says: /unknown option '--dry-run'/ },
    {
      name: 'a source without URL',
      args: () => ['--config', folder.at('broken.yaml')],
      says: /broken\.yaml:3:\d+: metricSources\[0\]\.url: is required/,
    },
    {
      name: 'a selector without values',
      args: () => ['--config', folder.at('selector.yaml')],
      says: /selector\.yaml:3:\d+: namespaceSelector\.matchExpressions\[0\]/,
    },
  ]);
  explainsItself(run, '--cleanup');

  it('runs until SIGTERM with probes and metrics, one replica at a time, and --cleanup takes everything back', async () => {
    const child = start(...folder.flags, ...serving);
    const { health, metrics } = await urlsOf(child);
    await expectWell(health);
    await eventually(() => expect(bed.conditions('web')['Effective']).to.equal('True/PlanInForce'));
    await eventually(async () => {
      const text = await (await fetch(metrics)).text();
      expect(text).to.contain(
        'topology_aware_routing_flow_services{strategy="load-aware",condition="Effective",reason="PlanInForce"} 1',
      );
      expect(text).to.contain(
        'topology_aware_routing_flow_load_reads_total{source="metrics.k8s.io",outcome="success"}',
      );
    });
    const standby = start(...folder.flags, ...serving);
    await eventually(() => expect(standby.output()).to.contain('caches are filled'));
    expect(standby.output()).not.to.contain('started leading');
    child.kill('SIGTERM');
    expect((await child.ended).code, child.output()).to.equal(0);
    await eventually(() => expect(standby.output()).to.contain('started leading'));
    standby.kill('SIGTERM');
    expect((await standby.ended).code, standby.output()).to.equal(0);
    expect(bed.sandbox.get<Lease>(LEASES, LEASE)?.spec?.holderIdentity, 'released').to.be.oneOf(['', undefined]);

    const cleaned = await run(...folder.flags, '--cleanup');
    expect(cleaned.code, cleaned.stderr).to.equal(0);
    expect(cleaned.stdout).to.match(/labels from 1 Service\(s\); 1 FlowPolicy\(s\) removed/);
    await bed.sandbox.settled();
    expect(bed.service('web').metadata?.labels ?? {}).not.to.have.property(LABEL_STRATEGY);
    expect(bed.service('web').metadata?.annotations ?? {}).not.to.have.property(ANNOTATION_APPLIED);
    for (const { metadata, endpoints } of bed.slices('web')) {
      expect(metadata?.annotations ?? {}).not.to.have.property(ANNOTATION_PLAN);
      for (const { hints } of endpoints ?? []) expect(hints).to.equal(undefined);
    }
    expect(bed.policy('web')).to.equal(undefined);
    expect(bed.sandbox.get(LEASES, LEASE), 'no planner any more').to.equal(undefined);
  });

  it('--cleanup takes nothing back while another installation plans', async () => {
    const metadata = { ...LEASE, annotations: { [ANNOTATION_INSTALLATION]: 'runtime-extension-x' } };
    const spec = { holderIdentity: 'somebody', leaseDurationSeconds: 15, renewTime: '2026-01-01T00:00:00.000000Z' };
    bed.sandbox.seed([{ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec } as Lease]);
    const cleaned = await run(...folder.flags, '--cleanup');
    expect(cleaned.code, cleaned.stderr).to.equal(0);
    expect(cleaned.stdout).to.equal(
      'the flow-controller of namespace runtime-extension-x plans in this cluster: nothing is removed\n',
    );
    expect(bed.sandbox.get<Lease>(LEASES, LEASE)?.spec?.holderIdentity).to.equal('somebody');
  });
});
