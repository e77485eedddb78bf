// SPDX-License-Identifier: Apache-2.0
import { readdirSync } from 'node:fs';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { DIAGNOSIS_REASONS } from '../../pkg/diagnosis/explain/reasons.ts';
import type { Explanation } from '../../pkg/diagnosis/explain/types.ts';
import { REASONS } from '../../pkg/upstream/reasons.ts';
import { CLUSTERS, clusterFile, clusterFlags, runTopology, topologyJson } from '../fixtures/topology-command.ts';

type Case = readonly [file: string, verdict: Explanation['verdict'], first: string | undefined, evidence: RegExp];

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
  ZoneNotHinted: 'what proxies do; explain says why: PodsNotSpread or SingleEndpoint',
  ProxyMissedItsZone: 'objects cannot show it: any file with --crossing',
};

/** Causes for which there is no command, and why. */
const WITHOUT_COMMAND: Readonly<Record<string, string>> = {
  SingleZone: 'nothing is wrong',
  NodesInOneZone: 'nothing crosses; Nodes are added where the cluster is made',
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

/** Each file of test/fixtures/clusters with the cause that explain has to name first, and what it must show for it. */
const CASES: readonly Case[] = [
  [
    'annotation-key-not-read',
    'NotWanted',
    'AnnotationKeyNotRead',
    /topology-mode, which Kubernetes 1\.26 does not read/,
  ],
  [
    'annotation-not-recognized',
    'NotWanted',
    'AnnotationNotRecognized',
    /is "AUTO"\. Only "Auto" and "auto" are recognised/,
  ],
  ['annotation-removed', 'NotWanted', 'AnnotationRemoved', /Last event at .*: "Topology Aware Hints has been disabled/],
  ['annotation-wins', 'Ineffective', 'AnnotationWins', /trafficDistribution PreferClose; the annotation wins/],
  [
    'calico-ebpf-ignores-hints',
    'Ineffective',
    'HintsIgnored',
    /3 of 3 .* Calico eBPF 3\.31\.2 on Node .* ignores hints/,
  ],
  [
    'calico-ebpf-needs-annotation',
    'Ineffective',
    'RouterNotOptedIn',
    /Calico eBPF 3\.29\.1 .* only where the Service is annotated/,
  ],
  [
    'cilium-external-traffic-policy-local',
    'Ineffective',
    'CiliumExternalTrafficPolicyLocal',
    /3 of 3 ready Nodes .* externalTrafficPolicy Local/,
  ],
  ['cilium-not-opted-in', 'Ineffective', 'CiliumNotOptedIn', /that Cilium 1\.20\.2 on Node \S+ reads/],
  [
    'cilium-service-topology-off',
    'Ineffective',
    'CiliumServiceTopologyOff',
    /^Cilium routes on 3 of 3 ready Nodes .*serviceTopology .* off/,
  ],
  [
    'cilium-socket-load-balancing',
    'Ineffective',
    'CiliumServiceTopologyOff',
    /what Pods send to cluster IPs, before kube-proxy.*serviceTopology .* off/,
  ],
  ['cilium-prefer-close-only', 'Ineffective', 'CiliumNotOptedIn', /that Cilium 1\.18\.3 on Node \S+ reads/],
  [
    'cilium-refuses-zone',
    'Ineffective',
    'NoBackendForZone',
    /1 of 3 ready Nodes \(node-eu-1c\).*Cilium 1\.18\.0.*connections fail/,
  ],
  ['client-node-without-zone', 'Ineffective', 'ClientNodeWithoutZone', /1 of 4 ready Nodes \(node-new\)/],
  [
    'control-plane-nodes',
    'Ineffective',
    'ControlPlaneNodes',
    /node-eu-1b and node-eu-1c: .* label of the control plane/,
  ],
  ['dual-stack-effective', 'Effective', undefined, /(?:)/],
  ['dual-stack-no-endpoints', 'Ineffective', 'NoEndpoints', /no endpoint in its IPv6 EndpointSlices/],
  ['dual-stack-too-few-endpoints', 'Ineffective', 'TooFewEndpoints', /2 ready IPv6 endpoints for 3 zones/],
  ['effective', 'Effective', undefined, /(?:)/],
  ['effective-auto', 'Effective', undefined, /(?:)/],
  [
    'endpoint-without-hint',
    'Ineffective',
    'EndpointWithoutHint',
    /1 of 4 .* 10\.1\.0\.20 in slice web-extra of team\.example\.com/,
  ],
  ['endpoint-without-zone', 'Ineffective', 'EndpointWithoutZone', /10\.1\.0\.12 on Node node-eu-1c has no zone/],
  ['evacuated', 'Effective', 'Evacuated', /^eu-1a is evacuated until .*: 1 of 1 ready endpoint there get no new/],
  ['evacuated-in-part', 'NotWanted', 'Evacuated', /^eu-1a is evacuated: 1 of 2 ready endpoints there/],
  ['external-name', 'NotWanted', 'ExternalName', /type ExternalName/],
  ['gke-dataplane-v2-unknown', 'Unknown', 'RouterUnknown', /The data plane of Service shop\/web/],
  ['headless', 'Ineffective', 'Headless', /clusterIP None/],
  [
    'hinted-for-other-zone',
    'Effective',
    'HintedForOtherZone',
    /1 of 4 .*: 10\.1\.0\.11 of eu-1b for eu-1a\. CPU shares are eu-1a 50 %, eu-1b 25 %/,
  ],
  ['hints-controller-gate-off', 'NotWanted', 'HintsControllerGateOff', /TopologyAwareHints is off in Kubernetes 1\.23/],
  ['hints-gate-off', 'Ineffective', 'HintsGateOff', /1 of 3 ready Nodes \(node-eu-1b\) run kube-proxy 1\.23/],
  ['hints-lost', 'Ineffective', 'HintsLost', /Last event at 2026-11-20T10:00:00Z: "Insufficient Node information/],
  ['hints-not-written', 'Ineffective', 'HintsNotWritten', /None of the 3 ready IPv4 endpoints/],
  ['kube-proxy-older-than-kubelet', 'Ineffective', 'ProxyNeedsAnnotation', /3 of 3 .* run kube-proxy 1\.29/],
  ['linkerd-slices-off', 'Ineffective', 'LinkerdSlicesOff', /3 of 3 ready Nodes .* Linkerd filters no endpoints/],
  [
    'load-aware-conflicting-mode',
    'Ineffective',
    'PlanNotInForce',
    /Effective is False, ConflictingMode: .*topology-mode\] is "Auto": remove one of the two\.$/,
  ],
  ['load-aware-effective', 'Effective', undefined, /(?:)/],
  ['load-aware-metrics-lost', 'Ineffective', 'LoadNotObserved', /Observed is False, MetricsLost: no new samples/],
  ['load-aware-no-capacity', 'Ineffective', 'LoadNotObserved', /Observed is False, NoCapacity: 3 ready endpoint/],
  ['load-aware-observe', 'Ineffective', 'ObserveOnly', /spec\.mode Observe.* 100 % of the demand would stay/],
  [
    'load-aware-spread',
    'Effective',
    'PlanSpread',
    /plans no hints: .* 33 % of the demand stays in its zone\. Last change at 2026-11-20T10:00:00Z, Overloaded/,
  ],
  ['load-aware-without-controller', 'Ineffective', 'FlowPolicyMissing', /there is no FlowPolicy shop\/web\.$/],
  ['load-balancer-traffic', 'Effective', 'LoadBalancerTraffic', /type LoadBalancer/],
  ['no-endpoints', 'Ineffective', 'NoEndpoints', /no endpoint in its EndpointSlices/],
  ['no-growth', 'Effective', 'NoGrowth', /targets Deployment web/],
  ['no-nodes', 'Unknown', 'NoNodes', /No ready Node/],
  ['no-ready-endpoints', 'Ineffective', 'NoReadyEndpoints', /None of the 2 endpoints/],
  ['no-selector', 'Ineffective', 'NoSelector', /0 of its 3 ready endpoints carry hints/],
  ['node-hints-only', 'Ineffective', 'NodeNotHinted', /hinted for Nodes only: node-eu-1c, for which none is, uses all/],
  ['node-without-cpu', 'Ineffective', 'NodeWithoutCpu', /node-new without status\.allocatable\.cpu/],
  ['node-without-zone', 'Ineffective', 'NodeWithoutZone', /node-new without label topology\.kubernetes\.io\/zone/],
  ['nodes-in-one-zone', 'Effective', 'NodesInOneZone', /in 1 zone/],
  ['not-requested', 'NotWanted', 'NotRequested', /neither spec\.trafficDistribution nor a topology annotation/],
  ['other-proxy', 'Ineffective', 'NotProxied', /label service\.kubernetes\.io\/service-proxy-name=mesh/],
  [
    'overload-threshold',
    'Ineffective',
    'OverloadThreshold',
    /4 ready .* With these Nodes 3, 6, 7, 9 endpoints would do/,
  ],
  ['overload-threshold-uneven', 'Ineffective', 'OverloadThreshold', /eu-1a 73 %, eu-1b 18 %, eu-1c 9 %/],
  [
    'pods-not-spread',
    'Ineffective',
    'PodsNotSpread',
    /serves eu-1c; .* eu-1a 2, eu-1b 1\. Deployment web has no topologySpreadConstraint/,
  ],
  ['pods-not-spread-node-selector', 'Ineffective', 'PodsNotSpread', /may run in eu-1a only/],
  ['pods-not-spread-not-ready', 'Ineffective', 'PodsNotSpread', /Pod web-5d8 there is not ready/],
  ['pods-not-spread-preference', 'Ineffective', 'PodsNotSpread', /a preference only \(ScheduleAnyway\)/],
  ['pods-not-spread-replicas', 'Ineffective', 'PodsNotSpread', /2 replicas for 3 zones/],
  [
    'pods-not-spread-scale-down',
    'Ineffective',
    'PodsNotSpread',
    /DoNotSchedule\) counts when Pods are placed; taking Pods away, or a Node, undoes it\.$/,
  ],
  [
    'pods-not-spread-taint',
    'Ineffective',
    'PodsNotSpread',
    /every Node of eu-1c keeps them away \(node-eu-1c: taint dedicated:NoSchedule/,
  ],
  [
    'proxy-needs-annotation',
    'Ineffective',
    'ProxyNeedsAnnotation',
    /2 of 3 ready Nodes \(node-eu-1b and node-eu-1c\) run kube-proxy 1\.30/,
  ],
  ['router-assumed', 'Assumed', undefined, /(?:)/],
  ['single-endpoint', 'Ineffective', 'SingleEndpoint', /one ready endpoint \(10\.1\.0\.10 in eu-1a\)/],
  ['single-zone', 'Effective', 'SingleZone', /in eu-1a/],
  ['terminating-endpoints', 'Ineffective', 'TerminatingEndpoints', /every Node uses 2 endpoints that are terminating/],
  [
    'too-few-endpoints',
    'Ineffective',
    'TooFewEndpoints',
    /2 ready IPv4 endpoints for 3 zones\. With these Nodes 3, 6, 7 endpoints would do/,
  ],
  [
    'traffic-distribution-not-recognized',
    'NotWanted',
    'TrafficDistributionNotRecognized',
    /PreferSameZone, which Kubernetes 1\.31/,
  ],
  ['traffic-policy-local', 'Effective', 'InternalTrafficPolicyLocal', /internalTrafficPolicy Local/],
  [
    'traffic-policy-local-missing',
    'NotWanted',
    'NoLocalEndpoints',
    /no ready endpoint on node-eu-1c: connections from there fail/,
  ],
  ['uneven-load', 'Effective', 'UnevenLoad', /10\.1\.0\.10:8080 in eu-1a gets 33 % .* 2\.3 times an even share/],
  ['webhook-certificate-expired', 'Ineffective', 'WebhookCertificateExpired', /was valid until 2026-01-31/],
  ['webhook-does-not-select', 'Ineffective', 'WebhookDoesNotSelect', /does not select it in namespace shop/],
  ['webhook-effective', 'Effective', undefined, /(?:)/],
  ['webhook-missing', 'Ineffective', 'WebhookMissing', /no policy serves EndpointSlices/],
  ['webhook-skipped', 'Ineffective', 'WebhookSkipped', /stored without hints, although webhook same-zone/],
  [
    'webhook-without-endpoint',
    'Ineffective',
    'WebhookWithoutEndpoint',
    /garden\/endpointslice-webhook .* no ready endpoint/,
  ],
  ['windows-node', 'Ineffective', 'HintsIgnored', /1 of 4 ready Nodes \(node-win\): kube-proxy on Windows/],
];

const explain = (file: string, ...flags: string[]): Promise<Explanation> =>
  topologyJson<Explanation>(['explain', 'shop/web', '-f', clusterFile(file), ...clusterFlags(file), ...flags]);

describe('kubectl topology explain, on files', () => {
  it('has a case for every file', () => {
    const files = readdirSync(CLUSTERS).map((name) => name.replace(/\.yaml$/, ''));
    expect(CASES.map(([file]) => file)).to.have.members(files);
  });

  it('has a file for every code, or says why not', () => {
    const all = [...Object.keys(REASONS), ...Object.keys(DIAGNOSIS_REASONS)];
    const firsts = new Set(CASES.flatMap(([, , first]) => first ?? []));
    expect(new Set([...firsts, ...Object.keys(WITHOUT_FILE)])).to.deep.equal(new Set(all));
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
        for (const line of fix) expect(line, `${file}: ${reason}`).to.match(/^(?:kubectl|helm) \S|^# \S/);
        expect(new Set(fix).size, `${file}: ${reason}`).to.equal(fix.length);
      }
    }
    expect(bare).to.deep.equal([]);
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

  it('names causes behind the first one too', async () => {
    const both = await explain('annotation-wins');
    expect(both.causes.map(({ reason }) => reason)).to.deep.equal(['AnnotationWins', 'OverloadThreshold']);
    const few = await explain('too-few-endpoints');
    expect(few.causes.map(({ reason }) => reason)).to.deep.equal(['TooFewEndpoints', 'PodsNotSpread']);
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
    expect(report.spread).to.equal('Deployment web: nothing spreads its Pods over zones');
    expect(report.unseen.map(({ what }) => what)).to.deep.equal([
      'pods',
      'webhooks',
      'policies',
      'events',
      'ingresses',
    ]);
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

  it('prints one screen for people, coloured on a terminal only', async () => {
    const args = ['explain', 'shop/web', '-f', clusterFile('overload-threshold')];
    const { out } = await runTopology(args);
    expect(out).to.match(/^Service shop\/web \(Kubernetes 1\.34, kube-proxy\)\n✗ ineffective: 33 %/);
    for (const word of ['WANTED', 'GIVEN', 'USED', 'EFFECTIVE', 'First cause', 'OverloadThreshold', '  → ']) {
      expect(out).to.contain(word);
    }
    expect(out).not.to.contain('\u001B');
    expect(out.split('\n').length).to.be.lessThan(40);
    expect((await runTopology(args, { terminal: true })).out).to.contain('\u001B[31m');
    expect((await runTopology(args, { terminal: true, env: { NO_COLOR: '1' } })).out).not.to.contain('\u001B');
  });

  it('lists every Node with -o wide, and says the same in YAML as in JSON', async () => {
    const args = ['explain', 'shop/web', '-f', clusterFile('effective')];
    expect((await runTopology([...args, '-o', 'wide'])).out).to.contain('node-eu-1c');
    const { parse } = await import('yaml');
    const yaml: unknown = parse((await runTopology([...args, '-o', 'yaml'])).out);
    expect(yaml).to.deep.equal(await topologyJson(args));
  });
});
