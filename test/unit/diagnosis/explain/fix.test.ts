// The command of a cause has the value that this version and this data plane read, and names the owner that would undo it.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { Service } from '../../../../pkg/apis/core.ts';
import { diagnose, explain } from '../../../../pkg/diagnosis/explain/explain.ts';
import { type Change, type Judge, tryChanges } from '../../../../pkg/diagnosis/explain/remedy.ts';
import type { Cause } from '../../../../pkg/diagnosis/explain/reasons.ts';
import { endpointsIn, kubeProxy, node, service, slice } from '../../../fixtures/core.ts';
import { CALICO, BPF, CILIUM, configMap, daemonSet } from '../../../fixtures/data-planes.ts';
import { snapshotOf } from '../../../fixtures/snapshot.ts';

const fixes = (own: Service, kubelet: string, agents: readonly object[]): string => {
  const zones = ['a', 'b'];
  // Of a Service that asks by the field the control plane has written hints.
  const endpoints = endpointsIn(zones, own.spec?.trafficDistribution !== undefined);
  const nodes = zones.map((zone) => node({ zone, kubeletVersion: kubelet }));
  const [first] = explain(snapshotOf(...nodes, own, slice({ endpoints }), ...agents), own, { now: 0 }).causes;
  return (first?.fix ?? []).join('\n');
};

const plain = service();
const TOPOLOGY = configMap('cilium-config', { 'enable-service-topology': 'true' });
const cilium = (tag: string) => [daemonSet('cilium', `cilium:${tag}`, CILIUM), TOPOLOGY];

describe('the remedy of a cause', () => {
  const remedyAt = (version: string): string | undefined => {
    const own = service({ metadata: { annotations: { 'service.kubernetes.io/topology-mode': 'Auto' } } });
    const nodes = ['a', 'b', 'c'].map((zone) => node({ zone, kubeletVersion: version }));
    const snapshot = snapshotOf(...nodes, own, slice({ endpoints: endpointsIn('ab') }), kubeProxy(version));
    const { causes } = explain(snapshot, own, { now: 0 });
    return causes.find(({ reason }) => reason === 'TooFewEndpoints')?.remedy;
  };

  for (const version of ['v1.33.1', 'v1.28.1']) {
    it(`names the field, and since when it is there, on ${version}`, () => {
      expect(remedyAt(version)).to.match(
        version === 'v1.33.1'
          ? /^Replace the annotation by `spec\.trafficDistribution` or .* Or run .* at least one in each\.$/
          : /Or replace the annotation by `spec\.trafficDistribution` \(Kubernetes 1\.31 .*\.$/,
      );
    });
  }
});

describe('a slice of weight 0', () => {
  const explained = (tag: string, spec: object = {}, hinted = true) => {
    const own = service({ spec: { trafficDistribution: 'PreferClose', ...spec } });
    const slices = ['a', 'b'].map((zone, weight) => {
      const annotations = { 'service.cilium.io/weight': String(weight) };
      const endpoints = endpointsIn(zone, hinted, `198.18.${weight}`);
      return slice({ endpoints, metadata: { name: `server-${zone}`, annotations } });
    });
    const nodes = ['a', 'b'].map((zone) => node({ zone }));
    return explain(snapshotOf(...slices, ...nodes, own, ...cilium(tag)), own, { now: 0 });
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
  // cilium/cilium#40190
  it('comes before who writes the slices', () => {
    const [first, second] = explained('v1.20.2', { selector: undefined }, false).causes;
    expect([first?.reason, first?.fix, second?.reason]).to.deep.equal(['ZoneNotHinted', undefined, 'NoSelector']);
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
    [
      'Helm, a chart that was read',
      helm('coredns'),
      'v1.34.1',
      /# Helm owns it: .*\(service\.trafficDistribution \(chart from 1\.35\.0\): Pref/,
    ],
    ['Helm, any other chart', helm('own'), 'v1.34.1', /\(probably service\.trafficDistribution: Pref.*\/own --version/],
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
  for (const [name, own, kubelet, expected, agents = [kubeProxy(kubelet)]] of cases)
    it(`is for ${name}`, () => expect(fixes(own, kubelet, agents)).to.match(expected));

  it('says who would revert it, of a workload too', () => {
    const nodes = ['a', 'b'].map((zone) => node({ zone }));
    const own = service({ spec: { trafficDistribution: 'PreferSameZone' } });
    const labels = { app: 'server' };
    const deployment = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'server', namespace: 'default', annotations: { 'meta.helm.sh/release-name': 'shop' } },
      spec: { replicas: 2, template: { metadata: { labels }, spec: {} } },
    };
    const selecting = { ...own, spec: { ...own.spec, selector: labels } };
    const stored = slice({ endpoints: endpointsIn('aa', true) });
    const snapshot = snapshotOf(...nodes, selecting, stored, kubeProxy('v1.34.1'), deployment);
    const { causes } = explain(snapshot, selecting, { now: 0 });
    const { fix = [] } = causes.find(({ reason }) => reason === 'PodsNotSpread') ?? {};
    expect(fix.at(-2)).to.match(/^kubectl patch deployment server -n default .*topologySpreadConstraints/);
    expect(fix.at(-1)).to.match(/^# Helm owns it: set it in the values/);
  });
});

describe('a change is tried before it is offered', () => {
  const LABELS = { app: 'server' };
  const ZONES = ['a', 'b', 'c'];
  const web = service({ spec: { selector: LABELS, trafficDistribution: 'PreferSameZone' } });
  const byCpu = service({
    metadata: { annotations: { 'service.kubernetes.io/topology-mode': 'Auto' } },
    spec: { selector: LABELS },
  });
  const nodeIn = (zone: string, more: object = {}) => ({
    ...node({ zone, metadata: { name: zone, labels: { pool: zone } } }),
    ...more,
  });
  const tainted = nodeIn('b', { spec: { taints: [{ key: 'gpu', value: '', effect: 'NoSchedule' }] } });
  const nodes = ZONES.slice(0, 2).map((zone) => nodeIn(zone));
  const three = [nodeIn('c')];
  const meta = (name: string) => ({ name, namespace: 'default' });
  const workload = (replicas: number, podSpec: object = {}, kind = 'Deployment', spec: object = {}) => ({
    apiVersion: 'apps/v1',
    kind,
    metadata: meta('server'),
    spec: { replicas, template: { metadata: { labels: LABELS }, spec: podSpec }, ...spec },
  });
  const constrained = (more: object = {}) => ({
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: 'topology.kubernetes.io/zone',
        whenUnsatisfiable: 'DoNotSchedule',
        labelSelector: { matchLabels: LABELS },
        ...more,
      },
    ],
  });
  const CPU = { containers: [{ name: 'app', resources: { requests: { cpu: '1' } } }] };
  const busy = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'busy', namespace: 'other' },
    spec: { nodeName: 'b', containers: [{ name: 'app', resources: { requests: { cpu: '3500m' } } }] },
    status: { phase: 'Running' },
  };
  const slicesIn = (hinted: boolean, ...zones: readonly string[]) => slice({ endpoints: endpointsIn(zones, hinted) });
  const scaler = (kind: string, name: string, spec: object) => ({
    apiVersion: 'x/v1',
    kind,
    metadata: meta(name),
    spec: { scaleTargetRef: { kind: 'Deployment', name: 'server' }, ...spec },
  });
  const madeBy = (apiVersion: string, kind: string) => ({ apiVersion, kind, name: 'web', uid: '1', controller: true });
  const second = { ...byCpu, metadata: { ...byCpu.metadata, name: 'second', namespace: 'default' } };
  const secondSlice = slice({
    metadata: { name: 'second-1', labels: { 'kubernetes.io/service-name': 'second' } },
    endpoints: endpointsIn('ab', true),
  });
  const bare = service({ spec: { selector: {} } });
  const foreign = slice({ metadata: { name: 'server-own' }, endpoints: endpointsIn('ab') });
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
  const spreads =
    /^kubectl patch deployment server -n default -p .*"DoNotSchedule".*"matchLabelKeys":\["pod-template-h/;
  const scales = /^kubectl scale deployment server -n default --replicas=3$/;
  const scalesAndSpreads =
    /^kubectl scale deployment server .*--replicas=3\nkubectl patch deployment server .*"DoNotSch/;
  const label = /^kubectl label endpointslices .*strategy=same-zone$/;
  const oneZone = slicesIn(true, 'a', 'a');
  const twoZones = slicesIn(true, 'a', 'b');
  const wrong = { labelSelector: { matchLabels: { app: 'other' } } };
  const shows = /^kubectl get pods -n default -l /;
  type Case = readonly [name: string, reason: string, fix: RegExp, version: string, ...objects: readonly object[]];
  const spreading = (name: string, fix: RegExp, ...objects: readonly object[]): Case => {
    return [name, 'PodsNotSpread', fix, '1.34', web, ...objects];
  };
  /** All Pods are in one of two zones. */
  const packed = (name: string, fix: RegExp, ...objects: readonly object[]) =>
    spreading(name, fix, oneZone, ...objects);
  /** Two Pods are in two of three zones. */
  const growing = (name: string, fix: RegExp, ...objects: readonly object[]) =>
    spreading(name, fix, twoZones, ...three, ...objects);
  /** Four Pods in three zones, of which one has two, with hints by CPU. */
  const uneven = (name: string, fix: RegExp, ...objects: readonly object[]): Case => {
    return [name, 'OverloadThreshold', fix, '1.30', byCpu, slicesIn(false, 'a', 'b', 'c', 'c'), ...three, ...objects];
  };
  const STORING = workload(2, {}, 'StatefulSet', { volumeClaimTemplates: [{}] });
  const cases: readonly Case[] = [
    // Constraints, and what keeps Pods from a zone.
    packed('a constraint, where every zone takes Pods', spreads, workload(2)),
    [
      'advice where old Pods would count in a roll-out',
      'PodsNotSpread',
      /^# kubectl patch deployment server -n default -p '\{"spec":\{"template":/,
      '1.26',
      service({
        metadata: {
          labels: { 'topology.extensions.gardener.cloud/strategy': 'same-zone' },
          annotations: { 'service.kubernetes.io/topology-aware-hints': 'auto' },
        },
        spec: { selector: LABELS },
      }),
      oneZone,
      workload(2),
    ],
    packed('no constraint that a taint would leave pending', shows, workload(2), tainted),
    packed(
      'no constraint where a nodeSelector takes Nodes of one zone',
      shows,
      workload(2, { nodeSelector: { pool: 'a' } }),
    ),
    packed(
      'no constraint where a zone has no CPU left for a Pod',
      /^# no Node of b has the CPU left that a Pod of Deployment server requests/,
      workload(2, CPU),
      busy,
    ),
    spreading(
      'no constraint where a zone whose Nodes are not ready would hold Pods down',
      shows,
      slicesIn(true, 'a', 'a', 'a', 'a'),
      workload(4),
      nodeIn('c', { status: { conditions: [{ type: 'Ready', status: 'False' }] } }),
    ),
    packed('no constraint where volumes keep Pods in their zone', shows, STORING),
    packed(
      'a constraint to a StatefulSet without volumes, whose Pods go before others come',
      /^kubectl patch statefulset server .*"DoNotSchedule"(?!.*matchLabelKeys)/,
      workload(2, {}, 'StatefulSet'),
    ),
    packed(
      'nothing where a new template replaces no Pod',
      shows,
      workload(2, {}, 'StatefulSet', { updateStrategy: { type: 'OnDelete' } }),
    ),
    packed('nothing where some Pod is not ready', shows, workload(3)),
    packed(
      'labels of its own Pods to a constraint that selects none',
      /"labelSelector":\{"\$patch":"replace","matchLabels":\{"app":"server"\}\}/,
      workload(2, constrained(wrong)),
    ),
    packed(
      'DoNotSchedule in place of a preference, and no other selector',
      /^kubectl patch deployment server (?!.*labelSelector).*"DoNotSchedule"/,
      workload(2, constrained({ whenUnsatisfiable: 'ScheduleAnyway' })),
    ),
    packed(
      'new Pods where the constraint is right and Pods lie otherwise',
      /^kubectl rollout restart deployment server -n default$/,
      workload(2, constrained({ matchLabelKeys: ['pod-template-hash'] })),
    ),
    // Replicas, and where the new ones go.
    growing('replicas where a constraint makes them go to the empty zone', scales, workload(2, constrained())),
    growing(
      'replicas where Pods keep apart and each zone has one Node',
      scales,
      workload(2, {
        affinity: {
          podAntiAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: [
              { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: LABELS } },
            ],
          },
        },
      }),
    ),
    growing('replicas and a constraint where nothing makes them go there', scalesAndSpreads, workload(2)),
    growing('advice where nothing makes them go there and no constraint can', shows, STORING),
    growing(
      'the least of an autoscaler, and its most where that is less',
      /^kubectl patch hpa own -n default --type merge -p '\{"spec":\{"minReplicas":3,"maxReplicas":3\}\}'$/,
      workload(2, constrained()),
      scaler('HorizontalPodAutoscaler', 'own', { maxReplicas: 2 }),
    ),
    growing(
      'the least of a ScaledObject, not of the autoscaler that KEDA writes back',
      /^kubectl patch scaledobject own -n default --type merge -p '\{"spec":\{"minReplicaCount":3\}\}'$/,
      workload(2, constrained()),
      scaler('HorizontalPodAutoscaler', 'keda-hpa-own', { maxReplicas: 9 }),
      scaler('ScaledObject', 'own', { maxReplicaCount: 9 }),
    ),
    uneven(
      'no number of replicas that an autoscaler changes',
      /^# HorizontalPodAutoscaler own changes their number/,
      workload(4, constrained()),
      scaler('HorizontalPodAutoscaler', 'own', { maxReplicas: 9 }),
    ),
    uneven(
      'a number of replicas that can be shared, wherever they come to lie',
      /^kubectl scale deployment server -n default --replicas=6$/,
      workload(4, constrained()),
    ),
    uneven(
      'the same as advice where they are members of a StatefulSet',
      /^# only where more members of the StatefulSet .*\n# kubectl scale statefulset server -n default --replicas=6$/,
      workload(4, constrained(), 'StatefulSet'),
    ),
    spreading(
      'no replicas that another Service of the same Pods would lose its hints by',
      shows,
      twoZones,
      workload(2, constrained()),
      nodeIn('c', { status: { ...node({}).status, allocatable: { cpu: '100m' } } }),
      second,
      secondSlice,
    ),
    // firestoned/bindy#488
    packed(
      'no replicas and no revision where single Pods of two workloads share a constraint',
      shows,
      workload(1, constrained()),
      { ...workload(1, constrained()), metadata: meta('other') },
    ),
    growing('replicas of a Rollout, not of its ReplicaSet', /^kubectl scale rollout web -n default --replicas=3$/, {
      ...workload(2, constrained(), 'ReplicaSet'),
      metadata: { ...meta('web-5f7'), ownerReferences: [madeBy('argoproj.io/v1alpha1', 'Rollout')] },
    }),
    growing('replicas of a Deployment, and none of its ReplicaSet', scales, workload(2, constrained()), {
      ...workload(2, constrained(), 'ReplicaSet'),
      metadata: { ...meta('server-5f7'), ownerReferences: [{ ...madeBy('apps/v1', 'Deployment'), name: 'server' }] },
    }),
    packed(
      'what an operator would revert as advice, below the field of its custom resource',
      /^# Prometheus web owns it, .* there under spec\.topologySpreadConstraints\n# on the object it is \{"spec":\{"template"/,
      {
        ...workload(2, {}, 'StatefulSet'),
        metadata: { ...meta('server'), ownerReferences: [madeBy('monitoring.coreos.com/v1', 'Prometheus')] },
      },
    ),
    // Settings.
    [
      'no field by which one endpoint would carry too much, but says so',
      'NotRequested',
      /^# not before its Pods are where its clients are: one would carry 4\.0 times .*\n# kubectl patch service/,
      '1.34',
      service({ spec: { selector: LABELS } }),
      slicesIn(false, 'a', ...Array.from({ length: 7 }, () => 'b')),
    ],
    ['no label that no webhook acts on', 'NoSelector', /^# with the endpointslice-webhook/, '1.34', bare, foreign],
    ['a label where a webhook acts on it', 'NoSelector', label, '1.34', bare, foreign, webhook],
    // Nodes.
    [
      'all Nodes that have no zone, and what has to follow',
      'NodeWithoutZone',
      /^(?:# kubectl label node [xy] topology\.kubernetes\.io\/zone=<its zone>\n){2}# then restart kube-proxy/,
      '1.34',
      byCpu,
      slicesIn(false, 'a', 'b'),
      ...['x', 'y'].map((name) => ({ ...node({ zone: '' }), metadata: { name } })),
    ],
  ];
  const clusterOf = (version: string, own: object, objects: readonly object[]) => ({
    ...snapshotOf(...nodes, own, ...objects, kubeProxy(`v${version}.1`)),
    version: { major: 1, minor: Number(version.slice(2)) },
  });
  for (const [name, reason, expected, version, own, ...objects] of cases) {
    it(`offers ${name}`, () => {
      const { causes } = explain(clusterOf(version, own as Service, objects), own as Service, { now: 0 });
      const found = causes.find((each) => each.reason === reason);
      expect(found?.fix?.join('\n'), causes.map((each) => each.reason).join()).to.match(expected);
    });
  }

  it('says where zones come from where no Node has one, and names none', () => {
    const zoneless = ['x', 'y'].map((name) => ({ ...node({ zone: '' }), metadata: { name } }));
    const own = service({ spec: { selector: LABELS, trafficDistribution: 'PreferSameZone' } });
    const snapshot = snapshotOf(...zoneless, own, slicesIn(false, '', ''), kubeProxy('v1.33.1'));
    const { causes } = explain(snapshot, own, { now: 0 });
    const { fix = [] } = causes.find(({ reason }) => reason === 'EndpointWithoutZone') ?? {};
    expect(fix.join('\n')).to.match(/^# where no cloud-controller-manager does it .*\n# endpoints get the zone /);
  });

  const change = (kind: string, spec: object): Change => ({ kind, name: 'server', patch: { spec: { ...spec } } });
  const asking = service({ spec: { selector: LABELS } });
  const entering = service({ spec: { selector: LABELS, type: 'LoadBalancer', trafficDistribution: 'PreferClose' } });
  const without = constrained(wrong);
  const refusals: readonly (readonly [string, Cause['reason'], Change, string, ...objects: readonly object[]])[] = [
    [
      'a constraint whose selector matches no Pod',
      'PodsNotSpread',
      change('Deployment', { template: { spec: without } }),
      '1.34',
      web,
      oneZone,
      workload(2),
    ],
    [
      'a field of a newer version',
      'NotRequested',
      change('Service', { trafficDistribution: 'PreferSameZone' }),
      '1.31',
      asking,
      slicesIn(false, 'a', 'b'),
    ],
    [
      'Local for traffic from outside, which may leave the Pods of one Node',
      'LoadBalancerTraffic',
      change('Service', { externalTrafficPolicy: 'Local' }),
      '1.33',
      entering,
      twoZones,
    ],
    [
      'another write of a headless Service, whose hints no data plane reads',
      'Headless',
      change('Service', {}),
      '1.34',
      service({ spec: { selector: LABELS, clusterIP: 'None', trafficDistribution: 'PreferSameZone' } }),
      slicesIn(false, 'a', 'b'),
    ],
    [
      'replicas that may all come to lie in zones that have some',
      'PodsNotSpread',
      change('Deployment', { replicas: 3 }),
      '1.34',
      web,
      twoZones,
      workload(2),
      ...three,
    ],
  ];
  for (const [name, reason, refused, version, own, ...objects] of refusals) {
    it(`refuses ${name}`, () => {
      const snapshot = clusterOf(version, own as Service, objects);
      const before = diagnose(snapshot, own as Service, { now: 0 });
      expect(before.causes.map((each) => each.reason)).to.include(reason);
      const judge: Judge = (changed, index) => diagnose(snapshot, changed, { now: 0 }, index);
      expect(tryChanges(reason, [refused], before, judge)).to.equal('useless');
    });
  }
});
