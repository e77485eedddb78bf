// Files that `kubectl topology` reads: objects of a cluster, prices, observations. An answer, or exit code 2 and what is wrong.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { CLUSTERS, type Ran, clusterFile, runTopology } from '../../fixtures/topology-command.ts';
import { clusterSamples } from '../documents/cluster.ts';
import { OBSERVATIONS } from '../documents/flow.ts';
import { type Input, type OpenTarget, type Sample, type Target, must } from '../types.ts';
import { print, yamlStyle } from '../inputs.ts';

const PRICES = 'prices';
const REPLAY = 'observations';
const DEMAND = ['--demand', 'eu-1a=1,eu-1b=0.5', '--capacity', '1'];

/** What is asked about a cluster; `page` is where a page may be written. */
const questions = (page: string): readonly (readonly string[])[] => [
  ['explain', 'web'],
  ['explain', 'web', '--proxy', 'cilium'],
  ['audit'],
  ['audit', '--gb-per-day', '100', '--html', page],
  ['simulate', 'web'],
  ['simulate', 'web', ...DEMAND],
  ['simulate', 'web', '--replicas', 'eu-1a=4', '--kubernetes-version', '1.33'],
  ['route', '--service', 'shop/web'],
  ['plan', '--service', 'shop/web', ...DEMAND],
  ['plan', '--service', 'shop/web', '--weights', 'cpu'],
  ['hints'],
];

const OUTPUTS = ['table', 'wide', 'json', 'yaml'];

/** Control characters would reach the terminal of whoever looks; an `undefined` is nobody's answer. */
const checkText = (text: string, input: string, what: string): void => {
  const control = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u.exec(text);
  must(control === null, () => `${what} has ${JSON.stringify(control?.[0])}: ${JSON.stringify(text).slice(0, 200)}`);
  const nonsense = /\b(?:undefined|NaN|Infinity)\b|\[object Object\]|Cannot read|is not a function/.exec(text)?.[0];
  must(nonsense === undefined || input.includes(nonsense), () => `${what} says ${nonsense}: ${text.slice(0, 400)}`);
};

const MAX_ERROR = 3_000;

const checkRan = ({ code, out, err }: Ran, input: string, output: string): void => {
  must([0, 1, 2].includes(code), () => `exit code ${code}`);
  checkText(out, input, 'standard output');
  checkText(err, input, 'standard error');
  if (code === 2) {
    must(/^(?:warning: .*\n)*error: ./.test(err), () => `exit code 2, and standard error says ${err.slice(0, 200)}`);
    must(err.length < MAX_ERROR, () => `an error of ${err.length} characters: ${err.slice(0, 300)}`);
  } else if (output === 'json') JSON.parse(out);
};

const scriptsIn = (page: string): number =>
  (readFileSync(page, 'utf8').match(/<script\b|\bonerror\s*=/gi) ?? []).length;

const observationLines = (value: unknown): string => (Array.isArray(value) ? value : [value]).map(print).join('\n');

/** Every line of observations has its line of decisions, or of what is wrong. */
const replay = async ({ text }: Input): Promise<void> => {
  const stdin = text.toString('utf8');
  const { code, out } = await runTopology(['replay'], { stdin });
  must(code === 0, () => `exit code ${code}`);
  const asked = stdin.split('\n').filter((line) => line.trim() !== '').length;
  const answers = out.split('\n').filter((line) => line !== '');
  must(answers.length === asked, () => `${answers.length} answers to ${asked} lines`);
  for (const answer of answers) {
    const { error, inZoneShare } = JSON.parse(answer) as { error?: object; inZoneShare?: unknown };
    const share = inZoneShare ?? 0;
    const fits = typeof share === 'number' && share >= 0 && share <= 1 + 1e-9;
    must(error !== undefined || fits, () => `a share of ${String(inZoneShare)}: ${answer.slice(0, 300)}`);
  }
};

export const target: Target = {
  bytes: true,
  async open(folder) {
    const prices = parse(readFileSync(join(CLUSTERS, '../../../example/topology/prices.yaml'), 'utf8')) as unknown;
    const samples: Sample[] = [
      ...clusterSamples(),
      ...Array.from({ length: 4 }, () => ({ name: PRICES, value: prices })),
      ...Array.from({ length: 6 }, () => ({ name: REPLAY, value: OBSERVATIONS })),
    ];
    const page = join(folder, 'page.html');
    const asked = questions(page);
    await runTopology(['audit', '--html', page, '-f', clusterFile('effective')]);
    const scripts = scriptsIn(page);

    const run = async (input: Input): Promise<void> => {
      const { text, sample, random } = input;
      if (sample === REPLAY) return replay(input);
      const file = join(folder, random.pick(['objects.yaml', 'objects.json', 'objects']));
      writeFileSync(file, text);
      const output = random.pick(OUTPUTS);
      const known = ['-f', clusterFile('effective-auto'), '--gb-per-day', '100', '--prices', file];
      const question = sample === PRICES ? ['audit', ...known] : [...random.pick(asked), '-f', file];
      const needsNamespace = question[1] === 'web' ? ['-n', 'shop'] : [];
      const ran = await runTopology([...question, ...needsNamespace, '-o', output]);
      checkRan(ran, text.toString('utf8'), output);
      if (ran.code !== 2 && question.includes(page))
        must(scriptsIn(page) === scripts, () => 'the page has a script of somebody else');
    };
    const asText: OpenTarget['print'] = (value, random, sample) =>
      sample === REPLAY ? observationLines(value) : yamlStyle(value, random);
    return { samples, print: asText, run };
  },
};
