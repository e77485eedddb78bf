import { readFileSync } from 'node:fs';
import { Ajv, type ErrorObject, type SchemaObject } from 'ajv';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { parse } from 'yaml';

type Values = Record<string, unknown>;

const chart = new URL('../../../charts/gardener-extension-topology-aware-routing/', import.meta.url);
const text = (file: string): string => readFileSync(new URL(file, chart), 'utf8');

const schema = JSON.parse(text('values.schema.json')) as SchemaObject;
// Helm's validator knows no defaults either, and takes a list of types as it stands.
const validate = new Ajv({ allErrors: true, strict: true, strictTypes: false, strictRequired: false }).compile(schema);

const defaults = (): Values => parse(text('values.yaml')) as Values;

/** The defaults with one value replaced. */
const withValue = (path: string, value: unknown): Values => {
  const values = defaults();
  const steps = path.split('.');
  const last = steps.pop()!;
  const parent = steps.reduce((node, step) => node[step] as Values, values);
  parent[last] = value;
  return values;
};

/** Dotted path of the field that an error is about. */
const fieldOf = ({ instancePath, params }: ErrorObject): string => {
  const { additionalProperty, missingProperty } = params as { additionalProperty?: string; missingProperty?: string };
  const added = additionalProperty ?? missingProperty;
  return [...instancePath.split('/').slice(1), ...(added === undefined ? [] : [added])].join('.');
};

const errorsOf = (values: Values): string[] => {
  validate(values);
  return (validate.errors ?? []).map(fieldOf);
};

const CHART_REGISTRATION = { registration: 'chart', caBundle: 'Zm9v', certificateSecretName: 'webhook-certificate' };
const withWebhook = (webhook: Values): Values => {
  const values = defaults();
  return { ...values, endpointsliceWebhook: { ...(values['endpointsliceWebhook'] as Values), ...webhook } };
};

describe('values.schema.json', () => {
  it('accepts values.yaml', () => expect(errorsOf(defaults())).to.deep.equal([]));

  const accepted: { name: string; values: Values }[] = [
    { name: 'no values at all', values: {} },
    { name: "what Gardener's tools set for every extension", values: withValue('imageVectorOverwrite', 'images: []') },
    { name: 'ports that gardenlet injects', values: { ...defaults(), usablePorts: [10_250, 10_251] } },
    {
      name: 'what a self-hosted shoot gets, and what Gardener may add later',
      values: withValue('gardener', { selfHostedShootCluster: true, seed: null, usablePorts: [1], later: {} }),
    },
    { name: 'values of a parent chart', values: { ...defaults(), global: { registry: 'x' } } },
    { name: 'a mode switched on', values: withValue('modes.cluster', true) },
    {
      name: 'a Prometheus as the source of load',
      values: withValue('flowController.metricSources', [
        { name: 'p', type: 'Prometheus', url: 'https://prometheus.example.com', windowSeconds: 30 },
      ]),
    },
    {
      name: 'the meters as the source of load',
      values: withValue('flowController.metricSources', [{ name: 'meters', type: 'TrafficMeter', cacheSeconds: 2 }]),
    },
    {
      name: 'quantities as numbers and with any suffix',
      values: withValue('flowController.resources', { requests: { cpu: 1, memory: '1.5Gi' }, limits: { memory: 5e8 } }),
    },
    {
      name: 'peers and addresses of both families',
      values: withValue('networkPolicy', {
        enabled: true,
        scrapers: [{ podSelector: {} }, { ipBlock: { cidr: '192.0.2.0/24' } }],
        apiServerCidrs: ['192.0.2.0/24', '2001:db8::/64'],
      }),
    },
    { name: 'no replicas', values: withValue('settingsReconciler.replicas', 0) },
  ];
  for (const { name, values } of accepted) it(`accepts ${name}`, () => expect(errorsOf(values)).to.deep.equal([]));

  const refused: { path: string; value: unknown; field?: string }[] = [
    { path: 'image.repository', value: '' },
    { path: 'image.tag', value: 'a b' },
    { path: 'image.tag', value: 1.2 },
    { path: 'image.tag', value: 'v0.1.0sha256:aa' },
    { path: 'image.tag', value: 'v0.1.0@sha256:aa' },
    { path: 'image.digest', value: 'latest' },
    { path: 'image.pullPolicy', value: 'always' },
    { path: 'image.name', value: 'x' },
    { path: 'modes.seed', value: 'yes' },
    { path: 'modes.shoot', value: true },
    { path: 'settingsReconciler.enabled', value: 'true' },
    { path: 'settingsReconciler.replicas', value: -1 },
    { path: 'settingsReconciler.replicas', value: 1.5 },
    { path: 'settingsReconciler.replicas', value: 11 },
    { path: 'settingsReconciler.keep', value: true },
    { path: 'settingsReconciler.keep', value: 'sometimes' },
    {
      path: 'settingsReconciler.excludedNamespaces',
      value: ['Team_A'],
      field: 'settingsReconciler.excludedNamespaces.0',
    },
    { path: 'settingsReconciler.excludedNamespaces', value: ['a', 'a'] },
    { path: 'settingsReconciler.excludedNamespaces', value: 'a' },
    { path: 'settingsReconciler.layerSevenDefault', value: 'no' },
    { path: 'settingsReconciler.logLevel', value: 'trace' },
    { path: 'settingsReconciler.ressources', value: {} },
    { path: 'endpointsliceWebhook.registration', value: 'helm' },
    { path: 'endpointsliceWebhook.caBundle', value: '-----BEGIN CERTIFICATE-----' },
    { path: 'endpointsliceWebhook.certificateSecretName', value: 'Not A Name' },
    { path: 'endpointsliceWebhook.failurePolicy', value: 'fail' },
    { path: 'endpointsliceWebhook.timeoutSeconds', value: 0 },
    { path: 'endpointsliceWebhook.timeoutSeconds', value: 6 },
    {
      path: 'endpointsliceWebhook.includedNamespaces',
      value: [''],
      field: 'endpointsliceWebhook.includedNamespaces.0',
    },
    { path: 'flowController.enabled', value: 'yes' },
    { path: 'flowController.metricSources', value: [{ name: 'x' }], field: 'flowController.metricSources.0.type' },
    {
      path: 'flowController.metricSources',
      value: [{ name: 'x', type: 'Statsd' }],
      field: 'flowController.metricSources.0.type',
    },
    { path: 'flowController.namespaceSelector', value: { team: 'a' }, field: 'flowController.namespaceSelector.team' },
    { path: 'flowController.sourcesSecretName', value: 'Not A Name' },
    { path: 'flowController.podLabels', value: { a: 1 }, field: 'flowController.podLabels.a' },
    { path: 'flowController.nodeGroups', value: {} },
    { path: 'flowController.policies', value: true },
    { path: 'flowController.egress', value: {} },
    { path: 'flowController.resources', value: { request: {} }, field: 'flowController.resources.request' },
    {
      path: 'settingsReconciler.resources',
      value: { limits: { memory: '384 Mi' } },
      field: 'settingsReconciler.resources.limits.memory',
    },
    { path: 'vpa.enabled', value: 'yes' },
    { path: 'vpa.updateMode', value: 'recreate' },
    { path: 'vpa.minAllowed', value: { memory: '' }, field: 'vpa.minAllowed.memory' },
    { path: 'vpa.maxAllowed', value: {} },
    { path: 'networkPolicy.enabled', value: 'yes' },
    { path: 'networkPolicy.scrapers', value: [] },
    { path: 'networkPolicy.scrapers', value: [{ namespace: 'x' }], field: 'networkPolicy.scrapers.0.namespace' },
    { path: 'networkPolicy.apiServerPorts', value: [0], field: 'networkPolicy.apiServerPorts.0' },
    { path: 'networkPolicy.apiServerPorts', value: ['443'], field: 'networkPolicy.apiServerPorts.0' },
    { path: 'networkPolicy.apiServerCidrs', value: ['192.0.2.1'], field: 'networkPolicy.apiServerCidrs.0' },
    { path: 'priorityClassName', value: 900 },
    { path: 'gardener', value: 'seed' },
    { path: 'gardener', value: { runtimeCluster: { enabled: 'yes' } }, field: 'gardener.runtimeCluster.enabled' },
    { path: 'replicas', value: 2 },
  ];
  for (const { path, value, field = path } of refused) {
    it(`refuses ${path}: ${JSON.stringify(value)}, naming ${field}`, () => {
      expect(errorsOf(withValue(path, value))).to.include(field);
    });
  }

  for (const field of ['caBundle', 'certificateSecretName']) {
    it(`refuses a registration by the chart without ${field}`, () => {
      const values = withWebhook({ ...CHART_REGISTRATION, [field]: '' });
      expect(errorsOf(values)).to.include(`endpointsliceWebhook.${field}`);
    });
  }
});
