// No figure where there is nothing to count, the same figure whichever command is asked, and no remedy that cannot help:
// over every file of test/fixtures/clusters, and over files that are changed in one place.
import { readFileSync, readdirSync } from 'node:fs';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { AuditReport } from '../../pkg/diagnosis/audit/audit.ts';
import type { Explanation } from '../../pkg/diagnosis/explain/explain.ts';
import type { SimulationReport } from '../../pkg/diagnosis/simulate/simulate.ts';
import { CLUSTERS, clusterFile, clusterFlags, runTopology, topologyJson } from '../fixtures/topology-command.ts';
import { inFull } from '../support/depth.ts';

const FILES = readdirSync(CLUSTERS).map((name) => name.replace(/\.yaml$/, ''));

const QUESTIONS: readonly (readonly string[])[] = [
  ['simulate', 'shop/web', '-o', 'wide'],
  ['audit', '-o', 'wide'],
  ['route', '--service', 'shop/web'],
];
/** They do not know who routes from flags. */
const PLAIN_QUESTIONS: readonly (readonly string[])[] = [['status'], ['audit', '--without', 'eu-1a']];

const textOf = async (args: readonly string[], stdin?: string): Promise<string> => {
  const { out, err } = await runTopology(args, stdin === undefined ? {} : { stdin });
  return out + err;
};

const on = (file: string): readonly string[] => ['-f', clusterFile(file), ...clusterFlags(file)];

const changed = (file: string, pattern: RegExp, by = ''): string => {
  const text = readFileSync(clusterFile(file), 'utf8');
  const result = text.replaceAll(pattern, by);
  expect(result, `${file} has nothing to change`).not.to.equal(text);
  return result;
};

const NO_FIGURE = /.*(?:\b0 of 0\b|NaN|undefined|Infinity).*/;
const AUTOSCALERS = /^--- \{ apiVersion: autoscaling.*\n.*\n/gm;
const HINTS = /, hints: \{ for(?:Zones|Nodes): \[[^\]]*\] \}/g;

/** Of pods-not-spread-taint: what else keeps Pods away from the only Node of a zone, or is under way. */
const BARRIERS: readonly (readonly [name: string, by: readonly [RegExp, string], text: RegExp])[] = [
  [
    'a virtual kubelet',
    [/name: node-eu-1c, labels: \{/g, 'name: node-eu-1c, labels: { type: virtual-kubelet,'],
    /every Node of eu-1c keeps them away \(node-eu-1c: a virtual kubelet/,
  ],
  [
    'Fargate',
    [/name: node-eu-1c, labels: \{/g, 'name: node-eu-1c, labels: { eks.amazonaws.com/compute-type: fargate,'],
    /every Node of eu-1c keeps them away \(node-eu-1c: Fargate/,
  ],
  ['a cordoned Node', [/spec: \{ taints: \[[^\]]*\] \}/g, 'spec: { unschedulable: true }'], /\(node-eu-1c: cordoned\)/],
  [
    'a roll-out that is under way',
    [/(?<=kind: Deployment.*\n.*)\}$/gm, ', status: { replicas: 4, updatedReplicas: 1 } }'],
    /A roll-out of Deployment web is under way \(1 of 3 updated\): look again when it is done;/,
  ],
  [
    'all Pods in one zone',
    [/ zone: eu-1b/g, ' zone: eu-1a'],
    /^All 3 ready endpoints of Service shop\/web are in eu-1a, none in /,
  ],
];

describe('figures of kubectl topology', () => {
  const texts = new Map<string, Promise<string>>();
  const explained = (file: string): Promise<string> => {
    const text = texts.get(file) ?? textOf(['explain', 'shop/web', ...on(file)]);
    texts.set(file, text);
    return text;
  };

  it('never say 0 of 0, and are never none of the numbers, in any answer to any file', async () => {
    const wrong: string[] = [];
    for (const file of inFull(
      FILES,
      FILES.filter((_, at) => at % 3 === 0),
    )) {
      const asked = [
        ...QUESTIONS.map((question) => [...question, ...on(file)]),
        ...PLAIN_QUESTIONS.map((question) => [...question, '-f', clusterFile(file)]),
      ];
      const screen = NO_FIGURE.exec(await explained(file));
      if (screen !== null) wrong.push(`${file}, explain: ${screen[0]}`);
      for (const args of asked) {
        const found = NO_FIGURE.exec(await textOf(args));
        if (found !== null) wrong.push(`${file}, ${args[0] ?? ''}: ${found[0]}`);
      }
    }
    expect(wrong).to.deep.equal([]);
  });

  it('never call a Service effective below 100 % whose client zones all keep their traffic', async () => {
    const told = new Map<string, string>();
    for (const file of FILES) {
      const text = await explained(file);
      const share = /(?:effective[^:\n]*:|through its cluster IP) (\d+) % of connections/.exec(text)?.[1];
      if (share === undefined || share === '100' || /^✗ .*ineffective/m.test(text)) continue;
      told.set(file, /^EFFECTIVE.*$/m.exec(text)?.[0] ?? '');
    }
    expect(told.get('hinted-for-other-zone')).to.match(/3 of 3 client zones follow their hints, which lend/);
    for (const [file, line] of told) expect(line, file).not.to.match(/zones keep their traffic/);
  });

  const without: readonly (readonly [name: string, file: string, stdin: string | undefined, why: RegExp])[] = [
    ['a headless Service', 'headless', undefined, /✗ headless: its clients choose/],
    ['a name in DNS', 'external-name', undefined, /✗ it is a DNS name; no setting/],
    ['a Service of another proxy', 'other-proxy', undefined, /no share can be predicted \(no proxy of the cluster/],
    ['a cluster without Nodes', 'no-nodes', undefined, /no share can be predicted \(no ready Node is known\)/],
    [
      'an unknown router',
      'gke-dataplane-v2-unknown',
      undefined,
      /no share can be predicted \(the data plane is not known/,
    ],
    ['a Service without endpoints', 'no-endpoints', undefined, /✗ no endpoint is ready/],
    [
      'endpoints without zone',
      'hints-not-written',
      changed('hints-not-written', /, zone: eu-1[abc](?= \}$)/gm),
      /no share can be predicted \(no endpoint has a zone, though their Nodes are in eu-1a, eu-1b and eu-1c\)/,
    ],
  ];
  for (const [name, file, stdin, why] of without) {
    it(`are none for ${name}: explain and audit say why, and simulate refuses`, async () => {
      const from = ['-f', stdin === undefined ? clusterFile(file) : '-'];
      const text = await textOf(['explain', 'shop/web', ...from], stdin);
      expect(text).to.match(why);
      if (name !== 'endpoints without zone') expect(text).not.to.match(/\d %(?! of the demand)/);
      const audited = await textOf(['audit', ...from], stdin);
      if (name !== 'endpoints without zone') expect(audited).not.to.match(/\d %/);
      const simulated = await runTopology(['simulate', 'shop/web', ...from], stdin === undefined ? {} : { stdin });
      expect([simulated.code, simulated.out]).to.deep.equal([2, '']);
    });
  }

  it('leave open what an unknown router does, instead of calling it wrong', async () => {
    expect(await explained('gke-dataplane-v2-unknown'))
      .to.match(/^USED +\? 3 not known/m)
      .and.to.match(/^EFFECTIVE +\? not known of eu-1a, eu-1b, eu-1c$/m);
    expect(await textOf(['audit', ...on('gke-dataplane-v2-unknown')])).to.match(/Not known: the data plane/);
  });

  it('weigh clients alike in audit, explain and simulate, or say by what else', async () => {
    const different: string[] = [];
    for (const file of FILES) {
      const audited = await topologyJson<AuditReport>(['audit', ...on(file)]);
      const { effective } = await topologyJson<Explanation>(['explain', 'shop/web', ...on(file)]);
      const share = audited.services.find(({ name }) => name === 'web')?.inZoneShare ?? -1;
      expect(share, `audit and explain of ${file}`).to.be.closeTo(effective.inZoneShare ?? -1, 1e-9);
      const { code, out } = await runTopology(['simulate', 'shop/web', ...on(file), '-o', 'json']);
      if (code !== 0) continue;
      const { now, demand } = JSON.parse(out) as SimulationReport;
      if (Math.abs(now.inZoneShare - share) > 1e-9) different.push(`${file}: ${demand.source}`);
    }
    // One family or one port of two, which the first line names; and clients by what a FlowPolicy observed.
    expect(different).to.deep.equal([
      'dual-stack-too-few-endpoints: cpu',
      'load-aware-effective: flowPolicy',
      'port-of-some-pods: cpu',
    ]);
    expect(await textOf(['simulate', 'shop/web', ...on('port-of-some-pods')])).to.match(/IPv4, port/);
    expect(await textOf(['simulate', 'shop/web', ...on('dual-stack-too-few-endpoints')])).to.match(/IPv4, port/);
    expect(await textOf(['simulate', 'shop/web', ...on('load-aware-effective')])).to.match(/Clients .*FlowPolicy/);
  });

  it('of Auto in simulate are the same whatever hints are stored now', async () => {
    const auto = async (stdin: string): Promise<unknown> => {
      const { out } = await runTopology(['simulate', 'shop/web', '-f', '-', '-o', 'json'], { stdin });
      return (JSON.parse(out) as SimulationReport).modes.find(({ mode }) => mode === 'Auto')?.outcome;
    };
    for (const file of ['effective-auto', 'hinted-for-other-zone', 'pods-not-spread', 'uneven-load', 'effective']) {
      const stored = readFileSync(clusterFile(file), 'utf8');
      const elsewhere = changed(file, HINTS, ', hints: { forZones: [{ name: eu-1c }] }');
      expect(await auto(changed(file, HINTS)), `${file}, without hints`).to.deep.equal(await auto(stored));
      expect(await auto(elsewhere), `${file}, other hints`).to.deep.equal(await auto(stored));
    }
  });

  it('claim no missing autoscaler where none was listed', async () => {
    const reasons = async (stdin: string): Promise<readonly string[]> => {
      const { causes } = await topologyJson<Explanation>(['explain', 'shop/web', '-f', '-'], { stdin });
      return causes.map(({ reason }) => reason);
    };
    expect(await reasons(readFileSync(clusterFile('no-growth'), 'utf8'))).to.include('NoGrowth');
    const unlisted = changed('no-growth', AUTOSCALERS);
    expect(await reasons(unlisted)).not.to.include('NoGrowth');
    expect(await textOf(['explain', 'shop/web', '-f', '-'], unlisted)).to.match(/Not seen: .*HorizontalPodAutoscalers/);
  });
});

describe('why no Pod serves a zone', () => {
  for (const [name, [pattern, by], text] of BARRIERS) {
    it(`is ${name}, and no command is offered that cannot help`, async () => {
      const stdin = changed('pods-not-spread-taint', pattern, by);
      const { causes } = await topologyJson<Explanation>(['explain', 'shop/web', '-f', '-'], { stdin });
      // Behind RouterUnknown on a virtual kubelet, where no proxy runs.
      const found = causes.find(({ reason }) => reason === 'PodsNotSpread');
      expect(found?.evidence).to.match(text);
      expect(found?.fix?.join('\n')).to.match(/^kubectl get pods -n shop -l /);
    });
  }

  it('is a missing constraint: the command keeps those that are there, and an autoscaler keeps its replicas', async () => {
    const fixes = async (file: string, stdin?: string): Promise<string> => {
      const args = ['explain', 'shop/web', '-f', stdin === undefined ? clusterFile(file) : '-'];
      const { causes } = await topologyJson<Explanation>(args, stdin === undefined ? {} : { stdin });
      return (causes[0]?.fix ?? []).join('\n');
    };
    expect(await fixes('pods-not-spread')).to.match(/^kubectl patch deployment web -n shop -p '\{"spec"/);
    expect(await fixes('pods-not-spread-replicas')).to.match(/^kubectl patch hpa web -n shop .*"minReplicas":3/);
    const unscaled = changed('pods-not-spread-replicas', AUTOSCALERS);
    expect(await fixes('', unscaled)).to.match(/^kubectl scale deployment web -n shop --replicas=3/);
  });
});
