// SPDX-License-Identifier: Apache-2.0
// `kubectl topology simulate` as it is called: its JSON contract, its reference, its screens, its flags and exit codes.
import { execFile } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { parse } from 'yaml';
import { LABEL_STRATEGY } from '../../pkg/apis/names.ts';
import type { HintsReport } from '../../pkg/diagnosis/models/hints.ts';
import type { PlanReport } from '../../pkg/diagnosis/models/plan.ts';
import { BUILT_IN_PRICES } from '../../pkg/diagnosis/prices.ts';
import { MODE_NAMES } from '../../pkg/diagnosis/simulate/modes.ts';
import type { ModeReport, SimulationReport } from '../../pkg/diagnosis/simulate/types.ts';
import { node, service } from '../fixtures/core.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import type { TemporaryFolder } from '../fixtures/temporary-folder.ts';
import { CLUSTERS, clusterFile, runTopology, topologyJson } from '../fixtures/topology-command.ts';
import { startSandbox } from '../sandbox/sandbox.ts';
import type { Sandbox } from '../sandbox/types.ts';

const root = resolve(import.meta.dirname, '../..');
const EXAMPLE = resolve(root, 'example/topology/cluster.yaml');
const PRICES = resolve(root, 'example/topology/prices.yaml');
const example = (...flags: string[]): string[] => ['simulate', 'checkout', '-f', EXAMPLE, ...flags];
const DEMAND = 'eu-central-1a=2,eu-central-1b=0.5,eu-central-1c=0.5';

const simulated = (...flags: string[]): Promise<SimulationReport> => topologyJson<SimulationReport>(example(...flags));

const modeOf = ({ modes }: SimulationReport, mode: string): ModeReport => {
  const found = modes.find((candidate) => candidate.mode === mode);
  if (found === undefined) throw new Error(`no mode ${mode}`);
  return found;
};

/** Paths of all fields; `[]` for items of lists, `ZONE` and `NODE` for keys that are names. */
const paths = (value: unknown, path: string): string[] => {
  if (Array.isArray(value))
    return value.length === 0 ? [path] : [...new Set(value.flatMap((item) => paths(item, `${path}[]`)))];
  if (typeof value !== 'object' || value === null) return [path];
  return Object.entries(value).flatMap(([key, inner]) => {
    const name = key.startsWith('eu-central-') ? 'ZONE' : key.startsWith('ip-10-') ? 'NODE' : key;
    return paths(inner, path === '' ? name : `${path}.${name}`);
  });
};

describe('kubectl topology simulate, its JSON', () => {
  let everything: SimulationReport;
  before(async () => {
    const whatIf = ['--replicas', 'eu-central-1a=3', '--node-cpu', 'eu-central-1c=8'];
    everything = await simulated('--gb-per-day', '2000', '--demand', DEMAND, ...whatIf);
  });

  it('has the fields that the reference documents, all of them and no more', () => {
    const reference = readFileSync(resolve(root, 'docs/reference/simulate.md'), 'utf8');
    const contract = reference.slice(reference.indexOf('## JSON'));
    const documented = [...contract.matchAll(/^\| `([\w.[\]]+)` \|/gm)].map(([, path = '']) => path);
    expect(new Set(documented).size).to.equal(documented.length);
    // The fields of an outcome are named once; parents are named where they may be null.
    const found = paths(everything, '').map((path) =>
      path.replace(/^(?:now|modes\[\]\.outcome)\.(?!mode$)/, 'outcome.'),
    );
    const leaves = documented.filter((path) => !documented.some((other) => other.startsWith(`${path}.`)));
    const parents = new Set(['now', 'modes[].outcome', 'modes[].settings']);
    expect([...new Set(found)].filter((path) => !parents.has(path)).sort()).to.deep.equal(
      leaves.filter((path) => !parents.has(path)).sort(),
    );
  });

  it('the reference names every mode since the version that the models tell, and every table of prices', () => {
    const reference = readFileSync(resolve(root, 'docs/reference/simulate.md'), 'utf8');
    const rows = [...reference.matchAll(/^\| (`.+?`) \| (1\.\d+|–) \|/gm)].flatMap(([, names = '', since = '']) =>
      [...names.matchAll(/`([\w-]+)`/g)].map(([, mode = '']) => [mode, since]),
    );
    expect(rows.map(([mode]) => mode)).to.deep.equal([...MODE_NAMES]);
    for (const [mode, since] of rows.slice(1)) expect(modeOf(everything, mode ?? '').since, mode).to.equal(since);
    for (const [name, { date, crossZone, crossRegion }] of Object.entries(BUILT_IN_PRICES)) {
      const row = new RegExp(`^\\| \`${name}\`.*$`, 'm').exec(reference)?.[0] ?? '';
      for (const price of [crossZone.out, crossZone.in, crossRegion.out]) expect(row).to.contain(String(price));
      expect(reference).to.contain(`source, ${date}`);
    }
  });

  it('shares are fractions, demand and capacity cores', () => {
    const { demand, capacity, now } = everything;
    expect(demand.cores).to.equal(3);
    expect(demand.zones['eu-central-1a']?.share).to.be.closeTo(2 / 3, 1e-12);
    expect(capacity).to.deep.equal({ source: 'requests', cores: 6, targetUtilization: 0.7 });
    expect(now.maxUtilization).to.be.within(0.3, 2);
    expect(JSON.stringify(everything)).not.to.match(/utilis|colour/);
  });

  it('has neither bytes nor money unless bytes are given', async () => {
    const text = JSON.stringify(await simulated());
    expect(text).not.to.match(/cost|price|gigabyte|currency/i);
  });

  it('says that a what-if is one', async () => {
    expect(everything.whatIf).to.deep.equal({
      replicas: { 'eu-central-1a': { before: 2, after: 3 } },
      nodeCpu: { 'ip-10-0-6-10': { before: 3.92, after: 8 } },
    });
    expect((await simulated()).whatIf).to.equal(null);
  });

  it('is the same every time, and the same as YAML', async () => {
    expect(await simulated('--gb-per-day', '2000')).to.deep.equal(await simulated('--gb-per-day', '2000'));
    const { out } = await runTopology(example('-o', 'yaml'));
    expect(parse(out)).to.deep.equal(await simulated());
  });

  it('agrees with `hints` on how many the control plane hints, mode by mode', async () => {
    const report = await simulated('--kubernetes-version', '1.36');
    const text = readFileSync(EXAMPLE, 'utf8');
    const spec = 'spec:\n  clusterIP: 172.20.14.80';
    const without = text.replace(/\n  annotations: .*topology-mode: Auto.*/, '');
    const cluster = (field: string) => without.replace(spec, `${spec}\n  trafficDistribution: ${field}`);
    for (const [mode, stdin] of [
      ['none', without],
      ['Auto', text],
      ['PreferClose', cluster('PreferClose')],
      ['PreferSameZone', cluster('PreferSameZone')],
      ['PreferSameNode', cluster('PreferSameNode')],
    ] as const) {
      const { services } = await topologyJson<HintsReport>(['hints', '-f', '-', '--kubernetes-version', '1.36'], {
        stdin,
      });
      const hinted = services[0]!.endpoints.filter(({ hints }) => hints !== null).length;
      expect(modeOf(report, mode).outcome?.hinted, mode).to.equal(hinted);
    }
  });

  it('agrees with `plan` on load-aware', async () => {
    const flags = ['--demand', DEMAND, '--capacity', '1'];
    const report = await simulated(...flags);
    const plan = await topologyJson<PlanReport>(['plan', '-f', EXAMPLE, '--service', 'checkout', ...flags]);
    const { outcome } = modeOf(report, 'load-aware');
    expect(outcome?.inZoneShare).to.be.closeTo(plan.inZoneShare, 1e-9);
    expect(outcome?.maxUtilization).to.be.closeTo(plan.maxUtilization, 1e-9);
  });

  it('agrees with `explain` on what stays in its zone now, clients alike on every Node', async () => {
    const explained = await topologyJson<{ effective: { inZoneShare: number } }>([
      'explain',
      'checkout',
      '-f',
      EXAMPLE,
    ]);
    const report = await simulated('--weights', 'nodes');
    expect(report.now.inZoneShare).to.be.closeTo(explained.effective.inZoneShare, 1e-12);
  });
});

describe('kubectl topology simulate, its screens', () => {
  it('the shipped example tells a story: Auto gives up, same-zone overloads, a plan keeps to the limit', async () => {
    const report = await simulated('--gb-per-day', '2000');
    expect(modeOf(report, 'Auto')).to.deep.include({ inForce: true });
    expect(modeOf(report, 'Auto').verdict.reason).to.equal('OverloadThreshold');
    expect(modeOf(report, 'PreferClose').verdict.reason).to.equal('Overloads');
    expect(modeOf(report, 'PreferSameZone').verdict.reason).to.equal('VersionTooOld');
    expect(report.recommendation).to.deep.include({ mode: 'proportional', reason: 'LeastCost', improves: true });
    const { outcome } = modeOf(report, 'proportional');
    expect(outcome!.costPerMonth!).to.be.below(report.now.costPerMonth! / 2);
  });

  it('shows every mode with its verdict, the recommendation with what to set, and two matrices', async () => {
    const { out, err, code } = await runTopology(example('--gb-per-day', '2000'));
    expect([err, code]).to.deep.equal(['', 0]);
    for (const mode of MODE_NAMES) expect(out).to.match(new RegExp(`^[ >*]{2} +${mode} `, 'm'));
    expect(out).to.match(/^> {3}Auto .*OverloadThreshold$/m);
    expect(out).to.match(/^ \* {2}proportional .* USD .*KeepsMost$/m);
    expect(out).to.contain('strategy]=proportional');
    expect(out).to.contain('flow-controller');
    expect(out.match(/^Share of all traffic: /gm)).to.have.lengthOf(2);
    expect(out.split('\n').filter((line) => line.length > 100)).to.deep.equal([]);
  });

  it('wide: the matrices of all modes, those alike together, and what each is set by', async () => {
    const { out } = await runTopology(example('-o', 'wide'));
    expect(out).to.contain('Share of all traffic: PreferClose, same-zone, same-node\n');
    expect(out).to.match(/^  PreferClose +1\.31 +-?spec\.trafficDistribution=PreferClose$/m);
    expect(out).to.match(/^  PreferSameZone +1\.34 +-$/m);
  });

  it('speaks of money only with bytes, of utilization only with demand and capacity', async () => {
    const plain = await runTopology(example());
    expect(plain.out).not.to.match(/COST|USD|UTILIZATION|CORES/);
    const all = await runTopology(example('--demand', DEMAND, '--gb-per-day', '1'));
    expect(all.out).to.match(/UTILIZATION +COST\/MONTH/);
    expect(all.out).to.contain('Clients as given, 3 cores; endpoints by requests of their Pods: 5 cores');
  });

  it('a what-if stands above everything else', async () => {
    const { out } = await runTopology(example('--replicas', 'eu-central-1a=3', '--node-cpu', 'ip-10-0-6-10=1'));
    expect(out.split('\n').slice(1, 3).join(' ')).to.match(
      /^WHAT IF: 3 ready endpoints in eu-central-1a, not 2; 1 core on ip-10-0-6-10, not 3\.92\./,
    );
  });

  it('colours for a person only', async () => {
    expect((await runTopology(example())).out).not.to.contain('\u001B');
    expect((await runTopology(example(), { terminal: true })).out).to.contain('\u001B[1m');
    expect((await runTopology(example(), { terminal: true, env: { NO_COLOR: '1' } })).out).not.to.contain('\u001B');
  });

  it('names from objects reach the terminal without control characters', async () => {
    const evil = readFileSync(EXAMPLE, 'utf8')
      .replace('name: http, port: 80', 'name: "http\\u001B[31m", port: 80')
      .replace('name: http, protocol', 'name: "http\\u001B[31m", protocol');
    const { out, code } = await runTopology(['simulate', 'checkout', '-f', '-'], { stdin: evil });
    expect(code).to.equal(0);
    expect(out).not.to.contain('\u001B');
  });

  it('answers for every cluster of the fixtures: a report, or why not', async () => {
    for (const file of readdirSync(CLUSTERS).filter((name) => name.endsWith('.yaml'))) {
      const { code, err, out } = await runTopology([
        'simulate',
        'web',
        '-f',
        resolve(CLUSTERS, file),
        '--gb-per-day',
        '1',
      ]);
      if (code === 0) expect(out, file).to.match(/^Service shop\/web/);
      else expect(err, file).to.match(/^error: (?:Service shop\/web (?:is|has)|no ready Node) /);
    }
  });
});

describe('kubectl topology simulate, its flags', () => {
  let folder: TemporaryFolder;
  before(() => {
    folder = temporaryFolder();
  });
  after(() => folder.remove());

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
    [
      'replicas in a zone without Nodes',
      ['--replicas', 'eu-central-1d=3'],
      /no Node is in zone "eu-central-1d".*did you mean "eu-central-1/,
    ],
    ['CPU of 0', ['--node-cpu', 'eu-central-1a=0'], /expected node=cores or zone=cores/],
    ['CPU of nobody', ['--node-cpu', 'ip-10-0-9-10=4'], /no Node and no zone "ip-10-0-9-10"; did you mean "ip-10-0-/],
    [
      'demand of a misspelt zone',
      ['--demand', 'eu-central-1x=1'],
      /demand: no ready Node is in zone "eu-central-1x"; did you mean/,
    ],
    [
      'weights of a misspelt zone',
      ['--weights', 'eu-central-1x=1'],
      /weights: no ready Node is in zone "eu-central-1x"/,
    ],
    ['no demand', ['--demand', 'eu-central-1a=0'], /0 in every zone/],
    ['a port that is not there', ['--port', 'https'], /has no port "https"; it has http \(80\)/],
    ['a family without endpoints', ['--address-type', 'IPv6'], /has no ready IPv6 endpoint/],
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

  it('suggests the nearest Service', async () => {
    const { code, err } = await runTopology(['simulate', 'chekout', '-f', EXAMPLE]);
    expect([code, err]).to.deep.equal([2, 'error: no Service "chekout"; did you mean "shop/checkout"?\n']);
  });

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

  const broken: readonly [name: string, file: string, text: string, place: RegExp][] = [
    [
      'a price in quotes',
      'a.yaml',
      "currency: EUR\ncrossZone:\n  out: 'x'\n  in: 0\n",
      /a\.yaml:3:8: crossZone\.out: expected a price a gigabyte/,
    ],
    ['no price', 'b.yaml', 'currency: EUR\n', /b\.yaml:1:1: crossZone: expected the prices out and in, found nothing/],
    [
      'JSON with a stranger',
      'c.json',
      '{"currency":"EUR",\n"zones":{}}',
      /c\.json:2:9: zones: expected one of the fields/,
    ],
    ['no YAML', 'd.yaml', 'currency: [EUR\n', /d\.yaml:\d+:\d+: not valid YAML/],
    [
      'two tables',
      'e.yaml',
      'currency: A\ncrossZone: { out: 0, in: 0 }\n---\ncurrency: A\ncrossZone: { out: 0, in: 0 }\n',
      /e\.yaml: expected one table of prices, found 2/,
    ],
    ['nothing', 'f.yaml', '# none\n', /f\.yaml: expected one table of prices, found 0/],
  ];
  for (const [name, file, text, place] of broken) {
    it(`prices with ${name}: exit code 2 with file, line and field`, async () => {
      const { code, err } = await runTopology(example('--gb-per-day', '1', '--prices', folder.write(file, text)));
      expect(code).to.equal(2);
      expect(err).to.match(place);
    });
  }

  it('prices decide: what is free is recommended by shares, what is dear by cost', async () => {
    const azure = await simulated('--gb-per-day', '10', '--prices', 'azure');
    expect(azure.recommendation.reason).to.equal('MostInZone');
    expect(azure.now.costPerMonth).to.equal(0);
    const gcp = await simulated('--gb-per-day', '10', '--prices', 'gcp');
    const aws = await simulated('--gb-per-day', '10');
    expect(aws.now.costPerMonth).to.be.closeTo(2 * gcp.now.costPerMonth!, 1e-9);
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

  it('help has examples; completion knows Services, flags and choices', async () => {
    const help = await runTopology(['simulate', '--help']);
    expect(help.out).to.contain('kubectl topology simulate shop/web --gb-per-day 500');
    const complete = async (...words: string[]): Promise<string[]> =>
      (await runTopology(['__complete', ...words])).out.split('\n').map((line) => line.split('\t')[0] ?? '');
    expect(await complete('simulate', '-f', EXAMPLE, '-n', 'shop', '')).to.include('checkout');
    expect(await complete('simulate', '--gb')).to.include('--gb-per-day');
    expect(await complete('simulate', '--proxy', 'c')).to.include('cilium');
    expect(await complete('sim')).to.include('simulate');
  });
});

describe('kubectl topology simulate, on a cluster', function onCluster() {
  this.timeout(60_000);
  let folder: TemporaryFolder;
  let sandbox: Sandbox;
  before(async () => {
    folder = temporaryFolder();
    sandbox = await startSandbox({ kubernetesVersion: 'v1.34.2' });
    for (const name of ['shop', 'garden']) {
      await sandbox.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
    }
    const zones = ['eu-1a', 'eu-1b', 'eu-1c'];
    sandbox.seed(zones.map((zone) => node({ zone, kubeletVersion: 'v1.34.2' })));
    sandbox.seed(
      zones.map((zone, index) => ({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: `web-${zone}`, namespace: 'shop', labels: { app: 'server' } },
        spec: {
          nodeName: `node-${zone}`,
          containers: [{ name: 'server', image: 'server', resources: { requests: { cpu: '500m' } } }],
        },
        status: {
          phase: 'Running',
          podIP: `198.18.1.${10 + index}`,
          podIPs: [{ ip: `198.18.1.${10 + index}` }],
          conditions: [{ type: 'Ready', status: 'True' }],
        },
      })),
    );
    const spec = { trafficDistribution: 'PreferSameZone' };
    await sandbox.apply(service({ metadata: { name: 'web', namespace: 'shop' }, spec }));
    await sandbox.settled();
  });
  after(async () => {
    await sandbox.stop();
    folder.remove();
  });

  const read = async (...flags: string[]): Promise<{ report: SimulationReport; resources: Set<string> }> => {
    sandbox.clearRequests();
    const access = ['--kubeconfig', folder.write('kubeconfig', sandbox.kubeconfig('reader'))];
    const report = await topologyJson<SimulationReport>(['simulate', 'shop/web', ...access, ...flags]);
    const own = sandbox.requests.filter(({ user }) => user === 'reader');
    expect(new Set(own.map(({ method }) => method))).to.deep.equal(new Set(['GET']));
    return { report, resources: new Set(own.map(({ resource }) => resource ?? '')) };
  };

  it('reads what it needs and nothing else, and writes nothing', async () => {
    const { report, resources } = await read();
    expect(report.now).to.deep.include({ mode: 'PreferSameZone', hinted: 3, inZoneShare: 1 });
    expect(report.kubernetesVersion).to.equal('1.34');
    expect(report.recommendation.improves).to.equal(false);
    expect(resources.has('endpointslices')).to.equal(true);
    expect(resources.has('pods')).to.equal(false);
  });

  it('reads Pods where demand asks for their capacity', async () => {
    const { report, resources } = await read('--demand', 'eu-1a=1,eu-1b=0.1,eu-1c=0.1');
    expect(resources.has('pods')).to.equal(true);
    expect(report.capacity).to.deep.include({ source: 'requests', cores: 1.5 });
    expect(modeOf(report, 'load-aware').outcome).not.to.equal(null);
  });
});

describe('kubectl topology simulate, with a flow controller', function withFlowController() {
  this.timeout(60_000);
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

  it('asks a cluster for policies of Services with a planned strategy only, and goes on without', async () => {
    const folder = temporaryFolder();
    const sandbox = await startSandbox({ kubernetesVersion: 'v1.34.2' });
    try {
      await sandbox.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default' } });
      sandbox.seed([node({ zone: 'eu-1a' }), node({ zone: 'eu-1b' })]);
      const labels = { [LABEL_STRATEGY]: 'load-aware' };
      await sandbox.apply(service());
      await sandbox.apply(service({ metadata: { name: 'planned', namespace: 'default', labels } }));
      await sandbox.settled();
      const access = ['--kubeconfig', folder.write('kubeconfig', sandbox.kubeconfig('reader'))];
      const asked = async (name: string): Promise<boolean> => {
        sandbox.clearRequests();
        const { code, err } = await runTopology(['simulate', `default/${name}`, ...access]);
        // Nothing is ready here, which is all there is to say.
        expect([code, err.split('\n').at(-2)]).to.deep.equal([
          2,
          `error: Service default/${name} has no ready IPv4 endpoint for port https`,
        ]);
        return sandbox.requests.some(({ user, path }) => user === 'reader' && path.includes('/flowpolicies'));
      };
      expect(await asked('server')).to.equal(false);
      expect(await asked('planned')).to.equal(true);
    } finally {
      await sandbox.stop();
      folder.remove();
    }
  });
});

describe('kubectl topology simulate, from files', () => {
  it('never loads the client of a cluster', async () => {
    const script = `import { registerHooks } from 'node:module';
const seen = [];
registerHooks({ load(url, context, next) { seen.push(url); return next(url, context); } });
process.on('exit', () => process.stderr.write(seen.join('\\n')));`;
    const hook = `data:text/javascript,${encodeURIComponent(script)}`;
    const main = resolve(root, 'cmd/kubectl-topology/main.ts');
    const args = ['--import', hook, main, ...example('--gb-per-day', '1', '--prices', PRICES)];
    const { stderr } = await promisify(execFile)(process.execPath, args);
    expect(stderr).to.contain('pkg/diagnosis/simulate/simulate.ts');
    expect(stderr).not.to.match(/client-node|undici|winston|pkg\/kubernetes/);
  });
});
