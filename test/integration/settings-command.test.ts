// SPDX-License-Identifier: Apache-2.0
// The settings-reconciler as a process: flags, exit codes, dry run, cleanup, probes, and a stop that leaves nothing behind.
import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { CONFIG_API_VERSION } from '../../pkg/apis/config/config-kind.ts';
import { LABEL_ROUTING } from '../../pkg/apis/names.ts';
import { LEASES, NAMESPACES } from '../../pkg/apis/resources.ts';
import type { Lease } from '../../pkg/apis/core.ts';
import { node, service } from '../fixtures/core.ts';
import { cluster, etcd, namespace } from '../fixtures/gardener.ts';
import { USER, eventually, openBed } from './settings-support.ts';
import type { Bed } from './settings-support.ts';

const NS = 'shoot--foo--bar';
const MAIN = new URL('../../cmd/settings-reconciler/main.ts', import.meta.url).pathname;

interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

interface Child {
  readonly output: () => string;
  kill(signal: NodeJS.Signals): void;
  readonly ended: Promise<Ended>;
}

const start = (...args: string[]): Child => {
  const child = spawn(process.execPath, [MAIN, ...args], { env: { PATH: process.env['PATH'] ?? '' } });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const ended = new Promise<Ended>((resolve) => child.once('close', (code) => resolve({ code, stdout, stderr })));
  return { output: () => stdout + stderr, kill: (signal) => void child.kill(signal), ended };
};

describe('the settings-reconciler command', () => {
  let bed: Bed;
  let directory: string;
  let flags: string[];
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
    directory = await mkdtemp(join(tmpdir(), 'settings-command-'));
    const config = `apiVersion: ${CONFIG_API_VERSION}\nkind: SettingsReconcilerConfiguration\nmodes: {seed: {}}\nkeep: on\n`;
    await writeFile(join(directory, 'config.yaml'), config);
    await writeFile(join(directory, 'broken.yaml'), `${config}keeps: on\n`);
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
    { name: 'a port out of range', args: () => [...flags, '--health-port', '70000'], says: /0 to 65535/ },
    { name: 'a file that is not there', args: () => ['--config', join(directory, 'none.yaml')], says: /none\.yaml/ },
    {
      name: 'a field that does not exist',
      args: () => ['--config', join(directory, 'broken.yaml')],
      says: /broken\.yaml:5:1: keeps: is not a field of this kind\. \(allowed: .*keep.*\)/,
    },
    {
      name: 'a version that is none',
      args: () => [...flags, '--kubernetes-version', 'x'],
      says: /"x" is not a Kubernetes version/,
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
    expect(stdout).to.contain('Examples:').and.to.contain('--dry-run -o json').and.to.contain('Exit codes:');
  });

  it('prints what it would change, as table and as JSON, and writes nothing', async () => {
    bed.sandbox.clearRequests();
    const table = await start(...flags, '--dry-run').ended;
    expect(table.code, table.stderr).to.equal(0);
    expect(table.stdout).to.match(/^NAMESPACE +OBJECT +FIELD +BEFORE +AFTER +REASON$/m);
    expect(table.stdout).to.match(
      /^shoot--foo--bar +Service\/vpa-webhook +spec\.trafficDistribution +- +PreferSameZone +Enabled$/m,
    );
    expect(table.stdout).to.match(/Service\/kube-apiserver +LayerSevenLoadBalancing/);
    expect(table.stdout).to.contain('2 object(s) would be changed');
    const json = await start(...flags, '--dry-run', '-o', 'json').ended;
    const report = JSON.parse(json.stdout) as { changes: unknown[]; refused: { reason: string }[] };
    expect(report.changes).to.have.length(4);
    expect(report.refused.map(({ reason }) => reason)).to.deep.equal(['LayerSevenLoadBalancing']);
    const methods = new Set(bed.sandbox.requests.filter(({ user }) => user === USER).map(({ method }) => method));
    expect([...methods], 'methods of all requests').to.deep.equal(['GET']);
  });

  it('runs until SIGTERM with probes and metrics, leads by Lease, and --cleanup takes everything back', async () => {
    const child = start(...flags, '--health-port', '0', '--metrics-port', '0', '--bind-address', '127.0.0.1');
    await eventually(() => expect(child.output()).to.match(/health on port \d+, metrics on port \d+/));
    const [, health, metrics] = /health on port (\d+), metrics on port (\d+)/.exec(child.output()) ?? [];
    await eventually(() => expect(bed.service(NS, 'vpa-webhook').spec?.trafficDistribution).to.equal('PreferSameZone'));
    await eventually(async () => expect((await fetch(`http://127.0.0.1:${health}/readyz`)).status).to.equal(200));
    expect((await fetch(`http://127.0.0.1:${health}/healthz`)).status).to.equal(200);
    await eventually(() =>
      expect(bed.sandbox.get(NAMESPACES, { name: NS })?.metadata?.labels?.[LABEL_ROUTING]).to.equal('true'),
    );
    await eventually(async () => {
      const text = await (await fetch(`http://127.0.0.1:${metrics}/metrics`)).text();
      expect(text).to.contain('topology_aware_routing_settings_objects{owner="shoot-settings",reason="Enabled"} 2');
      expect(text).to.contain('reason="LayerSevenLoadBalancing"} 1');
      expect(text).to.contain('topology_aware_routing_settings_writes_total{kind="Service",cause="change"} 1');
    });
    child.kill('SIGTERM');
    expect((await child.ended).code, child.output()).to.equal(0);
    const lease = bed.sandbox.get<Lease>(LEASES, { namespace: 'default', name: 'settings-reconciler' });
    expect(lease?.spec?.holderIdentity, 'released').to.be.oneOf(['', undefined]);

    const cleaned = await start(...flags, '--cleanup').ended;
    expect(cleaned.code, cleaned.stderr).to.equal(0);
    expect(cleaned.stdout).to.equal(
      'settings taken back from 1 Service(s) and 1 Etcd(s), marks from 1 Namespace(s) and 0 EndpointSlice(s)\n',
    );
    expect(bed.service(NS, 'vpa-webhook').spec?.trafficDistribution).to.equal(undefined);
    expect(bed.service(NS, 'vpa-webhook').metadata?.annotations ?? {}).to.deep.equal({});
    const { annotations, trafficDistribution } = bed.etcd(NS, 'etcd-main').spec?.etcd?.clientService ?? {};
    expect(trafficDistribution).to.equal(undefined);
    expect(Object.keys(annotations ?? {}), "gardenlet's own").to.have.length(1);
    expect(bed.sandbox.get(NAMESPACES, { name: NS })?.metadata?.labels).not.to.have.property(LABEL_ROUTING);
  });
});
