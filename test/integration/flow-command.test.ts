// SPDX-License-Identifier: Apache-2.0
// The flow-controller as a process: flags, exit codes, dry run, cleanup, probes, metrics, and one leader of two.
import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { CONFIG_API_VERSION } from '../../pkg/apis/config/config-kind.ts';
import type { Lease } from '../../pkg/apis/core.ts';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import {
  ANNOTATION_APPLIED,
  ANNOTATION_PLAN,
  ANNOTATION_TOPOLOGY_MODE,
  GROUP,
  LABEL_STRATEGY,
} from '../../pkg/apis/names.ts';
import { LEASES } from '../../pkg/apis/resources.ts';
import { POD_METRICS } from '../../pkg/metrics/resource-metrics.ts';
import { NAMESPACE, USER, flowNode, flowPod, flowService, openFlowBed } from './flow-support.ts';
import type { FlowBed } from './flow-support.ts';
import { eventually } from './settings-support.ts';

const MAIN = new URL('../../cmd/flow-controller/main.ts', import.meta.url).pathname;
const ZONES = ['a', 'b'];
const LOAD_AWARE = { [ANNOTATION_TOPOLOGY_MODE]: `${GROUP}/load-aware` };
const LEASE = { namespace: 'own', name: 'flow-controller' };

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const start = (...args: string[]) => {
  const env = { PATH: process.env['PATH'] ?? '', POD_NAMESPACE: LEASE.namespace };
  const child = spawn(process.execPath, [MAIN, ...args], { env });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const ended = new Promise<Ended>((resolve) => child.once('close', (code) => resolve({ code, stdout, stderr })));
  return { output: () => stdout + stderr, kill: (signal: NodeJS.Signals) => void child.kill(signal), ended };
};

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
  this.timeout(60_000);
  let bed: FlowBed;
  let directory: string;
  let flags: string[];
  const serving = ['--health-port', '0', '--metrics-port', '0', '--bind-address', '127.0.0.1'];

  before(async () => {
    bed = await openFlowBed({ resources: [POD_METRICS] });
    bed.sandbox.seed([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: LEASE.namespace } }]);
    await bed.apply(...ZONES.map((zone) => flowNode(zone)), ...ZONES.map((zone) => flowPod(`web-${zone}`, zone)));
    await bed.apply(podMetrics('web-a', 1), podMetrics('web-b', 0.1));
    await bed.apply(flowService({ annotations: LOAD_AWARE }));
    await bed.sandbox.settled();
    directory = await mkdtemp(join(tmpdir(), 'flow-command-'));
    const config = `apiVersion: ${CONFIG_API_VERSION}\nkind: FlowControllerConfiguration\n`;
    await writeFile(join(directory, 'config.yaml'), config);
    await writeFile(join(directory, 'broken.yaml'), `${config}metricSources: [{name: p, type: Prometheus}]\n`);
    await writeFile(
      join(directory, 'selector.yaml'),
      `${config}namespaceSelector: {matchExpressions: [{key: x, operator: In}]}\n`,
    );
    await writeFile(join(directory, 'kubeconfig'), bed.sandbox.kubeconfig(USER));
    flags = ['--config', join(directory, 'config.yaml'), '--kubeconfig', join(directory, 'kubeconfig')];
  });
  after(async () => {
    await bed.close();
    await rm(directory, { recursive: true, force: true });
  });

  const wrong: { name: string; args: () => string[]; says: RegExp }[] = [
    { name: 'no configuration', args: () => [], says: /--config/ },
    { name: 'an unknown flag', args: () => [...flags, '--nope'], says: /unknown option '--nope'/ },
    { name: 'a file that is not there', args: () => ['--config', join(directory, 'none.yaml')], says: /none\.yaml/ },
    {
      name: 'a source without URL',
      args: () => ['--config', join(directory, 'broken.yaml')],
      says: /broken\.yaml:3:\d+: metricSources\[0\]\.url: is required/,
    },
    {
      name: 'a selector without values',
      args: () => ['--config', join(directory, 'selector.yaml')],
      says: /selector\.yaml:3:\d+: namespaceSelector\.matchExpressions\[0\]/,
    },
    {
      name: 'dry run and cleanup at once',
      args: () => [...flags, '--dry-run', '--cleanup'],
      says: /cannot be used with/,
    },
  ];
  for (const { name, args, says } of wrong) {
    it(`exits with 2 for ${name}`, async () => {
      const { code, stderr, stdout } = await start(...args()).ended;
      expect(stderr).to.match(says);
      expect(stderr).not.to.match(/\n\s+at /);
      expect(stdout).to.equal('');
      expect(code).to.equal(2);
    });
  }

  it('explains itself with examples', async () => {
    const { code, stdout } = await start('--help').ended;
    expect(code).to.equal(0);
    expect(stdout).to.contain('Examples:').and.to.contain('--cleanup').and.to.contain('Exit codes:');
  });

  it('prints what it would plan, as table and as JSON, and writes nothing', async () => {
    bed.sandbox.clearRequests();
    const table = await start(...flags, '--dry-run').ended;
    expect(table.code, table.stderr).to.equal(0);
    expect(table.stdout).to.match(/^NAMESPACE +SERVICE +STRATEGY +ENDPOINTS +DEMAND +IN ZONE +WRITES +REASON +PLAN$/m);
    expect(table.stdout).to.match(/^shop +web +load-aware +2 +a \S+, b \S+ +\d+ % +\d+ +Planned +\S/m);
    const json = await start(...flags, '--dry-run', '-o', 'json').ended;
    const [plan] = JSON.parse(json.stdout) as {
      plan: { endpoints: { name: string; forZones: string[] }[] };
      demand: Record<string, number>;
    }[];
    expect(Object.keys(plan?.demand ?? {})).to.deep.equal(ZONES);
    const methods = new Set(bed.sandbox.requests.filter(({ user }) => user === USER).map(({ method }) => method));
    expect([...methods], 'methods of all requests').to.deep.equal(['GET']);
  });

  it('runs until SIGTERM with probes and metrics, one replica at a time, and --cleanup takes everything back', async () => {
    const child = start(...flags, ...serving);
    await eventually(() => expect(child.output()).to.match(/health on port \d+, metrics on port \d+/));
    const [, health, metrics] = /health on port (\d+), metrics on port (\d+)/.exec(child.output()) ?? [];
    await eventually(async () => expect((await fetch(`http://127.0.0.1:${health}/readyz`)).status).to.equal(200));
    expect((await fetch(`http://127.0.0.1:${health}/healthz`)).status).to.equal(200);
    await eventually(() => expect(bed.conditions('web')['Effective']).to.equal('True/PlanInForce'));
    await eventually(async () => {
      const text = await (await fetch(`http://127.0.0.1:${metrics}/metrics`)).text();
      expect(text).to.contain(
        'topology_aware_routing_flow_services{strategy="load-aware",condition="Effective",reason="PlanInForce"} 1',
      );
      expect(text).to.contain(
        'topology_aware_routing_flow_load_reads_total{source="metrics.k8s.io",outcome="success"}',
      );
    });
    const standby = start(...flags, ...serving);
    await eventually(() => expect(standby.output()).to.contain('caches are filled'));
    expect(standby.output()).not.to.contain('started leading');
    child.kill('SIGTERM');
    expect((await child.ended).code, child.output()).to.equal(0);
    await eventually(() => expect(standby.output()).to.contain('started leading'));
    standby.kill('SIGTERM');
    expect((await standby.ended).code, standby.output()).to.equal(0);
    expect(bed.sandbox.get<Lease>(LEASES, LEASE)?.spec?.holderIdentity, 'released').to.be.oneOf(['', undefined]);

    const cleaned = await start(...flags, '--cleanup').ended;
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
});
