// `kubectl topology check` on files: places, formats, exit codes, and the action for pipelines.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { parse } from 'yaml';
import type { CheckReport } from '../../pkg/diagnosis/check/check.ts';
import { clusterFile, runTopology, topologyJson } from '../fixtures/topology-command.ts';

const root = resolve(import.meta.dirname, '../..');
const EXAMPLE = resolve(root, 'example/check/rendered.yaml');
const check = (...flags: string[]) => runTopology(['check', '-f', EXAMPLE, ...flags]);

interface Sarif {
  readonly version: string;
  readonly runs: readonly {
    readonly tool: { readonly driver: { readonly rules: readonly { readonly id: string }[] } };
    readonly results: readonly {
      readonly ruleId: string;
      readonly level: string;
      readonly locations: readonly {
        readonly physicalLocation?: { readonly region: { readonly startLine: number } };
      }[];
    }[];
  }[];
}
const sarifOf = (text: string): Sarif => JSON.parse(text) as Sarif;

describe('kubectl topology check', () => {
  it('names file and line of each object, worst first', async () => {
    const { findings } = await topologyJson<CheckReport>(['check', '-f', EXAMPLE]);
    expect(findings.map(({ severity, reason, place }) => `${place?.line} ${severity} ${reason}`)).to.deep.equal([
      '13 error SpreadSelectsNothing',
      '3 warning NotRequested',
      '32 warning AnnotationWins',
    ]);
    const { out } = await check();
    expect(out).to.contain(`${EXAMPLE}:13: error SpreadSelectsNothing Deployment shop/cart\n`);
    expect(out).to.contain('2 Services, 1 workload, for Kubernetes ');
  });

  const codes: readonly (readonly [flags: readonly string[], code: number])[] = [
    [[], 1],
    [['--fail-on', 'warning'], 1],
    [['--fail-on', 'none'], 0],
    [['--fail-on', 'much'], 2],
    [['--kubernetes-version', 'x'], 2],
  ];
  for (const [flags, code] of codes) {
    it(`has exit code ${code} with ${flags.join(' ') || 'no flag'}`, async () => {
      expect((await check(...flags)).code).to.equal(code);
    });
  }

  it('is fine with exit code 0 where only notes and warnings are found, and asks for manifests where there are none', async () => {
    expect((await runTopology(['check', '-f', clusterFile('not-requested')])).code).to.equal(0);
    const without = await runTopology(['check']);
    expect([without.code, without.err.includes('name them with -f')]).to.deep.equal([2, true]);
    expect((await runTopology(['check', '-f', '-'], { stdin: '' })).code).to.equal(2);
  });

  it('writes SARIF 2.1.0 with a rule a reason, levels and lines', async () => {
    const { version, runs } = sarifOf((await check('-o', 'sarif')).out);
    const [run] = runs;
    expect(version).to.equal('2.1.0');
    expect(run?.tool.driver.rules.map(({ id }) => id)).to.have.members(run?.results.map(({ ruleId }) => ruleId) ?? []);
    expect(
      run?.results.map(({ level, locations }) => [level, locations[0]?.physicalLocation?.region.startLine]),
    ).to.deep.equal([
      ['error', 13],
      ['warning', 3],
      ['warning', 32],
    ]);
  });
});

interface Step {
  readonly name: string;
  readonly run: string;
  readonly env?: Readonly<Record<string, string>>;
}

describe('action.yml', () => {
  const action = parse(readFileSync(resolve(root, 'action.yml'), 'utf8')) as {
    inputs: Record<string, { default?: string }>;
    runs: { steps: readonly Step[] };
  };
  const step = action.runs.steps.find(({ name }) => name === 'Check');

  /** The environment that the runner makes of the inputs. */
  const environment = (given: Readonly<Record<string, string>>): Record<string, string> =>
    Object.fromEntries(
      Object.entries(step?.env ?? {}).map(([key, text]) => {
        const name = /^\$\{\{ inputs\.([\w-]+) \}\}$/.exec(text)?.[1] ?? '';
        return [key, given[name] ?? action.inputs[name]?.default ?? ''];
      }),
    );
  const run = async (given: Readonly<Record<string, string>>): Promise<{ code: number; out: string }> => {
    const env = { ...process.env, ...environment(given), GITHUB_ACTION_PATH: root };
    const bash = promisify(execFile)('bash', ['--noprofile', '--norc', '-e', '-c', step?.run ?? ''], {
      env,
      cwd: root,
    });
    return bash.then(
      ({ stdout }) => ({ code: 0, out: stdout }),
      (error: { code: number; stdout: string }) => ({ code: error.code, out: error.stdout }),
    );
  };

  it('takes every input by the environment, never into the script', () => {
    expect(action.runs.steps.map(({ run: script }) => script).join('\n')).not.to.contain('${{');
    expect(Object.keys(environment({}))).to.have.lengthOf(Object.keys(action.inputs).length);
  });

  it('fails the job as the command does, and writes what was asked for', async () => {
    const path = 'example/check/rendered.yaml';
    const [failed, passed] = await Promise.all([
      run({ path, output: 'sarif' }),
      run({ path, 'fail-on': 'none', 'kubernetes-version': '1.33', 'cilium-version': '1.18' }),
    ]);
    expect(failed.code).to.equal(1);
    expect(sarifOf(failed.out).runs).to.have.lengthOf(1);
    expect(passed.code).to.equal(0);
    expect(passed.out).to.contain('for Kubernetes 1.33');
  });
});
