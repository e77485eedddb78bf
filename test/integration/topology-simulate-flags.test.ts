// `kubectl topology simulate` as it is called: its flags, its tables of prices and its exit codes.
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { clusterFile, runTopology, topologyJson } from '../fixtures/topology-command.ts';
import { EXAMPLE, PRICES, example, simulated, DEMAND } from './topology-simulate-example.ts';
import type { SimulationReport } from '../../pkg/diagnosis/simulate/simulate.ts';

describe('kubectl topology simulate, its flags', () => {
  const folder = temporaryFolder();

  const wrong: readonly [name: string, args: readonly string[], message: RegExp][] = [
    ['capacity without demand', ['--capacity', '1'], /--capacity goes with --demand/],
    ['a target without demand', ['--target-utilization', '70'], /--target-utilization goes with --demand/],
    ['prices without bytes', ['--prices', 'gcp'], /--prices goes with --gb-per-day/],
    ['negative bytes', ['--gb-per-day', '-1'], /expected gigabytes, 0 or more/],
    ['bytes that are no number', ['--gb-per-day', 'lots'], /expected gigabytes/],
    [
      'replicas that are no number',
      ['--replicas', 'eu-central-1a=two'],
      /expected zone=number .*found "eu-central-1a=two"/,
    ],
    ['half a replica', ['--replicas', 'eu-central-1a=1.5'], /expected zone=number/],
    ['too many replicas', ['--replicas', 'eu-central-1a=20000'], /up to 10000/],
    ['replicas of no zone', ['--replicas', '3'], /expected zone=number .*found "3"/],
    ['a port that is not there', ['--port', 'https'], /has no port "https"; it has http \(80\)/],
    [
      'a reason nobody knows',
      ['--fail-on', 'overload'],
      /"overload" is neither "improvable" nor a reason; did you mean Overloads/,
    ],
    [
      'a table of prices that is not there',
      ['--gb-per-day', '1', '--prices', 'awz'],
      /^error: awz: no such file or folder; built-in tables of prices are aws, gcp, azure$/m,
    ],
  ];
  for (const [name, args, message] of wrong) {
    it(`exit code 2: ${name}`, async () => {
      const { code, err, out } = await runTopology(example(...args));
      expect([code, out]).to.deep.equal([2, '']);
      expect(err).to.match(message);
    });
  }

  it('a table of prices from a file, YAML or JSON', async () => {
    const [yaml, json] = await Promise.all([
      simulated('--gb-per-day', '10', '--prices', PRICES),
      simulated(
        '--gb-per-day',
        '10',
        '--prices',
        folder.write(
          'prices.json',
          JSON.stringify({
            currency: 'EUR',
            source: 'our contract',
            date: '2026-11-01',
            crossZone: { out: 0.008, in: 0.008 },
            pairs: [{ between: ['eu-central-1b', 'eu-central-1a'], out: 0.002, in: 0.002 }],
          }),
        ),
      ),
    ]);
    expect(yaml.prices).to.deep.equal({
      gigabytesPerDay: 10,
      currency: 'EUR',
      source: 'our contract',
      date: '2026-11-01',
    });
    expect(json).to.deep.equal(yaml);
  });

  const failing: readonly [args: readonly string[], code: number][] = [
    [['--fail-on', 'improvable'], 1],
    [['--fail-on', 'OverloadThreshold'], 1],
    [['--fail-on', 'Overloads,TooFewEndpoints'], 0],
    [[], 0],
  ];
  for (const [args, code] of failing) {
    it(`exit code ${code} with ${args.join(' ') || 'no --fail-on'}`, async () => {
      expect((await runTopology(example(...args))).code).to.equal(code);
    });
  }

  it('exit code 0 with --fail-on improvable where nothing is better', async () => {
    const { code } = await runTopology(['simulate', 'web', '-f', clusterFile('effective'), '--fail-on', 'improvable']);
    expect(code).to.equal(0);
  });
});

describe('kubectl topology simulate, with a flow controller', () => {
  const policy = {
    apiVersion: 'topology.extensions.gardener.cloud/v1alpha1',
    kind: 'FlowPolicy',
    metadata: { name: 'checkout', namespace: 'shop' },
    spec: {},
    status: {
      conditions: [{ type: 'Observed', status: 'True' }],
      zones: [
        { zone: 'eu-central-1a', demand: '2' },
        { zone: 'eu-central-1b', demand: '0.5' },
        { zone: 'eu-central-1c', demand: '500m' },
      ],
    },
  };

  it('knows the demand that it observed, and capacity by requests, without a flag', async () => {
    const stdin = `${readFileSync(EXAMPLE, 'utf8')}\n---\n${JSON.stringify(policy)}\n`;
    const report = await topologyJson<SimulationReport>(['simulate', 'checkout', '-f', '-'], { stdin });
    expect(report.demand).to.deep.include({ source: 'flowPolicy', cores: 3 });
    expect(report.modes).to.deep.equal((await simulated('--demand', DEMAND)).modes);
    const { out } = await runTopology(['simulate', 'checkout', '-f', '-'], { stdin });
    expect(out).to.contain(
      'Clients as the FlowPolicy observed them, 3 cores; endpoints by requests of their Pods: 5 cores',
    );
  });
});
