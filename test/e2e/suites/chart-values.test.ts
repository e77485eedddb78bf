// Values of the chart: how those that Gardener injects are understood, what is refused, and what is rendered only where it is wanted or served.
// Needs no bed.
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { parse } from 'yaml';
import { parseFlags as parseMeterFlags } from '../../../cmd/traffic-meter/options.ts';
import { DASHBOARD } from '../../../hack/generate/dashboard.ts';
import { alertFiles } from '../../../hack/lib/alerts.ts';
import { TRAFFIC_METER } from '../../../pkg/apis/names.ts';
import { CERTIFICATE, COMPONENTS, documents, FLOW, INJECTED, RECONCILER, root, useHelm, WEBHOOK } from '../chart.ts';
import type { Rendered } from '../chart.ts';

const VPA = 'autoscaling.k8s.io/v1';
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const namesOf = (objects: readonly Rendered[]): string[] => objects.map(({ metadata }) => metadata?.name ?? '').sort();

describe('chart, values', () => {
  const { helm } = useHelm();
  const rendered = async (kind: string, values: object, serves: readonly string[] = []): Promise<Rendered[]> => {
    const text = await helm().template({ flowController: { enabled: true }, ...values }, { serves });
    return documents(text).filter((object) => object.kind === kind);
  };
  const configOf = async (component: string, values: object): Promise<Record<string, unknown>> => {
    const found = (await rendered('ConfigMap', values)).find(({ metadata }) => metadata?.name === component);
    return parse(found?.data?.['config.yaml'] ?? '') as Record<string, unknown>;
  };
  const deploymentOf = async (name: string, values: object): Promise<Rendered> =>
    (await rendered('Deployment', values)).find(({ metadata }) => metadata?.name === name)!;

  const keepOff = { settingsReconciler: { keep: 'off' } };
  for (const { name, values, kubernetes, installed } of [
    { name: 'the default, which keeps values', values: {}, kubernetes: '1.36.3', installed: true },
    { name: 'it keeps nothing, but hints need it', values: keepOff, kubernetes: '1.31.14', installed: true },
    { name: 'it keeps nothing, hints need none', values: keepOff, kubernetes: '1.32.0', installed: false },
    { name: "the same with a vendor's suffix", values: keepOff, kubernetes: '1.32.9-gke.100', installed: false },
    {
      name: 'there are plans to apply',
      values: { ...keepOff, flowController: { enabled: true } },
      kubernetes: '1.36.3',
      installed: true,
    },
    {
      name: 'this chart is to register it',
      values: { ...keepOff, endpointsliceWebhook: CERTIFICATE },
      kubernetes: '1.36.3',
      installed: true,
    },
  ])
    it(`install the webhook on ${kubernetes}: ${installed}, ${name}`, async () => {
      const names = namesOf(documents(await helm().template(values, { kubernetes })));
      expect(names.includes(WEBHOOK)).to.equal(installed);
      expect(names).to.include(RECONCILER);
    });

  it('name the namespaces of the webhook for the repair of hints too', async () => {
    const { hintRepair } = await configOf(RECONCILER, { endpointsliceWebhook: CERTIFICATE });
    const { includedNamespaces, excludedNamespaces } = CERTIFICATE;
    expect(hintRepair).to.deep.equal({ includedNamespaces, excludedNamespaces });
  });

  const seedSpec = (provider: object, settings: object): object => ({
    gardener: { seed: { spec: { provider, settings } } },
  });
  const seedOf = (zones: string[], enabled: boolean): object => ({
    seed: { gardener: {}, seed: { spec: { provider: { zones }, settings: { topologyAwareRouting: { enabled } } } } },
  });
  const off = { topologyAwareRouting: { enabled: false } };
  const runtime = (enabled: unknown): object => ({ gardener: { runtimeCluster: { enabled } } });
  const understood: readonly (readonly [name: string, values: object, modes: object])[] = [
    ['a Seed without zones and settings', seedSpec({}, {}), seedOf([], false)],
    ['a Seed with nulls', { gardener: { seed: { name: null, spec: null } } }, { seed: { gardener: {} } }],
    ['a Seed with the setting off', seedSpec({ zones: ['a'] }, off), seedOf(['a'], false)],
    ['a runtime that is a boolean', runtime(true), { garden: { gardener: {} } }],
    ['a runtime that is off', runtime('false'), { cluster: {} }],
    ['a self-hosted shoot', { gardener: { selfHostedShootCluster: true } }, { cluster: {} }],
    ['nothing at all', { gardener: null }, { cluster: {} }],
    [
      'modes switched by hand',
      { modes: { seed: true, garden: true, cluster: true } },
      { seed: { gardener: {} }, garden: { gardener: {} }, cluster: {} },
    ],
    [
      'a word about L7',
      { modes: { garden: true }, settingsReconciler: { layerSevenDefault: false } },
      { garden: { gardener: { layerSevenDefault: false } } },
    ],
  ];
  for (const [name, values, modes] of understood)
    it(`understand ${name}`, async () => expect(await configOf(RECONCILER, values)).to.deep.include({ modes }));

  for (const { values, kubernetes = '1.36.3', message } of [
    { values: { endpointsliceWebhook: { registration: 'chart' } }, message: 'caBundle' },
    { values: { gardner: {} }, message: 'gardner' },
    { values: { modes: { cluster: false } }, message: 'modes: none of seed, garden and cluster runs' },
    { values: {}, kubernetes: '1.23.17', message: '1.23.17' },
  ])
    it(`refuse ${JSON.stringify(values)} on ${kubernetes}`, async () => {
      expect(await helm().template(values, { kubernetes }).catch(String)).to.contain(message);
    });

  it('give the flow-controller its selector, sources, files and labels', async () => {
    const file = '/etc/topology-aware-routing-sources/token';
    const source = { name: 'p', type: 'Prometheus', url: 'https://prometheus.example.com', bearerTokenFile: file };
    const flowController = {
      enabled: true,
      namespaceSelector: { matchLabels: { team: 'a' } },
      excludedNamespaces: ['quiet'],
      metricSources: [source],
      sourcesSecretName: 'prometheus-token',
      podLabels: { 'networking.gardener.cloud/to-prometheus': 'allowed' },
      createPolicies: false,
    };
    const { namespaceSelector, excludedNamespaces, metricSources } = flowController;
    const wanted = { namespaceSelector, excludedNamespaces, metricSources };
    expect(await configOf(FLOW, { flowController })).to.deep.include(wanted);
    const { metadata, spec: pod } = (await deploymentOf(FLOW, { flowController })).spec!.template!;
    expect(metadata.labels).to.include(flowController.podLabels);
    expect(pod.volumes.find(({ name }) => name === 'sources')?.secret?.secretName).to.equal('prometheus-token');
    const mount = pod.containers[0]?.volumeMounts.find(({ name }) => name === 'sources');
    expect(mount).to.deep.include({ mountPath: '/etc/topology-aware-routing-sources', readOnly: true });
  });

  const digest = `sha256:${'b'.repeat(64)}`;
  for (const [image, reference] of [
    [{ tag: '1', digest }, `@${digest}`],
    [{ tag: '1' }, ':1'],
    [{ tag: digest }, `@${digest}`],
    [{ tag: `1@${digest}` }, `:1@${digest}`],
  ] as const)
    it(`take ${JSON.stringify(image)} as Gardener's image vectors write it`, async () => {
      const text = await helm().template({ image: { repository: 'r.example.com/x', ...image } });
      expect(text.match(/image: .*/g)).to.deep.equal(Array(2).fill(`image: r.example.com/x${reference}`));
    });

  describe('VerticalPodAutoscalers', () => {
    const seedOff = { ...INJECTED.seed, vpa: { enabled: false } };
    for (const { name, values, serves = [], count } of [
      { name: 'on a plain cluster without one', values: {}, count: 0 },
      { name: 'on a plain cluster that serves them', values: {}, serves: [VPA], count: 3 },
      { name: 'on a plain cluster, switched on', values: { vpa: { enabled: true } }, count: 3 },
      { name: 'on a seed, which has one by contract', values: INJECTED.seed, count: 3 },
      { name: 'on a garden runtime', values: INJECTED.runtime, count: 3 },
      { name: 'on a seed, switched off', values: seedOff, serves: [VPA], count: 0 },
    ])
      it(`are ${count} ${name}`, async () => {
        expect(await rendered('VerticalPodAutoscaler', values, serves)).to.have.lengthOf(count);
      });

    it("size requests of this project's container, and leave limits and other containers alone", async () => {
      const vpa = { enabled: true, minAllowed: { memory: '80Mi' } };
      const objects = await rendered('VerticalPodAutoscaler', { vpa });
      expect(namesOf(objects)).to.deep.equal([...COMPONENTS].sort());
      for (const { metadata, spec } of objects) {
        const name = metadata?.name;
        expect(spec?.targetRef).to.deep.equal({ apiVersion: 'apps/v1', kind: 'Deployment', name });
        expect(spec?.resourcePolicy?.containerPolicies).to.deep.equal([
          { containerName: name, controlledValues: 'RequestsOnly', minAllowed: { cpu: '10m', memory: '80Mi' } },
          { containerName: '*', mode: 'Off' },
        ]);
      }
    });

    for (const { version, choice = '', mode } of [
      { version: 'v1.140.0', mode: 'Recreate' },
      { version: 'v1.142.0', mode: 'InPlaceOrRecreate' },
      { version: 'v1.150.0-dev', mode: 'InPlaceOrRecreate' },
      { version: undefined, mode: 'Recreate' },
      { version: 'main', mode: 'Recreate' },
      { version: 'v1.150.0', choice: 'Initial', mode: 'Initial' },
    ])
      it(`act by ${mode} on a seed of Gardener ${version}, choice '${choice}'`, async () => {
        const values = { gardener: { version, seed: { name: 'eu-1' } }, vpa: { enabled: true, updateMode: choice } };
        const objects = await rendered('VerticalPodAutoscaler', values);
        expect(new Set(objects.map(({ spec }) => spec?.updatePolicy?.updateMode))).to.deep.equal(new Set([mode]));
      });
  });

  describe('NetworkPolicies', () => {
    const webhookCallers = [{ ipBlock: { cidr: '192.0.2.0/28' } }];
    const portsOf = (rules: readonly { ports?: { port: number }[] }[] = []): number[] =>
      rules.flatMap(({ ports = [] }) => ports.map(({ port }) => port)).sort((a, b) => a - b);

    it('are not rendered unless asked for: Gardener has its own, and a cluster may have none', async () => {
      for (const values of Object.values(INJECTED)) expect(await rendered('NetworkPolicy', values)).to.be.empty;
    });

    it('let in who scrapes, to the webhook who asks, and out to DNS and API servers', async () => {
      const objects = await rendered('NetworkPolicy', { networkPolicy: { enabled: true } });
      expect(namesOf(objects)).to.deep.equal([...COMPONENTS].sort());
      for (const { metadata, spec } of objects) {
        const own = (await deploymentOf(metadata?.name ?? '', {})).spec!;
        expect(spec?.podSelector).to.deep.equal(own.selector);
        // The health port is for the kubelet, which no policy keeps out.
        const open = own.template!.spec.containers[0]!.ports.filter(({ name }) => name !== 'health');
        expect(portsOf(spec?.ingress)).to.deep.equal(open.map((port) => port.containerPort).sort((a, b) => a - b));
        expect(portsOf(spec?.egress)).to.deep.equal([53, 53, 443, 6443]);
        for (const { ports, from } of spec?.ingress ?? [])
          expect(from === undefined, `who may come to ${ports[0]?.port}`).to.equal(ports[0]?.port === 10_250);
      }
    });

    it("guard the webhook's port where it is known who calls it, in place of what Gardener opens", async () => {
      const [policy, ...others] = await rendered('NetworkPolicy', { networkPolicy: { webhookCallers } });
      expect([policy?.metadata?.name, others]).to.deep.equal([WEBHOOK, []]);
      expect(policy?.spec).not.to.have.property('egress');
      const [scrape, review] = policy?.spec?.ingress ?? [];
      expect(scrape?.ports.map(({ port }) => port)).to.deep.equal([8080]);
      expect(review).to.deep.equal({ ports: [{ protocol: 'TCP', port: 10_250 }], from: webhookCallers });
      expect(await rendered('NetworkPolicy', { networkPolicy: { enabled: false, webhookCallers } })).to.be.empty;
      for (const callers of [[], webhookCallers]) {
        const values = { ...INJECTED.seed, networkPolicy: { webhookCallers: callers } };
        const service = (await rendered('Service', values)).find(({ metadata }) => metadata?.name === WEBHOOK);
        const open = 'networking.resources.gardener.cloud/from-world-to-ports';
        expect(open in (service?.metadata?.annotations ?? {})).to.equal(callers.length === 0);
      }
    });
  });

  it('are read by the notes: what was installed, where, what to do next, and what is special', async () => {
    const plain = await helm().notes({});
    expect(plain).to.contain(`in namespace 2026: ${RECONCILER}, ${WEBHOOK}.`);
    expect(plain).to.contain('Modes: cluster.').and.to.contain('kubectl -n 2026 wait');
    const special = { endpointsliceWebhook: { failurePolicy: 'Fail' }, flowController: { enabled: true } };
    const seed = await helm().notes({ ...INJECTED.seed, ...special });
    expect(seed).to.contain('Modes: seed.').and.to.contain('definition of FlowPolicies');
    expect(seed).to.contain('failurePolicy is Fail');
    const none = { settingsReconciler: { enabled: false }, endpointsliceWebhook: { enabled: false } };
    expect(await helm().notes(none)).to.contain('nothing, since every component is off');
  });

  describe('monitoring', () => {
    const ALL = { trafficMeter: { enabled: true } };
    const extension = 'gardener-extension-topology-aware-routing';
    for (const { where, prometheus, monitors, name } of [
      { where: 'seed', prometheus: 'seed', monitors: false, name: extension },
      { where: 'runtime', prometheus: 'garden', monitors: true, name: `${extension}-runtime` },
      { where: 'seed and runtime', prometheus: 'garden', monitors: true, name: `${extension}-runtime` },
    ] as const)
      it(`on ${where} is rules, a dashboard and ${monitors ? '' : 'no '}ServiceMonitors for what is there`, async () => {
        const values = { ...INJECTED[where], ...ALL };
        const rules = (await rendered('PrometheusRule', values)) as (Rendered & { spec?: { groups?: object[] } })[];
        expect(namesOf(rules)).to.deep.equal(
          alertFiles()
            .map(({ about }) => `${name}-${about}`)
            .sort(),
        );
        for (const { metadata, spec } of rules) {
          expect(metadata?.labels).to.include({ prometheus });
          const file = alertFiles().find(({ about }) => metadata?.name === `${name}-${about}`);
          expect({ groups: spec?.groups }).to.deep.equal(parse(read(file?.path ?? '')));
        }
        const dashboards = (await rendered('ConfigMap', values)).filter(
          ({ metadata }) => `dashboard.monitoring.gardener.cloud/${prometheus}` in (metadata?.labels ?? {}),
        );
        expect(namesOf(dashboards)).to.deep.equal([`${name}-dashboards`]);
        expect(dashboards[0]?.metadata?.namespace).to.equal('garden');
        const text = dashboards[0]?.data?.[basename(DASHBOARD)] ?? '';
        expect(JSON.parse(text)).to.deep.equal(JSON.parse(read(DASHBOARD)));
        const found = await rendered('ServiceMonitor', values);
        const watched = monitors ? [...COMPONENTS, TRAFFIC_METER] : [];
        expect(namesOf(found)).to.deep.equal(watched.map((component) => `${name}-${component}`).sort());
        const services = await rendered('Service', values);
        for (const { metadata, spec } of found) {
          expect(metadata?.labels).to.include({ prometheus });
          const wanted = Object.entries(spec?.selector?.['matchLabels'] as Record<string, string>);
          const chosen = services.filter((one) =>
            wanted.every(([key, value]) => one.metadata?.labels?.[key] === value),
          );
          expect(chosen, metadata?.name).to.have.lengthOf(1);
        }
      });

    it('is nothing that an API server may not know, on an old Gardener and outside of it', async () => {
      const gardener = { ...(INJECTED.seed as { gardener: object }).gardener, version: 'v1.90.0' };
      expect(await rendered('PrometheusRule', { gardener })).to.be.empty;
      const objects = documents(await helm().template({ ...ALL, flowController: { enabled: true } }));
      expect(objects.filter(({ apiVersion }) => apiVersion?.startsWith('monitoring'))).to.be.empty;
      expect(namesOf(objects).filter((name) => /-(?:alerts|dashboards)$/.test(name))).to.be.empty;
    });

    it('outside Gardener has the labels that its Prometheus and Grafana want', async () => {
      const labels = { release: 'kube-prometheus-stack' };
      const monitoring = { serviceMonitors: true, alerts: 'prometheusRule', dashboards: true, labels };
      for (const kind of ['ServiceMonitor', 'PrometheusRule']) {
        const found = await rendered(kind, { ...ALL, monitoring });
        expect(found, kind).not.to.be.empty;
        for (const { metadata } of found) expect(metadata?.labels, kind).to.include(labels);
      }
      const maps = await rendered('ConfigMap', { monitoring });
      expect(maps.filter(({ metadata }) => 'grafana_dashboard' in (metadata?.labels ?? {}))).to.have.lengthOf(1);
    });
  });

  describe('traffic-meter', () => {
    const meterOf = async (values: object): Promise<Rendered[]> =>
      rendered('DaemonSet', { trafficMeter: { enabled: true, ...values } });

    it('is off by default; else root with NET_ADMIN and nothing else, without a Secret', async () => {
      expect(await rendered('DaemonSet', {})).to.be.empty;
      const [meter] = await meterOf({ port: 9_600, healthPort: 9_601, listIntervalSeconds: 30 });
      const { containers, volumes } = meter!.spec!.template!.spec;
      expect(volumes.filter(({ secret }) => secret !== undefined)).to.be.empty;
      expect(containers.map(({ securityContext }) => securityContext)).to.deep.equal([
        {
          runAsUser: 0,
          runAsGroup: 0,
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'], add: ['NET_ADMIN'] },
        },
      ]);
      const parsed = parseMeterFlags(containers[0]!.args.slice(1));
      if (parsed.kind !== 'run') throw new Error(parsed.text);
      expect(parsed.flags).to.deep.include({ securePort: 9_600, healthPort: 9_601, listInterval: 30 });
      expect(parsed.flags).not.to.have.any.keys('metricsPort', 'bindAddress');
    });

    const direct = { name: 'meters', type: 'TrafficMeter' };
    const metricsApi = { name: 'metrics.k8s.io', type: 'ResourceMetrics' };
    const scraped = { name: 'scraped', type: 'TrafficMeter', url: 'https://prometheus.example.com' };
    for (const { name, flowController, reads } of [
      { name: 'with proofs', flowController: { trafficProof: true }, reads: true },
      { name: 'with the meters as a source', flowController: { metricSources: [direct] }, reads: true },
      { name: 'with a Prometheus as the source', flowController: { metricSources: [scraped] }, reads: false },
      { name: 'with its defaults', flowController: {}, reads: true },
      { name: 'with metrics.k8s.io alone', flowController: { metricSources: [metricsApi] }, reads: false },
      { name: 'that is not installed', flowController: { enabled: false, trafficProof: true }, reads: false },
    ])
      it(`${reads ? 'lets' : 'does not let'} a flow-controller ${name} read meters`, async () => {
        const trafficMeter = { enabled: true, namespace: 'meters' };
        const values = { trafficMeter, flowController: { enabled: true, ...flowController } };
        const toMeters = (await rendered('RoleBinding', values)).filter(
          ({ metadata, subjects = [] }) => metadata?.namespace === 'meters' && subjects[0]?.name === FLOW,
        );
        expect(toMeters.map(({ roleRef }) => roleRef?.name)).to.deep.equal(reads ? ['traffic-reader'] : []);
      });
  });
});
