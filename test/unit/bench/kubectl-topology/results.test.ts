// SPDX-License-Identifier: Apache-2.0
// What the benchmark of kubectl-topology makes of its figures, and how it takes them.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { limitsOf } from '../../../bench/kubectl-topology/limits.ts';
import { measure, runOnce } from '../../../bench/kubectl-topology/measure.ts';
import { kubectlTopologyMarkdown } from '../../../bench/kubectl-topology/table.ts';
import type { KubectlTopologyResults, Measurement } from '../../../bench/kubectl-topology/types.ts';

const MEGABYTE = 1024 * 1024;

const measurement = (overrides: Partial<Measurement> = {}): Measurement => ({
  command: 'kubectl topology audit',
  runs: 5,
  wallMs: 1500,
  cpuSeconds: 1.25,
  peakBytes: 300 * MEGABYTE,
  ...overrides,
});

const results: KubectlTopologyResults = {
  environment: {
    date: '2026-11-21',
    node: '24',
    v8: '13',
    kernel: '6',
    cpu: 'CPU',
    cores: 2,
    memoryGib: 8,
    loadAverage: { begin: 1, end: 2 },
  },
  scale: { nodes: 500, services: 5_000, endpoints: 50_000 },
  bytes: { json: 50 * MEGABYTE, yaml: 20 * MEGABYTE },
  kubectl: 'v1.36.3',
  start: [measurement({ command: 'kubectl topology --help', wallMs: 65.4, runs: 15 })],
  files: [measurement()],
  cluster: [],
  limits: [
    { name: 'a', holds: true, text: 'fast' },
    { name: 'b', holds: false, text: 'small' },
  ],
};

describe('bench/kubectl-topology', () => {
  it('writes what was run, how long it took and what it needed', () => {
    const text = kubectlTopologyMarkdown(results);
    expect(text).to.contain('| start | `kubectl topology --help` | 65.4 ms | 1.25 s | 300 MB |');
    expect(text).to.contain('| files | `kubectl topology audit` | 1.5 s | 1.25 s | 300 MB |');
    expect(text).to.contain('5,000 Services, 50,000 endpoints, 500 Nodes (50 MB of JSON, 20 MB of YAML)');
    expect(text).to.contain('medians of 5 or 15 runs').and.to.contain('kubectl is v1.36.3');
    expect(text).to.contain('- holds: fast\n- **missed**: small');
  });

  it('says so where there was no kubectl', () => {
    const { kubectl: _, ...alone } = results;
    expect(kubectlTopologyMarkdown(alone)).to.contain('kubectl was not there to be measured.');
  });

  const cases: readonly (readonly [
    name: string,
    help: number,
    audit: Partial<Measurement>,
    missed: string[],
    yaml?: Partial<Measurement>,
  ])[] = [
    ['all that is promised', 100, { wallMs: 5_000, peakBytes: 500 * MEGABYTE }, []],
    ['a start that is too slow', 100.1, {}, ['start']],
    ['an audit that is too slow', 60, { wallMs: 5_001 }, ['time']],
    ['an audit that is too large', 60, { peakBytes: 501 * MEGABYTE }, ['memory']],
    ['an audit of YAML that is too slow', 60, {}, ['time of YAML'], { wallMs: 5_001 }],
    ['an audit of YAML that is too large', 60, {}, ['memory of YAML'], { peakBytes: 601 * MEGABYTE }],
  ];
  for (const [name, wallMs, audit, missed, yaml = {}] of cases) {
    it(`judges ${name}`, () => {
      const limits = limitsOf({ help: measurement({ wallMs }), audit: measurement(audit), yaml: measurement(yaml) });
      expect(limits.filter(({ holds }) => !holds).map((limit) => limit.name)).to.deep.equal(missed);
    });
  }

  it('reads time and memory of a program that ends', async () => {
    const script = 'const a = Buffer.alloc(64 << 20, 1); setTimeout(() => a.at(0), 200)';
    const { wallMs, peakBytes } = await runOnce({ title: 'large', command: process.execPath, args: ['-e', script] });
    expect(wallMs).to.be.at.least(200);
    expect(peakBytes).to.be.greaterThan(64 * MEGABYTE);
  });

  it('says which program failed, and how', async () => {
    const program = {
      title: 'bad program',
      command: process.execPath,
      args: ['-e', 'console.error("no"); process.exit(3)'],
    };
    const error = await runOnce(program).catch((reason: unknown) => reason as Error);
    expect(error)
      .to.be.an('error')
      .with.property('message')
      .that.matches(/^bad program ended with 3: no/);
  });

  it('takes medians of programs in turns, without the first run of each', async () => {
    const quick = (title: string) => ({ title, command: process.execPath, args: ['-e', '0'] });
    const found = await measure([quick('a'), quick('b')], 2);
    expect(found.map(({ command, runs }) => [command, runs])).to.deep.equal([
      ['a', 2],
      ['b', 2],
    ]);
    for (const { wallMs } of found) expect(wallMs).to.be.greaterThan(0);
  });
});
