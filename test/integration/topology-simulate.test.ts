// `kubectl topology simulate` as it is called: its JSON contract, its reference, its screens, and what it loads.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import type { HintsReport } from '../../pkg/diagnosis/models/hints.ts';
import { BUILT_IN_PRICES } from '../../pkg/diagnosis/prices.ts';
import { MODE_NAMES } from '../../pkg/diagnosis/simulate/types.ts';
import type { SimulationReport } from '../../pkg/diagnosis/simulate/simulate.ts';
import { runTopology, topologyJson } from '../fixtures/topology-command.ts';
import { DEMAND, EXAMPLE, example, modeOf, root, simulated } from './topology-simulate-example.ts';

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
    const whatIf = ['--replicas', 'eu-central-1a=3'];
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

  it('the reference names every mode since the version of the models, and every table of prices', () => {
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

  it('has neither bytes nor money unless bytes are given', async () => {
    const text = JSON.stringify(await simulated());
    expect(text).not.to.match(/cost|price|gigabyte|currency/i);
  });

  it('says that a what-if is one', async () => {
    expect(everything.whatIf).to.deep.equal({ replicas: { 'eu-central-1a': { before: 2, after: 3 } } });
    expect((await simulated()).whatIf).to.equal(null);
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
});

describe('kubectl topology simulate, its screens', () => {
  it('the shipped example shows: Auto gives up, same-zone overloads, a plan keeps to the limit', async () => {
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

  it('a what-if stands above everything else', async () => {
    const { out } = await runTopology(example('--replicas', 'eu-central-1a=3'));
    expect(out.split('\n').slice(1, 3).join(' ')).to.match(/^WHAT IF: 3 ready endpoints in eu-central-1a, not 2\./);
  });

  it('names from objects reach the terminal without control characters', async () => {
    const evil = readFileSync(EXAMPLE, 'utf8')
      .replace('name: http, port: 80', 'name: "http\\u001B[31m", port: 80')
      .replace('name: http, protocol', 'name: "http\\u001B[31m", protocol');
    const { out, code } = await runTopology(['simulate', 'checkout', '-f', '-'], { stdin: evil });
    expect(code).to.equal(0);
    expect(out).not.to.contain('\u001B');
  });
});
