// The configuration of sources of load: what a file may say, what is filled in, and how mistakes are told.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { stringify } from 'yaml';
import { CONFIG_API_VERSION, loadConfiguration } from '../../../../pkg/apis/config/load.ts';
import { ConfigError } from '../../../../pkg/apis/config/config-error.ts';
import type { ConfigKind } from '../../../../pkg/apis/config/load.ts';
import { METRIC_SOURCES_SCHEMA, metricSourcesProblems } from '../../../../pkg/apis/config/load-sources.ts';
import type { MetricSourceConfiguration } from '../../../../pkg/apis/config/load-sources.ts';

interface Configuration {
  metricSources: MetricSourceConfiguration[];
}

/** A kind that has nothing but sources. */
const KIND: ConfigKind<Configuration> = {
  kind: 'TestConfiguration',
  schema: { type: 'object', properties: { metricSources: METRIC_SOURCES_SCHEMA } },
  check: ({ metricSources }) => metricSourcesProblems('metricSources', metricSources),
};

const load = (metricSources?: unknown): MetricSourceConfiguration[] => {
  const file = {
    apiVersion: CONFIG_API_VERSION,
    kind: KIND.kind,
    ...(metricSources === undefined ? {} : { metricSources }),
  };
  return loadConfiguration(KIND, stringify(file), 'config.yaml').metricSources;
};

const prometheus = (more: object = {}): object => ({
  name: 'prometheus',
  type: 'Prometheus',
  url: 'https://prometheus.monitoring.svc:9090',
  ...more,
});

const problemsOf = (sources: unknown): string[] => {
  try {
    load(sources);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems.map(({ field, message }) => `${field}: ${message}`);
  }
  return [];
};

describe('configuration of sources of load', () => {
  it('is the metrics API by default', () => {
    expect(load()).to.deep.equal([
      { name: 'metrics.k8s.io', type: 'ResourceMetrics', timeoutSeconds: 8, cacheSeconds: 10 },
    ]);
  });

  it('fills in what all sources have, and nothing else', () => {
    expect(load([prometheus()])).to.deep.equal([{ ...prometheus(), timeoutSeconds: 8, cacheSeconds: 10 }]);
  });

  it('takes a token over plain HTTP on loopback only', () => {
    for (const host of ['localhost', '127.0.0.1', '[::1]'])
      expect(problemsOf([prometheus({ url: `http://${host}:9090`, bearerTokenFile: '/t' })]), host).to.deep.equal([]);
  });

  for (const [name, sources, problems] of [
    ['no source', [], ['metricSources: needs at least 1 item(s).']],
    ['no name', [{ type: 'ResourceMetrics' }], ['metricSources[0].name: is required.']],
    ['another type', [{ name: 'a', type: 'Keda' }], ['metricSources[0].type: is "Keda".']],
    ['an unknown field', [prometheus({ adress: 'x' })], ['metricSources[0].adress: is not a field of this kind.']],
    [
      'the same name twice',
      [prometheus(), { name: 'prometheus', type: 'ResourceMetrics' }],
      ['metricSources[1].name: is "prometheus", as that of metricSources[0].'],
    ],
    ['a Prometheus without url', [{ name: 'a', type: 'Prometheus' }], ['metricSources[0].url: is required.']],
    [
      'fields of a Prometheus elsewhere',
      [{ name: 'a', type: 'ResourceMetrics', url: 'https://x', query: 'y' }],
      ['metricSources[0].url: is not a field of this kind.', 'metricSources[0].query: is not a field of this kind.'],
    ],
    [
      'a Prometheus by the name of the metrics API',
      [prometheus({ name: 'metrics.k8s.io' })],
      ['metricSources[0].name: is metrics.k8s.io, the name of the metrics API.'],
    ],
    [
      'a port that is none',
      [prometheus({ url: 'https://x:99999' })],
      ['metricSources[0].url: is "https://x:99999", which is not a URL.'],
    ],
    [
      'a token in the clear',
      [prometheus({ url: 'http://prometheus:9090', bearerTokenFile: '/t' })],
      ['metricSources[0].bearerTokenFile: would be sent unencrypted: the url is not https.'],
    ],
    [
      'TLS without TLS',
      [prometheus({ url: 'http://prometheus:9090', tls: { caFile: '/ca' } })],
      ['metricSources[0].tls: has no effect: the url is not https.'],
    ],
    [
      'half a client certificate',
      [prometheus({ tls: { keyFile: '/key' } })],
      ['metricSources[0].tls.certFile: is required: certFile and keyFile belong together.'],
    ],
    [
      'times without samples',
      [prometheus({ sampleTimeQuery: 'x' })],
      ['metricSources[0].sampleTimeQuery: belongs to query, which is unset.'],
    ],
    [
      'no query from anybody',
      [prometheus({ policyQueries: false })],
      ['metricSources[0].query: is required where policyQueries is false.'],
    ],
    ['a timeout of nothing', [prometheus({ timeoutSeconds: 0 })], ['metricSources[0].timeoutSeconds: is 0.']],
  ] as const) {
    it(`refuses ${name}`, () => {
      expect(problemsOf(sources)).to.deep.equal(problems);
    });
  }

  for (const url of [
    'ftp://x',
    'prometheus:9090',
    'https://user:password@x',
    'https://x/?query=y',
    'https://x/#y',
    'https://',
    'https://x y',
  ]) {
    it(`refuses the url ${url}`, () => {
      const [problem] = problemsOf([prometheus({ url })]);
      expect(problem).to.match(/^metricSources\[0\]\.url: /u);
    });
  }

  for (const header of ['Authorization', 'AUTHORIZATION', 'host', 'Content-Length', 'transfer-encoding', 'Cookie']) {
    it(`refuses the header ${header}`, () => {
      const problems = problemsOf([prometheus({ headers: { [header]: 'x' } })]);
      expect(
        problems.map((problem) => problem.includes(header) && problem.endsWith(': is not for this list.')),
      ).to.deep.equal([true]);
    });
  }

  for (const header of ['X Y', 'X:', '', 'Ä']) {
    it(`refuses the header ${JSON.stringify(header)}, which is none`, () => {
      expect(problemsOf([prometheus({ headers: { [header]: 'x' } })])).not.to.deep.equal([]);
    });
  }

  it('refuses a header that would begin another', () => {
    expect(problemsOf([prometheus({ headers: { 'X-A': 'x\r\nX-Evil: 1' } })])).not.to.deep.equal([]);
  });
});
