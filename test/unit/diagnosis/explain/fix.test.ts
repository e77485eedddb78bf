// The command of a cause has the value that this version and this data plane read, and names the owner that would undo it.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { Service } from '../../../../pkg/apis/core.ts';
import { createCollector } from '../../../../pkg/diagnosis/project/collect.ts';
import { explain } from '../../../../pkg/diagnosis/explain/explain.ts';
import { endpoint, kubeProxy, node, service, slice } from '../../../fixtures/core.ts';
import { CALICO, BPF, CILIUM, configMap, daemonSet } from '../../../fixtures/data-planes.ts';

const fixes = (own: Service, kubelet: string, agents: readonly object[]): string => {
  const collector = createCollector();
  const zones = ['a', 'b'];
  // Of a Service that asks by the field the control plane has written hints.
  const hints = (zone: string) =>
    own.spec?.trafficDistribution === undefined ? {} : { hints: { forZones: [{ name: zone }] } };
  const endpoints = zones.map((zone, index) => endpoint({ zone, addresses: [`198.18.0.${index}`], ...hints(zone) }));
  const nodes = zones.map((zone) => node({ zone, kubeletVersion: kubelet }));
  for (const object of [...nodes, own, slice({ endpoints }), ...agents]) collector.add(object);
  const [first] = explain(collector.snapshot(new Map()), own, { now: 0 }).causes;
  return (first?.fix ?? []).join('\n');
};

const plain = service();
const TOPOLOGY = configMap('cilium-config', { 'enable-service-topology': 'true' });
const cilium = (tag: string) => [daemonSet('cilium', `cilium:${tag}`, CILIUM), TOPOLOGY];

describe('the remedy of a cause', () => {
  const remedyAt = (version: string): string | undefined => {
    const own = service({ metadata: { annotations: { 'service.kubernetes.io/topology-mode': 'Auto' } } });
    const nodes = ['a', 'b', 'c'].map((zone) => node({ zone, kubeletVersion: version }));
    const collector = createCollector();
    const endpoints = ['a', 'b'].map((zone, index) => endpoint({ zone, addresses: [`198.18.0.${index}`] }));
    for (const object of [...nodes, own, slice({ endpoints }), kubeProxy(version)]) collector.add(object);
    const { causes } = explain(collector.snapshot(new Map()), own, { now: 0 });
    return causes.find(({ reason }) => reason === 'TooFewEndpoints')?.remedy;
  };

  it('names the field only where the version has it', () => {
    expect(remedyAt('v1.33.1')).to.match(/Use `spec\.trafficDistribution` .* neither looks at the number\.$/);
    expect(remedyAt('v1.28.1')).to.equal(
      'Run at least one replica per zone. Use the strategy `same-zone`, which does not look at the number.',
    );
  });
});

describe('a slice of weight 0', () => {
  const explained = (tag: string) => {
    const own = service({ spec: { trafficDistribution: 'PreferClose' } });
    const collector = createCollector();
    for (const [zone, weight] of [
      ['a', '0'],
      ['b', '1'],
    ] as const) {
      const hinted = endpoint({
        zone,
        addresses: [`198.18.0.${weight}`],
        hints: { forZones: [{ name: zone }] },
      });
      const metadata = { name: `server-${zone}`, annotations: { 'service.cilium.io/weight': weight } };
      collector.add(slice({ endpoints: [hinted], metadata }));
    }
    for (const object of [...['a', 'b'].map((zone) => node({ zone })), own, ...cilium(tag)]) collector.add(object);
    return explain(collector.snapshot(new Map()), own, { now: 0 });
  };
  const firstCause = (tag: string) => explained(tag).causes.find(({ stage }) => stage !== 'prerequisite');

  it('counts no endpoint where every data plane drains it', () => {
    expect(explained('v1.20.2').given[0]).to.deep.include({ ready: 1, hinted: 1 });
    expect(explained('v1.20.2').effective).to.deep.include({ unserved: ['a'], inZoneShare: 0.5 });
    expect(explained('v1.19.5').given[0]).to.deep.include({ ready: 2, hinted: 2 });
  });

  it('is named as what keeps a zone empty from Cilium 1.20.2 on', () => {
    const { reason, evidence, remedy } = firstCause('v1.20.2') ?? {};
    expect([reason, remedy]).to.deep.equal([
      'ZoneNotHinted',
      'Take the annotation off the slice once it may serve again.',
    ]);
    expect(evidence).to.match(/^Cilium drains slice server-a /);
  });
  it('means nothing before 1.20', () => expect(firstCause('v1.19.5')?.reason).to.equal(undefined));
});

const labelled = (labels: Record<string, string>): Service => service({ metadata: { labels } });
const tracked = service({ metadata: { annotations: { 'argocd.argoproj.io/tracking-id': 'x' } } });
const helm = (chart: string): Service =>
  labelled({ 'app.kubernetes.io/managed-by': 'Helm', 'helm.sh/chart': `${chart}-1.36.1` });
const addOn = (name: string): Service => labelled({ 'eks.amazonaws.com/component': name });
const managed = labelled({ 'addonmanager.kubernetes.io/mode': 'Reconcile' });
const byField = service({ spec: { trafficDistribution: 'PreferClose' } });
const CALICO_BPF = [daemonSet('calico-node', 'calico/node:v3.29.1', CALICO), BPF];

describe('the command of a cause', () => {
  const field =
    'an older kube-proxy beside new kubelets: the field, and a value of the annotation that does not beat it';
  const both = /topology-mode=topology\.extensions\.gardener\.cloud\/same-zone\n.*"PreferSameZone"/;
  const only = /^kubectl annotate .*topology-mode=topology\.extensions\.gardener\.cloud\/same-zone$/;
  const older = [kubeProxy('v1.30.1')];
  /** `agents`: default kube-proxy of the version of the kubelets. */
  const cases: readonly (readonly [string, Service, string, RegExp, (readonly object[])?])[] = [
    ['PreferSameZone from 1.34', plain, 'v1.34.1', /^kubectl patch service server -n default .*PreferSameZone/],
    ['PreferClose before', plain, 'v1.33.1', /"trafficDistribution":"PreferClose"/],
    ['the annotation up to 1.30', plain, 'v1.30.1', /^kubectl annotate .*topology-mode=Auto$/],
    ['the older annotation before 1.27', plain, 'v1.26.1', /topology-aware-hints=auto$/],
    ['PreferClose where Cilium 1.19 routes', plain, 'v1.35.1', /"PreferClose"/, cilium('v1.19.2')],
    ['PreferSameZone where Cilium 1.20 does', plain, 'v1.35.1', /"PreferSameZone"/, cilium('v1.20.2')],
    ["the annotation where Calico's eBPF 3.29 does", plain, 'v1.35.1', /topology-mode=Auto$/, CALICO_BPF],
    [field, plain, 'v1.34.1', both, older],
    ['an older kube-proxy, where the field asks already', byField, 'v1.34.1', only, older],
    ['Helm, a chart that was read', helm('coredns'), 'v1.34.1', /# Helm owns it: value service\.trafficDistribution/],
    ['Helm, any other chart', helm('own'), 'v1.34.1', /# Helm owns it: set it in the values/],
    [
      'Helm without the field',
      helm('coredns'),
      'v1.29.1',
      /^kubectl annotate .*\n# Helm owns it: set it in the values of/,
    ],
    ['an EKS add-on', addOn('kube-dns'), 'v1.34.1', /aws eks update-addon .*annotationTopologyMode/],
    ['another EKS add-on', addOn('metrics-server'), 'v1.34.1', /# EKS owns it: (?!.*coredns).*describe-addon-conf/],
    ['the add-on manager from 1.36', managed, 'v1.36.0', /use a MutatingAdmissionPolicy or a Kyverno .*be installed/],
    [
      'the add-on manager before, where no such policy is served',
      managed,
      'v1.34.1',
      /rewrites it: use a Kyverno rule/,
    ],
    ['Flux', labelled({ 'kustomize.toolkit.fluxcd.io/name': 'apps' }), 'v1.34.1', /Kustomization apps/],
    ['Argo CD', tracked, 'v1.34.1', /\[\/spec\/trafficDistribution\] .*RespectIgnoreDifferences/],
    [
      'Argo CD without the field',
      tracked,
      'v1.29.1',
      /\[\/metadata\/annotations\/service\.kubernetes\.io~1topology-mode\]/,
    ],
  ];
  for (const [name, own, kubelet, expected, agents = [kubeProxy(kubelet)]] of cases) {
    it(`is for ${name}`, () => expect(fixes(own, kubelet, agents)).to.match(expected));
  }

  it('says who would revert it, of a workload too', () => {
    const collector = createCollector();
    const nodes = ['a', 'b'].map((zone) => node({ zone }));
    const own = service({ spec: { trafficDistribution: 'PreferSameZone' } });
    const labels = { app: 'server' };
    const deployment = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'server', namespace: 'default', annotations: { 'meta.helm.sh/release-name': 'shop' } },
      spec: { replicas: 2, template: { metadata: { labels }, spec: {} } },
    };
    const endpoints = ['1', '2'].map((end) =>
      endpoint({ zone: 'a', addresses: [`198.18.0.${end}`], hints: { forZones: [{ name: 'a' }] } }),
    );
    const selecting = { ...own, spec: { ...own.spec, selector: labels } };
    for (const object of [...nodes, selecting, slice({ endpoints }), kubeProxy('v1.34.1'), deployment])
      collector.add(object);
    const { causes } = explain(collector.snapshot(new Map()), selecting, { now: 0 });
    const { fix = [] } = causes.find(({ reason }) => reason === 'PodsNotSpread') ?? {};
    expect(fix.at(-2)).to.match(/^kubectl patch deployment server -n default .*topologySpreadConstraints/);
    expect(fix.at(-1)).to.match(/^# Helm owns it: set it in the values/);
  });
});

describe('a change is tried before it is offered', () => {
  const LABELS = { app: 'server' };
  const web = service({ spec: { selector: LABELS, trafficDistribution: 'PreferSameZone' } });
  const taint = { spec: { taints: [{ key: 'gpu', value: '', effect: 'NoSchedule' }] } };
  const nodesWith = (more: Readonly<Record<string, object>> = {}) =>
    ['a', 'b'].map((zone) => ({ ...node({ zone, metadata: { name: zone, labels: { pool: zone } } }), ...more[zone] }));
  const deployment = (podSpec: object = {}) => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'server', namespace: 'default' },
    spec: { replicas: 2, template: { metadata: { labels: LABELS }, spec: podSpec } },
  });
  const slicesIn = (...zones: readonly string[]) => {
    const of = (zone: string, index: number) =>
      endpoint({ zone, addresses: [`198.18.0.${index}`], hints: { forZones: [{ name: zone }] } });
    return slice({ endpoints: zones.map(of) });
  };
  const bare = service({ spec: { selector: {} } });
  const foreign = slice({
    metadata: { name: 'server-own' },
    endpoints: ['a', 'b'].map((zone, index) => endpoint({ zone, addresses: [`198.18.0.${index}`] })),
  });
  const webhook = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingWebhookConfiguration',
    metadata: { name: 'hints' },
    webhooks: [
      {
        name: 'hints',
        clientConfig: { url: 'https://example.com' },
        rules: [{ apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], operations: ['CREATE', 'UPDATE'] }],
      },
    ],
  };
  const spreads = /^kubectl patch deployment server -n default -p .*"DoNotSchedule"/;
  const label = /^kubectl label endpointslices .*strategy=same-zone$/;
  const cases: readonly (readonly [name: string, reason: string, fix: RegExp, ...objects: readonly object[]])[] = [
    ['a constraint, where every zone takes Pods', 'PodsNotSpread', spreads, web, slicesIn('a', 'a'), deployment()],
    [
      'no constraint that a taint would leave pending',
      'PodsNotSpread',
      /^# Nodes keep the Pods away/,
      web,
      slicesIn('a', 'a'),
      deployment(),
      ...nodesWith({ b: taint }),
    ],
    [
      'no constraint where a nodeSelector takes Nodes of one zone',
      'PodsNotSpread',
      /^kubectl get pods/,
      web,
      slicesIn('a', 'a'),
      deployment({ nodeSelector: { pool: 'a' } }),
    ],
    ['no label that no webhook acts on', 'NoSelector', /^# with the endpointslice-webhook/, bare, foreign],
    ['a label where a webhook acts on it', 'NoSelector', label, bare, foreign, webhook],
  ];
  for (const [name, reason, expected, own, ...objects] of cases) {
    it(`offers ${name}`, () => {
      const collector = createCollector();
      for (const object of [...nodesWith(), own, ...objects, kubeProxy('v1.34.1')]) collector.add(object);
      const { causes } = explain(collector.snapshot(new Map()), own as Service, { now: 0 });
      const found = causes.find((each) => each.reason === reason);
      expect(found?.fix?.join('\n'), causes.map((each) => each.reason).join()).to.match(expected);
    });
  }
});
