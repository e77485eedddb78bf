// SPDX-License-Identifier: Apache-2.0
// Values of the chart: how those that Gardener injects are understood, what is refused, and who carries admission.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { parse } from 'yaml';
import {
  configurationOf as flowConfigurationOf,
  parseFlags as parseFlowFlags,
} from '../../../cmd/flow-controller/options.ts';
import {
  configurationOf as settingsConfigurationOf,
  parseFlags as parseSettingsFlags,
} from '../../../cmd/settings-reconciler/options.ts';
import type { MutatingWebhookConfiguration } from '../../../pkg/apis/admission.ts';
import { CERTIFICATE, FLOW, RECONCILER, WEBHOOK, documents } from '../chart.ts';
import type { Component, Rendered } from '../chart.ts';
import { useHelm } from '../chart-renderings.ts';

describe('chart, values', () => {
  const { helm } = useHelm();

  describe('whether the webhook is installed, by default', () => {
    const keepOff = { settingsReconciler: { keep: 'off' } };
    const withFlow = { ...keepOff, flowController: { enabled: true } };
    const byChart = { ...keepOff, endpointsliceWebhook: CERTIFICATE };
    const cases = [
      { name: 'the default, which keeps values', values: {}, kubernetes: '1.36.3', installed: true },
      { name: 'it keeps nothing, but hints need it', values: keepOff, kubernetes: '1.31.14', installed: true },
      { name: 'it keeps nothing, hints need none', values: keepOff, kubernetes: '1.32.0', installed: false },
      { name: "the same with a vendor's suffix", values: keepOff, kubernetes: '1.32.9-gke.100', installed: false },
      { name: 'there are plans to apply', values: withFlow, kubernetes: '1.36.3', installed: true },
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

  describe('carriers of admission', () => {
    const admissionOf = async (values: object, component: Component): Promise<string> => {
      const objects = documents(await helm().template(values));
      const found = objects.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata?.name === component);
      return (parse(found?.data?.['config.yaml'] ?? '') as { admission: string }).admission;
    };
    const byChart = { endpointsliceWebhook: CERTIFICATE };
    const carriers = [
      { name: 'the default', values: {}, reconciler: 'auto', webhook: 'auto' },
      { name: 'webhook', values: { admission: 'webhook' }, reconciler: 'webhook', webhook: 'auto' },
      { name: 'policy', values: { admission: 'policy' }, reconciler: 'policy', webhook: 'auto' },
      { name: 'the default, registered by the chart', values: byChart, reconciler: 'webhook', webhook: 'auto' },
      {
        name: 'policy, registered by the chart',
        values: { ...byChart, admission: 'policy' },
        reconciler: 'policy',
        webhook: 'auto',
      },
      {
        name: 'policy without a reconciler',
        values: { admission: 'policy', settingsReconciler: { enabled: false } },
        reconciler: undefined,
        webhook: 'policy',
      },
    ];
    for (const { name, values, reconciler, webhook } of carriers) {
      it(`${name}: the reconciler decides, the webhook follows`, async () => {
        if (reconciler !== undefined) expect(await admissionOf(values, RECONCILER)).to.equal(reconciler);
        expect(await admissionOf(values, WEBHOOK)).to.equal(webhook);
      });
    }

    it('leaves out of its registration what policies carry, where they are served', async () => {
      const namesOn = async (kubernetes: string): Promise<string[]> => {
        const objects = documents(await helm().template({ ...byChart, admission: 'policy' }, { kubernetes }));
        const found = objects.find(({ kind }) => kind === 'MutatingWebhookConfiguration');
        return ((found as MutatingWebhookConfiguration).webhooks ?? []).map(({ name }) => name.split('.')[0] ?? '');
      };
      expect(await namesOn('1.36.0')).to.deep.equal(['strategy-annotation']);
      expect(await namesOn('1.35.0')).to.have.lengthOf(7);
    });

    it('names the excluded namespaces of the webhook for the policies too', async () => {
      const objects = documents(await helm().template(byChart));
      const configOfReconciler = objects.find(
        ({ kind, metadata }) => kind === 'ConfigMap' && metadata?.name === RECONCILER,
      );
      const { policies: configured } = parse(configOfReconciler?.data?.['config.yaml'] ?? '') as { policies: object };
      const { includedNamespaces, excludedNamespaces } = CERTIFICATE;
      const name = 'gardener-extension-topology-aware-routing';
      expect(configured).to.deep.equal({ name, includedNamespaces, excludedNamespaces });
    });
  });

  const reconcilerModes = async (values: object): Promise<object> => {
    const objects = documents(await helm().template(values));
    const text = objects.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata?.name === RECONCILER)?.data;
    return (parse(text?.['config.yaml'] ?? '') as { modes: object }).modes;
  };
  const spec = (provider: object, settings: object): object => ({
    gardener: { seed: { spec: { provider, settings } } },
  });
  const seedOf = (zones: string[], enabled: boolean): object => ({
    seed: { gardener: {}, seed: { spec: { provider: { zones }, settings: { topologyAwareRouting: { enabled } } } } },
  });
  const modes = [
    { name: 'a Seed without zones and settings', values: spec({}, {}), wanted: seedOf([], false) },
    {
      name: 'a Seed with nulls',
      values: { gardener: { seed: { name: null, spec: null } } },
      wanted: { seed: { gardener: {} } },
    },
    {
      name: 'a Seed with the setting off',
      values: spec({ zones: ['a'] }, { topologyAwareRouting: { enabled: false } }),
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
  for (const { name, values, wanted } of modes) {
    it(`understand ${name}`, async () => expect(await reconcilerModes(values)).to.deep.equal(wanted));
  }

  const refused = [
    { values: { settingsReconciler: { keep: 'sometimes' } }, message: 'keep' },
    { values: { endpointsliceWebhook: { registration: 'chart' } }, message: 'caBundle' },
    { values: { gardner: {} }, message: 'gardner' },
    { values: { admission: 'both' }, message: 'admission' },
    { values: { flowController: { metricSources: [] } }, message: 'metricSources' },
    { values: { flowController: { metricSources: [{ name: 'x', type: 'Statsd' }] } }, message: 'type' },
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
      fanOutMegabytesPerMinute: 5_000,
      shards: 3,
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

  it('give the settings-reconciler what is measured during evacuations, its files and labels', async () => {
    const prometheus = {
      url: 'https://prometheus.example.com',
      bearerTokenFile: '/etc/topology-aware-routing-sources/token',
    };
    const measurements = [{ name: 'errors', query: 'zone:errors:ratio5m{job="x"}', zoneLabel: 'zone', unit: 'Ratio' }];
    const settingsReconciler = { sourcesSecretName: 'prometheus-token', podLabels: { 'example.com/a': 'allowed' } };
    const values = { settingsReconciler, evacuation: { prometheus, measurements, meters: true } };
    const objects = documents(await helm().template(values));
    const named = (kind: string): Rendered | undefined =>
      objects.find((object) => object.kind === kind && object.metadata?.name === RECONCILER);
    const flags = parseSettingsFlags(['--config', 'config.yaml']);
    if (flags.kind !== 'run') throw new Error(flags.text);
    const text = named('ConfigMap')?.data?.['config.yaml'] ?? '';
    const { evacuation } = settingsConfigurationOf(flags.flags, text, {});
    expect(evacuation.prometheus).to.include(prometheus);
    expect(evacuation.measurements).to.deep.equal(measurements);
    expect(evacuation.meters).to.deep.equal({ enabled: true, namespace: 'topology-traffic-meter' });
    const { metadata, spec: pod } = named('Deployment')!.spec!.template!;
    expect(metadata.labels).to.include(settingsReconciler.podLabels);
    expect(pod.volumes.find(({ name }) => name === 'sources')?.secret?.secretName).to.equal('prometheus-token');
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
});
