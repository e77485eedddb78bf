// SPDX-License-Identifier: Apache-2.0
// Shows that beds do not disturb each other, end without a trace, and that a killed owner's bed is removed by the next.
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { run } from '../bed/command.ts';
import { startBed } from '../bed/index.ts';
import type { Bed } from '../bed/index.ts';
import { isolatedNamespace } from '../bed/isolate.ts';
import { isRunning } from '../bed/process-identity.ts';
import { listBeds } from '../bed/state.ts';
import type { FoundBed } from '../bed/state.ts';
import { waitFor } from '../bed/wait-for.ts';

const commandLine = fileURLToPath(new URL('../bed/main.ts', import.meta.url));

const existing = (namespaces: readonly string[]): string[] =>
  namespaces.filter((namespace) => readdirSync('/run/netns').includes(namespace));

describe('life of beds', () => {
  // A root of our own: what these tests kill and remove is seen by no other bed of this machine.
  const temporary = mkdtempSync(join(tmpdir(), 'beds-'));
  const root = join(temporary, 'topology-routing-beds');
  let first: Bed;

  /** Starts a bed with one node in another process and waits until it is up. */
  const startElsewhere = async (): Promise<{ owner: ChildProcess; found: FoundBed }> => {
    const known = new Set(listBeds(root).map(({ id }) => id));
    const owner = spawn(process.execPath, [commandLine, 'up', '--nodes', '1'], {
      env: { ...process.env, TMPDIR: temporary },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    for await (const line of createInterface({ input: owner.stdout })) if (line.includes('It ends with')) break;
    const found = listBeds(root).find(({ id }) => !known.has(id));
    if (!found) throw new Error('the other bed left no record');
    return { owner, found };
  };

  const end = async (owner: ChildProcess, signal: NodeJS.Signals): Promise<void> => {
    const ended = once(owner, 'exit');
    owner.kill(signal);
    await ended;
  };

  before(async () => {
    first = await startBed({ root });
  });
  after(async () => {
    await first.stop();
    rmSync(temporary, { recursive: true, force: true });
  });

  it('two beds with the same names and addresses run side by side', async () => {
    const second = await startBed({ root });
    try {
      const beds = [first, second];
      const results = await Promise.all(
        beds.map(async (bed, index) => {
          const node = await bed.node({ name: 'node', zone: `zone-${index}` });
          await bed.pod({ node, app: 'web', name: 'web' });
          const service = await bed.service({ name: 'web', spec: { clusterIP: '198.18.0.80' } });
          const probe = () => bed.connect({ node, service, count: 20, timeoutMs: 1000 });
          return waitFor('20 answers', probe, ({ total }) => total === 20);
        }),
      );
      expect(results.map(({ byZone }) => byZone)).to.deep.equal([{ 'zone-0': 20 }, { 'zone-1': 20 }]);
    } finally {
      await second.stop();
    }
  });

  it('leaves neither process nor namespace nor file when it is stopped', async () => {
    const bed = await startBed({ root });
    await bed.node({ name: 'node' });
    const found = listBeds(root).find(({ id }) => id === bed.id);
    expect(existing(found?.state.namespaces ?? [])).to.have.lengthOf(2);
    expect(found?.state.processes.filter(isRunning)).to.have.lengthOf(6);

    await bed.stop();
    expect(existing(found?.state.namespaces ?? [])).to.deep.equal([]);
    expect(found?.state.processes.filter(isRunning)).to.deep.equal([]);
    expect(existsSync(bed.directory)).to.equal(false);
  });

  it('keeps the logs of every component when asked to', async () => {
    const bed = await startBed({ root });
    await bed.node({ name: 'node' });
    const logs = (await bed.stop({ keepLogs: true })) ?? '';
    try {
      const names = ['agent-api', 'agent-node', 'audit', 'etcd', 'kube-apiserver'];
      names.push('kube-controller-manager', 'kube-proxy-node');
      expect(readdirSync(logs).sort()).to.deep.equal(names.map((name) => `${name}.log`));
      expect(readFileSync(join(logs, 'kube-apiserver.log'), 'utf8')).to.contain('Serving securely on');
    } finally {
      rmSync(logs, { recursive: true, force: true });
    }
  });

  describe('the logs of a suite', () => {
    const bedOf = (name: string): string =>
      JSON.stringify(fileURLToPath(new URL(`../bed/${name}.ts`, import.meta.url)));
    const mocha = fileURLToPath(import.meta.resolve('mocha/bin/mocha.js'));

    /** Runs a suite of two tests on a bed of its own, as the runner does, and returns what it printed. */
    const runSuite = async (passes: boolean): Promise<{ code: number | null; printed: string }> => {
      const file = join(temporary, `${passes}.test.ts`);
      const lines = [
        `import { describe, it } from ${JSON.stringify(import.meta.resolve('mocha'))};`,
        `import { useBed } from ${bedOf('mocha')};`,
        `describe('suite', () => {`,
        `  const bed = useBed();`,
        `  it('first', () => { if (!${passes}) throw new Error(bed().id); });`,
        `  it('second', () => bed().api.text('/readyz'));`,
        `});`,
      ];
      writeFileSync(file, lines.join('\n'));
      const isolated = [commandLine, 'isolate', process.execPath, '--', mocha];
      const child = spawn(process.execPath, [...isolated, '--no-config', '--timeout=110000', file], {
        env: { ...process.env, TMPDIR: temporary },
      });
      const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
      return { code: code as number | null, printed: out + err };
    };

    it('are kept when one of its tests failed, and it says where', async () => {
      const { code, printed } = await runSuite(false);
      expect(code, printed).to.equal(1);
      const [, logs = ''] = /The logs of the bed's components are in (.*)/.exec(printed) ?? [];
      expect(logs, printed).to.contain(join(temporary, 'topology-routing-bed-logs'));
      expect(readdirSync(logs)).to.include.members(['etcd.log', 'kube-apiserver.log', 'kube-controller-manager.log']);
      expect(listBeds(root).map(({ id }) => id)).to.deep.equal([first.id]);
    });

    it('are not kept when all passed', async () => {
      const { code, printed } = await runSuite(true);
      expect(code, printed).to.equal(0);
      expect(printed).not.to.contain('The logs of');
    });
  });

  it('ends in order when its owner is interrupted', async () => {
    const { owner, found } = await startElsewhere();
    await end(owner, 'SIGINT');
    expect(owner.exitCode).to.equal(0);
    expect(existing(found.state.namespaces)).to.deep.equal([]);
    expect(listBeds(root).map(({ id }) => id)).to.deep.equal([first.id]);
  });

  it('is removed by the next start when its owner was killed, and living beds are not touched', async () => {
    const { owner, found } = await startElsewhere();
    await end(owner, 'SIGKILL');
    expect(existing(found.state.namespaces), 'namespaces after the crash').to.have.lengthOf(2);
    expect(listBeds(root).find(({ id }) => id === found.id)?.owned).to.equal(false);

    const next = await startBed({ root });
    try {
      expect(existing(found.state.namespaces), 'namespaces after the next start').to.deep.equal([]);
      expect(found.state.processes.filter(isRunning)).to.deep.equal([]);
      expect(existsSync(found.directory)).to.equal(false);
      expect(await first.api.text('/readyz'), 'the bed of a living owner').to.equal('ok');
    } finally {
      await next.stop();
    }
  });

  it('says what failed when a component does not start, and leaves nothing', async () => {
    const failure = await startBed({ root, apiServerFlags: ['--no-such-flag'] }).catch((error: Error) => error.message);
    expect(failure).to.match(/kube-apiserver ended by itself; the end of .*kube-apiserver\.log/);
    expect(failure).to.contain('unknown flag: --no-such-flag');
    expect(listBeds(root).map(({ id }) => id)).to.deep.equal([first.id]);
  });

  it('leaves a namespace of the caller as it was, also when it does not start', async () => {
    const namespace = isolatedNamespace()!;
    const devices = (): Promise<string> => run('ip', ['-n', namespace, '-brief', 'link', 'show']);
    const original = await devices();
    const failure = await startBed({ root, namespace, apiServerFlags: ['--no-such-flag'] }).catch(String);
    expect(failure).to.contain('unknown flag');
    const bed = await startBed({ root, namespace });
    await bed.node({ name: 'node' });
    await bed.stop();
    // The kernel takes a namespace down some time after its name is gone, and its devices with it.
    await waitFor('the devices as they were', devices, (now) => now === original);
  });
});
