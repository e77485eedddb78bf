// Values of the chart: how those that Gardener injects are understood, what is refused, and what is rendered only where it is wanted or served.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { parse } from 'yaml';
import {
  configurationOf as flowConfigurationOf,
  parseFlags as parseFlowFlags,
} from '../../../cmd/flow-controller/options.ts';
import { CERTIFICATE, COMPONENTS, FLOW, INJECTED, RECONCILER, WEBHOOK, documents } from '../chart.ts';
import type { Rendered } from '../chart.ts';
import { useHelm } from '../chart-renderings.ts';

const VPA = 'autoscaling.k8s.io/v1';

describe('chart, values', () => {
  const { helm } = useHelm();

  describe('whether the webhook is installed, by default', () => {
    const keepOff = { settingsReconciler: { keep: 'off' } };
    const keepOffWithFlow = { ...keepOff, flowController: { enabled: true } };
    const byChart = { ...keepOff, endpointsliceWebhook: CERTIFICATE };
    const cases = [
      { name: 'the default, which keeps values', values: {}, kubernetes: '1.36.3', installed: true },
      { name: 'it keeps nothing, but hints need it', values: keepOff, kubernetes: '1.31.14', installed: true },
      { name: 'it keeps nothing, hints need none', values: keepOff, kubernetes: '1.32.0', installed: false },
      { name: "the same with a vendor's suffix", values: keepOff, kubernetes: '1.32.9-gke.100', installed: false },
      { name: 'there are plans to apply', values: keepOffWithFlow, kubernetes: '1.36.3', installed: true },
      { name: 'this chart is to register it', values: byChart, kubernetes: '1.36.3', installed: true },
    ];
    for (const { name, values, kubernetes, installed } of cases) {
      it(`${installed ? 'yes' : 'no'} on ${kubernetes}: ${name}`, async () => {
        const objects = documents(await helm().template(values, { kubernetes }));
        const names = objects.map(({ metadata }) => metadata?.name);
        expect(names.includes(WEBHOOK)).to.equal(installed);
        expect(names).to.include(RECONCILER);
      });
    }
  });

  it('names the namespaces of the webhook for the repair of hints too', async () => {
    const objects = documents(await helm().template({ endpointsliceWebhook: CERTIFICATE }));
    const found = objects.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata?.name === RECONCILER);
    const { hintRepair } = parse(found?.data?.['config.yaml'] ?? '') as { hintRepair: object };
    const { includedNamespaces, excludedNamespaces } = CERTIFICATE;
    expect(hintRepair).to.deep.equal({ includedNamespaces, excludedNamespaces });
  });

  const reconcilerModes = async (values: object): Promise<object> => {
    const objects = documents(await helm().template(values));
    const text = objects.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata?.name === RECONCILER)?.data;
    return (parse(text?.['config.yaml'] ?? '') as { modes: object }).modes;
  };
  const seedSpec = (provider: object, settings: object): object => ({
    gardener: { seed: { spec: { provider, settings } } },
  });
  const seedOf = (zones: string[], enabled: boolean): object => ({
    seed: { gardener: {}, seed: { spec: { provider: { zones }, settings: { topologyAwareRouting: { enabled } } } } },
  });
  const understood = [
    { name: 'a Seed without zones and settings', values: seedSpec({}, {}), wanted: seedOf([], false) },
    {
      name: 'a Seed with nulls',
      values: { gardener: { seed: { name: null, spec: null } } },
      wanted: { seed: { gardener: {} } },
    },
    {
      name: 'a Seed with the setting off',
      values: seedSpec({ zones: ['a'] }, { topologyAwareRouting: { enabled: false } }),
      wanted: seedOf(['a'], false),
    },
    {
      name: 'a runtime that is a boolean',
      values: { gardener: { runtimeCluster: { enabled: true } } },
      wanted: { garden: { gardener: {} } },
    },
    {
      name: 'a runtime that is off',
      values: { gardener: { runtimeCluster: { enabled: 'false' } } },
      wanted: { cluster: {} },
    },
    { name: 'a self-hosted shoot', values: { gardener: { selfHostedShootCluster: true } }, wanted: { cluster: {} } },
    { name: 'nothing at all', values: { gardener: null }, wanted: { cluster: {} } },
    {
      name: 'modes switched by hand',
      values: { modes: { seed: true, garden: true, cluster: true } },
      wanted: { seed: { gardener: {} }, garden: { gardener: {} }, cluster: {} },
    },
    {
      name: 'a word about L7',
      values: { modes: { garden: true }, settingsReconciler: { layerSevenDefault: false } },
      wanted: { garden: { gardener: { layerSevenDefault: false } } },
    },
  ];
  for (const { name, values, wanted } of understood) {
    it(`understand ${name}`, async () => expect(await reconcilerModes(values)).to.deep.equal(wanted));
  }

  const refused = [
    { values: { endpointsliceWebhook: { registration: 'chart' } }, message: 'caBundle' },
    { values: { gardner: {} }, message: 'gardner' },
    { values: { modes: { cluster: false } }, message: 'modes: none of seed, garden and cluster runs' },
  ];
  for (const { values, message } of refused) {
    it(`refuse ${JSON.stringify(values)}`, async () => {
      const error = await helm()
        .template(values)
        .then(
          () => undefined,
          (thrown: Error) => thrown,
        );
      expect(error?.message).to.contain(message);
    });
  }

  it('give the flow-controller its selector, sources, files and labels', async () => {
    const flowController = {
      enabled: true,
      namespaceSelector: { matchLabels: { team: 'a' } },
      excludedNamespaces: ['quiet'],
      metricSources: [
        {
          name: 'prometheus',
          type: 'Prometheus',
          url: 'https://prometheus.example.com',
          bearerTokenFile: '/etc/topology-aware-routing-sources/token',
        },
      ],
      sourcesSecretName: 'prometheus-token',
      podLabels: { 'networking.gardener.cloud/to-prometheus': 'allowed' },
      createPolicies: false,
    };
    const objects = documents(await helm().template({ flowController }));
    const named = (kind: string): Rendered | undefined =>
      objects.find((object) => object.kind === kind && object.metadata?.name === FLOW);
    const flags = parseFlowFlags(['--config', 'config.yaml']);
    if (flags.kind !== 'run') throw new Error(flags.text);
    const config = flowConfigurationOf(flags.flags, named('ConfigMap')?.data?.['config.yaml'] ?? '');
    const { namespaceSelector, excludedNamespaces, metricSources, status } = config;
    expect({ namespaceSelector, excludedNamespaces, create: status.create }).to.deep.equal({
      namespaceSelector: { matchLabels: { team: 'a' } },
      excludedNamespaces: ['quiet'],
      create: false,
    });
    expect(metricSources[0]).to.include(flowController.metricSources[0]);
    const { metadata, spec: pod } = named('Deployment')!.spec!.template!;
    expect(metadata.labels).to.include(flowController.podLabels);
    expect(pod.volumes.find(({ name }) => name === 'sources')?.secret?.secretName).to.equal('prometheus-token');
    const mount = pod.containers[0]?.volumeMounts.find(({ name }) => name === 'sources');
    expect(mount).to.deep.include({ mountPath: '/etc/topology-aware-routing-sources', readOnly: true });
  });

  it('refuse a cluster that is too old', async () => {
    const error = await helm()
      .template({}, { kubernetes: '1.23.17' })
      .then(
        () => undefined,
        (thrown: Error) => thrown,
      );
    expect(error?.message).to.contain('1.23.17');
  });

  it('take a digest before a tag', async () => {
    const digest = `sha256:${'a'.repeat(64)}`;
    const text = await helm().template({ image: { repository: 'r.example.com/x', tag: '1', digest } });
    expect(text.match(/image: .*/g)).to.deep.equal(Array(2).fill(`image: r.example.com/x@${digest}`));
  });

  for (const [tag, reference] of [
    ['1', ':1'],
    [`sha256:${'b'.repeat(64)}`, `@sha256:${'b'.repeat(64)}`],
    [`1@sha256:${'b'.repeat(64)}`, `:1@sha256:${'b'.repeat(64)}`],
  ] as const) {
    it(`take the tag ${tag} as Gardener's image vectors write it`, async () => {
      const text = await helm().template({ image: { repository: 'r.example.com/x', tag } });
      expect(text.match(/image: .*/g)).to.deep.equal(Array(2).fill(`image: r.example.com/x${reference}`));
    });
  }

  const withFlow = { flowController: { enabled: true } };
  const rendered = async (kind: string, values: object, serves: readonly string[] = []): Promise<Rendered[]> =>
    documents(await helm().template({ ...withFlow, ...values }, { serves })).filter((object) => object.kind === kind);
  const namesOf = (objects: readonly Rendered[]): string[] => objects.map(({ metadata }) => metadata?.name ?? '');

  describe('VerticalPodAutoscalers', () => {
    const wanted = [
      { name: 'on a plain cluster without one', values: {}, serves: [], count: 0 },
      { name: 'on a plain cluster that serves them', values: {}, serves: [VPA], count: 3 },
      { name: 'on a plain cluster, switched on', values: { vpa: { enabled: true } }, serves: [], count: 3 },
      { name: 'on a seed, which has one by contract', values: INJECTED.seed, serves: [], count: 3 },
      { name: 'on a garden runtime', values: INJECTED.runtime, serves: [], count: 3 },
      {
        name: 'on a seed, switched off',
        values: { ...INJECTED.seed, vpa: { enabled: false } },
        serves: [VPA],
        count: 0,
      },
    ];
    for (const { name, values, serves, count } of wanted) {
      it(`are ${count === 0 ? 'not rendered' : 'rendered'} ${name}`, async () => {
        expect(namesOf(await rendered('VerticalPodAutoscaler', values, serves))).to.have.lengthOf(count);
      });
    }

    it("size requests of this project's container, and leave limits and other containers alone", async () => {
      const objects = await rendered('VerticalPodAutoscaler', {
        vpa: { enabled: true, minAllowed: { memory: '80Mi' } },
      });
      expect(namesOf(objects).sort()).to.deep.equal([...COMPONENTS].sort());
      for (const { metadata, spec } of objects) {
        const name = metadata?.name;
        expect(spec?.targetRef).to.deep.equal({ apiVersion: 'apps/v1', kind: 'Deployment', name });
        expect(spec?.resourcePolicy?.containerPolicies).to.deep.equal([
          { containerName: name, controlledValues: 'RequestsOnly', minAllowed: { cpu: '10m', memory: '80Mi' } },
          { containerName: '*', mode: 'Off' },
        ]);
      }
    });

    const gardenerOf = (version: unknown): object => ({ gardener: { version, seed: { name: 'eu-1' } } });
    const modes = [
      { name: 'a plain cluster', values: {}, mode: 'Recreate' },
      { name: 'a seed of Gardener v1.140', values: gardenerOf('v1.140.0'), mode: 'Recreate' },
      { name: 'a seed of Gardener v1.142', values: gardenerOf('v1.142.0'), mode: 'InPlaceOrRecreate' },
      { name: 'a seed of a Gardener in development', values: gardenerOf('v1.150.0-dev'), mode: 'InPlaceOrRecreate' },
      { name: 'a seed that does not tell', values: gardenerOf(undefined), mode: 'Recreate' },
      { name: 'a seed that tells nonsense', values: gardenerOf('main'), mode: 'Recreate' },
      { name: 'a choice', values: gardenerOf('v1.150.0'), choice: 'Initial', mode: 'Initial' },
    ];
    for (const { name, values, choice = '', mode } of modes) {
      it(`act by ${mode} with ${name}`, async () => {
        const vpa = { enabled: true, updateMode: choice };
        const objects = await rendered('VerticalPodAutoscaler', { ...values, vpa });
        expect(new Set(objects.map(({ spec }) => spec?.updatePolicy?.updateMode))).to.deep.equal(new Set([mode]));
      });
    }
  });

  describe('NetworkPolicies', () => {
    it('are not rendered unless asked for: Gardener has its own, and a cluster may have none', async () => {
      for (const values of Object.values(INJECTED)) expect(await rendered('NetworkPolicy', values)).to.be.empty;
    });

    const portsOf = (rules: readonly { ports?: { port: number }[] }[] = []): number[] =>
      rules.flatMap(({ ports = [] }) => ports.map(({ port }) => port)).sort((a, b) => a - b);

    it('let in who scrapes, to the webhook who asks, and out to DNS and API servers', async () => {
      const objects = await rendered('NetworkPolicy', { networkPolicy: { enabled: true } });
      const deployments = await rendered('Deployment', {});
      expect(namesOf(objects).sort()).to.deep.equal([...COMPONENTS].sort());
      for (const { metadata, spec } of objects) {
        const name = metadata?.name;
        const own = deployments.find((object) => object.metadata?.name === name)!.spec!;
        expect(spec?.podSelector, name).to.deep.equal(own.selector);
        expect(spec?.policyTypes, name).to.deep.equal(['Ingress', 'Egress']);
        const ports = own.template!.spec.containers[0]!.ports;
        // The health port is for the kubelet, which no policy keeps out.
        const open = ports.filter((port) => port.name !== 'health').map(({ containerPort }) => containerPort);
        expect(portsOf(spec?.ingress), name).to.deep.equal(open.sort((a, b) => a - b));
        expect(portsOf(spec?.egress), name).to.deep.equal([53, 53, 443, 6443]);
        for (const { ports: to, from } of spec?.ingress ?? []) {
          expect(from === undefined, `${name}: who may come to ${to[0]?.port}`).to.equal(to[0]?.port === 10_250);
        }
      }
    });

    const webhookCallers = [
      { ipBlock: { cidr: '192.0.2.0/28' } },
      { podSelector: { matchLabels: { app: 'konnectivity-agent' } } },
    ];

    it('guard the port of the webhook by default where it is known who calls it', async () => {
      const [policy, ...others] = await rendered('NetworkPolicy', { networkPolicy: { webhookCallers } });
      expect([policy?.metadata?.name, others]).to.deep.equal([WEBHOOK, []]);
      expect(policy?.spec?.policyTypes).to.deep.equal(['Ingress']);
      expect(policy?.spec).not.to.have.property('egress');
      const [scrape, review] = policy?.spec?.ingress ?? [];
      expect(scrape?.ports.map(({ port }) => port)).to.deep.equal([8080]);
      expect(review).to.deep.equal({ ports: [{ protocol: 'TCP', port: 10_250 }], from: webhookCallers });
      expect(await rendered('NetworkPolicy', { networkPolicy: { enabled: false, webhookCallers } })).to.be.empty;
    });

    it('take the place of what Gardener opens to the world', async () => {
      const annotation = 'networking.resources.gardener.cloud/from-world-to-ports';
      for (const [callers, open] of [
        [[], true],
        [webhookCallers, false],
      ] as const) {
        const values = { ...INJECTED.seed, networkPolicy: { webhookCallers: callers } };
        const service = (await rendered('Service', values)).find(({ metadata }) => metadata?.name === WEBHOOK);
        expect(annotation in (service?.metadata?.annotations ?? {})).to.equal(open);
        expect(Object.keys(service?.metadata?.annotations ?? {}), 'those of the scrapes stay').to.have.length.above(2);
      }
    });
  });

  describe('notes', () => {
    it('say what was installed, where, and what to do next', async () => {
      const text = await helm().notes({});
      expect(text).to.contain(`in namespace 2026: ${RECONCILER}, ${WEBHOOK}.`);
      expect(text).to.contain('Modes: cluster.').and.to.contain('kubectl -n 2026 wait');
      expect(text).not.to.contain('FlowPolicies').and.not.to.contain('failurePolicy');
    });

    it('warn of what is special about the choice', async () => {
      const webhook = { endpointsliceWebhook: { failurePolicy: 'Fail' } };
      const text = await helm().notes({ ...INJECTED.seed, ...withFlow, ...webhook });
      expect(text).to.contain('Modes: seed.').and.to.contain('definition of FlowPolicies');
      expect(text).to.contain('failurePolicy is Fail');
    });

    it('say so when every component is off', async () => {
      const off = { settingsReconciler: { enabled: false }, endpointsliceWebhook: { enabled: false } };
      expect(await helm().notes(off)).to.contain('nothing, since every component is off');
    });
  });
});
