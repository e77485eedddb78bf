import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { loadAll } from 'js-yaml';
import { describe, it } from 'mocha';
import { type Fields, applyMergePatch } from '../../pkg/apis/values.ts';
import { LABEL_ZONE } from '../../pkg/apis/names.ts';
import { DIAGNOSIS_REASONS } from '../../pkg/diagnosis/explain/reasons.ts';
import type { Endpoint, Service } from '../../pkg/apis/core.ts';
import type { ObjectMeta } from '../../pkg/apis/meta.ts';
import type { HintsReport } from '../../pkg/diagnosis/models/hints.ts';
import type { Explanation } from '../../pkg/diagnosis/explain/explain.ts';
import { REASONS } from '../../pkg/upstream/reasons.ts';
import { CLUSTERS, clusterFile, clusterFlags, runTopology, topologyJson } from '../fixtures/topology-command.ts';
import { CASES } from './topology-explain-cases.ts';

/** Codes that are no first cause of any file, and why. */
const WITHOUT_FILE: Readonly<Record<string, string>> = {
  ProportionalHints: 'says that all is well',
  SameZoneRequested: 'says that all is well',
  SameNodeRequested: 'says that all is well',
  SameNodeHints: 'says that all is well',
  SameZoneHints: 'says that all is well',
  NotManaged: 'explain says why: NoSelector, or who wrote the slice',
  InsufficientNodeInformation: 'explain says more: NodeWithoutZone, NodeWithoutCpu, ControlPlaneNodes, NodesInOneZone',
  NoHints: 'what proxies do; explain says why there are none',
  ProxyMissedItsZone: 'objects cannot show it: any file with --crossing',
  NodeIgnored: 'in topology-reported-services.test.ts',
  ClusterIPNotUsed: 'in topology-reported-traffic.test.ts',
  ProxyOfAnotherNode: 'in topology-reported-services.test.ts',
  SlicesBehind: 'in topology-reported-services.test.ts',
  PodsWaiting: 'in topology-reported-services.test.ts',
  PolicyIgnored: 'in topology-reported-services.test.ts',
  StickyClients: 'in topology-reported-services.test.ts',
  ApiServer: 'only of default/kubernetes, in test/unit/diagnosis/explain/objects.test.ts',
};

/** Causes for which there is no command, and why. */
const WITHOUT_COMMAND: Readonly<Record<string, string>> = {
  LoadBalancerTraffic: 'the load balancer is set where it is made, and the policy Local may leave the Pods of one Node',
  ZoneFailsHealthCheck: 'what spreads the Pods is another cause',
  ZoneIsNone: 'the pool of Nodes has to be another',
  SingleZone: 'nothing is wrong',
  ExternalName: 'zones are up to what answers the name',
  NodesInOneZone: 'nothing crosses; Nodes are added where the cluster is made',
  PortOfSomePods: 'its slices say which Pods have the port; another is given where they are made',
  HintsIgnored: 'no setting of the Service or the cluster makes this version of the data plane read hints',
};

/** Files without a cause, and why they are here. */
const WITHOUT_CAUSE: ReadonlySet<string> = new Set([
  'effective',
  'effective-auto',
  'webhook-effective',
  'dual-stack-effective',
  'load-aware-effective',
  'router-assumed',
]);

type Document = Record<string, unknown> & {
  readonly items?: readonly Document[];
  readonly metadata?: ObjectMeta;
  endpoints?: Endpoint[];
};

const explain = (file: string, ...flags: string[]): Promise<Explanation> =>
  topologyJson<Explanation>(['explain', 'shop/web', '-f', clusterFile(file), ...clusterFlags(file), ...flags]);

describe('kubectl topology explain, on files', () => {
  it('has a case for every file', () => {
    const files = readdirSync(CLUSTERS).map((name) => name.replace(/\.yaml$/, ''));
    expect(
      CASES.map(([file]) => file),
      'rows of topology-explain-cases.ts, one for each file of test/fixtures/clusters',
    ).to.have.members(files);
  });

  it('has a file for every code, or says why not', () => {
    const all = [...Object.keys(REASONS), ...Object.keys(DIAGNOSIS_REASONS)];
    const firsts = new Set(CASES.flatMap(([, , first]) => first ?? []));
    const known = [...firsts, ...Object.keys(WITHOUT_FILE)];
    const missing = all.filter((reason) => !known.includes(reason));
    expect(missing, 'add a file to test/fixtures/clusters and its row to topology-explain-cases.ts').to.deep.equal([]);
    expect(known.filter((reason) => !all.includes(reason))).to.deep.equal([]);
    expect(Object.keys(WITHOUT_FILE).filter((reason) => firsts.has(reason))).to.deep.equal([]);
  });

  it('names a distinct cause in every file: its own code, or evidence that no other file of the code has', async () => {
    const byCode = Map.groupBy(CASES, ([, , first]) => first);
    expect(new Set(byCode.get(undefined)?.map(([file]) => file))).to.deep.equal(WITHOUT_CAUSE);
    const alike: string[] = [];
    for (const cases of byCode.values()) {
      for (const [file, , first] of cases) {
        const found = (await explain(file)).causes[0]?.evidence ?? '';
        const others = cases.filter(([other, , , evidence]) => other !== file && evidence.test(found));
        if (first !== undefined) alike.push(...others.map(([other]) => `${file} looks like ${other}`));
      }
    }
    expect(alike).to.deep.equal([]);
  });

  for (const [file, verdict, first, evidence] of CASES) {
    it(`${file}: ${verdict}${first === undefined ? '' : `, ${first} first`}`, async () => {
      const report = await explain(file);
      const summary = report.causes.map(({ reason }) => reason).join(', ');
      expect(report.verdict).to.equal(verdict);
      expect(report.causes[0]?.reason, summary).to.equal(first);
      expect(report.causes[0]?.evidence ?? '').to.match(evidence);
      for (const { reason, remedy } of report.causes) {
        expect({ ...REASONS, ...DIAGNOSIS_REASONS }).to.have.property(reason);
        expect(remedy).to.match(/\S/);
      }
    });
  }

  it('has a command, or a line for who owns the Service, for every cause in every file', async () => {
    const bare: string[] = [];
    for (const [file] of CASES) {
      const { causes } = await explain(file);
      for (const { reason, fix = [] } of causes) {
        if (fix.length === 0 && !Object.hasOwn(WITHOUT_COMMAND, reason)) bare.push(`${file}: ${reason}`);
        for (const line of fix) {
          expect(line, `${file}: ${reason}`).to.match(/^(?:kubectl|helm) \S|^# \S/);
          // A placeholder is advice, and so is what a load balancer may make of the policy.
          expect(line, `${file}: ${reason}`).to.not.match(/^kubectl .*<\w|^kubectl .*"externalTrafficPolicy":"Local"/);
        }
        expect(new Set(fix).size, `${file}: ${reason}`).to.equal(fix.length);
      }
    }
    expect(bare, 'add a fix to FIXES of pkg/diagnosis/explain/fix.ts').to.deep.equal([]);
  });

  /** The printed commands on the objects of the file; undefined where one changes anything but the Service and its slices. */
  const afterCommands = (file: string, lines: readonly string[]): Document[] | undefined => {
    const documents = loadAll(readFileSync(clusterFile(file), 'utf8')) as Document[];
    const objects: Document[] = documents.flatMap(({ items, apiVersion, kind, ...each }) =>
      items === undefined
        ? [{ apiVersion, kind, ...each }]
        : items.map((item) => ({ apiVersion, kind: String(kind).replace(/List$/, ''), ...item })),
    );
    for (const line of lines) {
      const [, verb = '', kind = '', rest = ''] =
        /^kubectl (patch|annotate|label) (service|endpointslices) (.*)$/.exec(line) ?? [];
      if (verb === '') return undefined;
      const own = objects.filter((each) => each.kind === (kind === 'service' ? 'Service' : 'EndpointSlice'));
      const keys = rest.split(' ').flatMap((word) => /^([\w.-]+\/[\w.-]+)(?:=(.*)|-)$/.exec(word)?.slice(1, 3) ?? []);
      const field = verb === 'label' ? 'labels' : 'annotations';
      const patch =
        verb === 'patch'
          ? (JSON.parse(/-p '(.*)'$/.exec(rest)?.[1] ?? '') as object)
          : { metadata: { [field]: { [keys[0] ?? '']: keys[1] ?? null } } };
      for (const each of own) objects[objects.indexOf(each)] = applyMergePatch(each, patch as Fields);
    }
    return objects;
  };

  /** What explain answers once the control plane and the webhooks of the objects have followed. */
  const followed = async (objects: Document[], flags: readonly string[]): Promise<Explanation> => {
    const stdinOf = () => ({ stdin: JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }) });
    const slices = objects.filter(({ kind }) => kind === 'EndpointSlice');
    const zones = new Map(objects.map(({ metadata }) => [metadata?.name, metadata?.labels?.[LABEL_ZONE]]));
    for (const each of slices.flatMap(({ endpoints = [] }) => endpoints)) each.zone ??= zones.get(each.nodeName) ?? '';
    const spec = objects.find(({ kind }) => kind === 'Service')?.['spec'] as Service['spec'];
    const admission = objects.some(({ kind }) => kind === 'MutatingWebhookConfiguration') ? [] : ['--no-webhook'];
    const { services } = await topologyJson<HintsReport>(['hints', '-f', '-', ...admission], stdinOf());
    const hints = new Map(services.flatMap(({ endpoints }) => endpoints.map((each) => [each.address, each.hints])));
    for (const each of slices.flatMap(({ endpoints = [] }) => endpoints)) {
      if (spec?.publishNotReadyAddresses === false && each.conditions?.serving === false) each.conditions.ready = false;
      const forZones = hints.get(each.addresses[0] ?? '')?.forZones.map((name) => ({ name }));
      Object.assign(each, forZones === undefined ? {} : { hints: { forZones } });
    }
    return topologyJson<Explanation>(['explain', 'shop/web', '-f', '-', ...flags], stdinOf());
  };

  it('offers no command for the Service after which its cause is still there, whatever the cluster', async () => {
    let tried = 0;
    const useless: string[] = [];
    for (const [file] of CASES) {
      for (const { reason, fix = [] } of (await explain(file)).causes) {
        const objects = afterCommands(file, fix);
        if (objects === undefined || fix.length === 0) continue;
        tried += 1;
        const { causes } = await followed(objects, clusterFlags(file));
        if (causes.some((each) => each.reason === reason)) useless.push(`${file}: ${reason}: ${fix.join('; ')}`);
      }
    }
    expect(useless).to.deep.equal([]);
    expect(tried).to.be.above(20);
  });

  it('judges both address families, and names the one that is not routed', async () => {
    const report = await explain('dual-stack-too-few-endpoints');
    expect(report.given.map(({ addressType, ready, hinted }) => [addressType, ready, hinted])).to.deep.equal([
      ['IPv4', 3, 3],
      ['IPv6', 2, 0],
    ]);
    expect(report.used.map(({ addressType, zone, reason }) => `${addressType} ${zone} ${reason}`)).to.deep.equal([
      ...['eu-1a', 'eu-1b', 'eu-1c'].map((zone) => `IPv4 ${zone} SameZoneHints`),
      ...['eu-1a', 'eu-1b', 'eu-1c'].map((zone) => `IPv6 ${zone} NoHints`),
    ]);
    expect(report.effective.unserved).to.deep.equal(['eu-1a', 'eu-1b', 'eu-1c']);
    // All of IPv4, and two thirds of the clients of IPv6 find half of it in their zone.
    expect(report.effective.inZoneShare).to.be.closeTo((1 + 1 / 3) / 2, 1e-12);
    const { out } = await runTopology(['explain', 'web', '-f', clusterFile('dual-stack-too-few-endpoints')]);
    expect(out).to.match(/ZONE +NODES +FAMILY +PORT/);
    expect((await runTopology(['explain', 'web', '-f', clusterFile('effective')])).out).not.to.match(/NODES +FAMILY/);
  });

  it('names the command that ends an evacuation, and takes its hints for no balance of the CPU heuristic', async () => {
    const [routed, other] = [await explain('evacuated'), await explain('evacuated-in-part')];
    expect(routed.causes.map(({ reason }) => reason)).to.deep.equal(['Evacuated']);
    expect(routed.causes[0]?.fix).to.deep.equal(['kubectl topology return eu-1a']);
    expect(other.causes.map(({ reason }) => reason)).to.deep.equal(['Evacuated']);
    expect(routed.causes[0]?.evidence).to.match(
      /^eu-1a is evacuated until 2026-11-21T02:00:00Z \(drill: every quarter\): /,
    );
    expect(other.causes[0]?.evidence, 'without the object').to.match(
      /Until when and why: kubectl topology evacuations\.$/,
    );
    expect(routed.effective.inZoneShare).to.be.closeTo(2 / 3, 1e-12);
  });

  it('reports what is wanted, given, used and effective', async () => {
    const report = await explain('pods-not-spread');
    expect(report.wanted).to.deep.equal({
      wanted: true,
      source: 'trafficDistribution',
      by: 'spec.trafficDistribution=PreferSameZone',
    });
    expect(report.given).to.deep.equal([
      {
        addressType: 'IPv4',
        ready: 3,
        hinted: 3,
        zones: { 'eu-1a': { endpoints: 2, hinted: 2 }, 'eu-1b': { endpoints: 1, hinted: 1 } },
      },
    ]);
    expect(
      report.used.map(({ zone, mode, endpoints, inZone, reason }) => [zone, mode, endpoints, inZone, reason]),
    ).to.deep.equal([
      ['eu-1a', 'PreferSameZone', 2, 1, 'SameZoneHints'],
      ['eu-1b', 'PreferSameZone', 1, 1, 'SameZoneHints'],
      ['eu-1c', '', 3, 0, 'ZoneNotHinted'],
    ]);
    expect(report.effective.clientZones).to.deep.equal(['eu-1a', 'eu-1b', 'eu-1c']);
    expect(report.effective.unserved).to.deep.equal(['eu-1c']);
    expect(report.effective.inZoneShare).to.be.closeTo(2 / 3, 1e-12);
    expect(report.spread).to.equal(
      'Deployment web: nothing spreads its Pods over zones; HorizontalPodAutoscaler web scales by the mean of all zones',
    );
    expect(report.unseen.map(({ what }) => what)).to.deep.equal(['pods', 'webhooks', 'events', 'ingresses']);
  });

  it('names what objects cannot show only where traffic was measured to cross', async () => {
    expect((await explain('effective')).causes).to.deep.equal([]);
    const [only, ...others] = (await explain('effective', '--crossing')).causes;
    expect(only?.reason).to.equal('ProxyMissedItsZone');
    expect(others).to.deep.equal([]);
    const before = await explain(
      'effective',
      '--crossing',
      '--kubernetes-version',
      '1.33',
      '--feature-gates',
      'PreferSameTrafficDistribution=true',
    );
    expect(before.causes).to.deep.equal([]);
  });

  const codes: readonly (readonly [name: string, file: string, flags: readonly string[], code: number])[] = [
    ['fine without --fail-on, whatever is found', 'not-requested', [], 0],
    ['--fail-on any with a cause', 'load-balancer-traffic', ['--fail-on', 'any'], 1],
    ['--fail-on any without one', 'effective', ['--fail-on', 'any'], 0],
    ['--fail-on ineffective where zones are served', 'load-balancer-traffic', ['--fail-on', 'ineffective'], 0],
    ['--fail-on ineffective where one is not', 'pods-not-spread', ['--fail-on', 'ineffective'], 1],
    ['--fail-on a reason that is there', 'no-growth', ['--fail-on', 'HintsLost,NoGrowth'], 1],
    ['--fail-on a reason that is not', 'no-growth', ['--fail-on', 'HintsLost'], 0],
    ['--fail-on something unknown', 'no-growth', ['--fail-on', 'HintLost'], 2],
  ];
  for (const [name, file, flags, code] of codes) {
    it(`exit code ${code}: ${name}`, async () => {
      expect((await runTopology(['explain', 'web', '-f', clusterFile(file), ...flags])).code).to.equal(code);
    });
  }

  const lines: readonly (readonly [file: string, line: RegExp, service?: string])[] = [
    ['effective', /^✓ effective: 100 % of connections stay in their zone$/],
    ['webhook-effective', /^✓ effective: 100 % of connections stay in their zone$/],
    ['hinted-for-other-zone', /^✓ through its cluster IP 75 % .*; who else reaches its Pods was not seen \(pods, /],
    ['load-balancer-traffic', /^! traffic from outside enters through the Node that .*; through its cluster IP 100 % /],
    [
      'published-not-ready',
      /^✗ connections of clients in eu-1c fail; ineffective: 100 % of connections that arrive stay .* \(\w+\)$/,
    ],
    [
      'webhook-skipped',
      /^✗ it has one ready endpoint \(SingleEndpoint\); kube-apiserver \(.*\) calls it and keeps its connections; not wanted: [^;]*$/,
      'garden/endpointslice-webhook',
    ],
    ['zone-is-none', /^\? not known: no share can be predicted \(Nodes of zone "0" may be in any zone/],
  ];
  for (const [file, line, service = 'shop/web'] of lines) {
    it(`the first line says what was judged: ${file}`, async () => {
      const { out } = await runTopology(['explain', service, '-f', clusterFile(file)]);
      expect(out.split('\n')[1]).to.match(line);
    });
  }

  it('prints one screen for people, coloured on a terminal only', async () => {
    const args = ['explain', 'shop/web', '-f', clusterFile('overload-threshold')];
    const { out } = await runTopology(args);
    expect(out).to.match(/^Service shop\/web \(Kubernetes 1\.34, kube-proxy\)\n✗ ineffective: 33 %/);
    for (const word of ['WANTED', 'GIVEN', 'USED', 'EFFECTIVE', 'First cause', 'OverloadThreshold', '  → '])
      expect(out).to.contain(word);
    expect(out).not.to.contain('\u001B');
    expect(out.split('\n').length).to.be.lessThan(40);
    expect((await runTopology(args, { terminal: true })).out).to.contain('\u001B[31m');
    expect((await runTopology(args, { terminal: true, env: { NO_COLOR: '1' } })).out).not.to.contain('\u001B');
  });

  it('prints a line that helps with several causes once', async () => {
    const { out } = await runTopology(['explain', 'shop/web', '-f', clusterFile('node-without-zone')]);
    expect(out.split('kubectl label node node-new')).to.have.length(2);
    expect(out).to.match(/Label the Node.*\n {6}# see the lines under NodeWithoutZone above\n/);
  });

  it('lists every Node with -o wide, and says the same in YAML as in JSON', async () => {
    const args = ['explain', 'shop/web', '-f', clusterFile('effective')];
    expect((await runTopology([...args, '-o', 'wide'])).out).to.contain('node-eu-1c');
    const { parse } = await import('yaml');
    const yaml: unknown = parse((await runTopology([...args, '-o', 'yaml'])).out);
    expect(yaml).to.deep.equal(await topologyJson(args));
  });
});

const textOf = (file: string): string => readFileSync(clusterFile(file), 'utf8');

const explained = (stdin: string): Promise<Explanation> =>
  topologyJson<Explanation>(['explain', 'shop/web', '-f', '-'], { stdin });

const screenOf = async (stdin: string): Promise<string> =>
  (await runTopology(['explain', 'shop/web', '-f', '-'], { stdin })).out;

const firstOf = ({ causes }: Explanation): string | undefined => causes[0]?.reason;

/** The file without its FlowPolicy, which is its last document. */
const withoutPolicy = (file: string): string => textOf(file).split('---\napiVersion: topology.extensions')[0] ?? '';

describe('kubectl topology explain, of the closed loop', function closedLoop() {
  this.timeout(180_000);

  it('names the strategy, and shows the loop: mode, target, shares, zones, conditions and the last change', async () => {
    const out = await screenOf(textOf('load-aware-effective'));
    expect(out).to.match(/^WANTED +✓ load-aware, by label topology\S+=load-aware$/m);
    expect(out).to.match(/^LOOP +✓ Enforce, target 70 %; in zone 70 % of the demand; .* busiest endpoint 66 %$/m);
    expect(out).to.match(/^ +eu-1a +0\.9 +1 +45 % +50 %$/m);
    expect(out).to.contain('Stable=False (PlanChanged)');
    expect(out).to.contain('Last change 2026-11-20T10:00:00Z, Overloaded: web-2 serves eu-1a, eu-1b');
    const { wanted, loop } = await explained(textOf('load-aware-effective'));
    expect(wanted).to.deep.include({ wanted: true, source: 'webhook', strategy: 'load-aware' });
    expect(loop).to.deep.include({ mode: 'Enforce', targetPercent: 70, inForce: true, spreadOnPurpose: false });
  });

  it('takes what spills by the plan for no fault, in the verdict and in the exit code', async () => {
    const verdicts = [
      ['load-aware-effective', '70 % of connections stay in their zone; 30 % spill as planned'],
      ['load-aware-spread', '33 % of connections stay in their zone; 67 % spill as planned'],
    ] as const;
    for (const [file, verdict] of verdicts) {
      const { out, code } = await runTopology(['explain', 'web', '-f', clusterFile(file), '--fail-on', 'ineffective']);
      expect(out.split('\n')[1], file).to.equal(`✓ effective: ${verdict}`);
      expect(code, file).to.equal(0);
      expect(out, file).to.contain('3 of 3 client zones have their traffic as planned');
    }
  });

  it('does not excuse spread where the plan in force says something else', async () => {
    const other = textOf('load-aware-spread').replace('spread: true', 'spread: false');
    const report = await explained(other);
    expect(report.verdict).to.equal('Ineffective');
    expect(report.causes.map(({ reason }) => reason)).not.to.include('PlanSpread');
  });

  it('gives troubles that let nothing cross after the verdict, as something to look at', async () => {
    const held = textOf('load-aware-effective')
      .replace("status: 'True', reason: MetricsFresh", "status: 'False', reason: MetricsStale")
      .replace('samples from metrics.k8s.io are fresh', 'the plan is kept');
    const report = await explained(held);
    expect(report.verdict).to.equal('Effective');
    expect(report.causes.map(({ reason, stage }) => [reason, stage])).to.deep.equal([
      ['LoadNotObserved', 'prerequisite'],
    ]);
    expect(await screenOf(held)).to.contain('To look at\n  LoadNotObserved');
  });

  it('says what is wrong with admission before that the plan is lost again', async () => {
    const lost = textOf('load-aware-metrics-lost')
      .replace("status: 'True', reason: Spread", "status: 'False', reason: WebhookUnavailable")
      .replace('MetricsLost', 'MetricsFresh')
      .replace("status: 'False', reason: MetricsFresh", "status: 'True', reason: MetricsFresh");
    const { causes } = await explained(lost);
    expect(causes.map(({ reason }) => reason)).to.deep.equal(['WebhookSkipped', 'PlanNotInForce']);
  });

  it('has no status yet, right after it was asked for', async () => {
    const fresh = `${textOf('load-aware-metrics-lost').split('\nstatus:\n  source')[0] ?? ''}\n`;
    const [first] = (await explained(fresh)).causes;
    expect(first).to.deep.include({ reason: 'PlanNotInForce', evidence: 'FlowPolicy shop/web has no status yet.' });
  });

  it('blames no missing policy where policies were not seen, and says so', async () => {
    const unseen = await explained(withoutPolicy('load-aware-without-controller'));
    expect(unseen.unseen.map(({ what }) => what)).to.include('flowPolicies');
    expect(unseen).not.to.have.property('loop');
    expect(firstOf(unseen)).to.equal('AnnotationNotRecognized');
    expect(unseen.causes[0]?.evidence).to.contain('is the flow-controller running?');
  });
});
