// Shows that the Prometheus source asks a real Prometheus over mutual TLS, and that no name is more than a name in a query.
// Needs: prometheus
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect } from 'chai';
import { afterEach, before, describe, it } from 'mocha';
import type { PrometheusSourceConfiguration } from '../../../pkg/apis/config/load-sources.ts';
import { systemClock } from '../../../pkg/kubernetes/wait.ts';
import { createPrometheus } from '../../../pkg/metrics/prometheus.ts';
import type { ClosableSource } from '../../../pkg/metrics/types.ts';
import { loadFailure, loadQuery } from '../../fixtures/load-readings.ts';
import type { KeyPair } from '../bed/access.ts';
import { useBed } from '../bed/index.ts';
import { waitFor } from '../bed/machine.ts';
import { type Exporter, type Prometheus, type Series, startExporter, startPrometheus } from '../prometheus.ts';

const NAMESPACE = 'shop';
const never = new AbortController().signal;

const now = (): number => Date.now() / 1_000;

describe('prometheus', () => {
  const bed = useBed();
  let prometheus: Prometheus;
  let exporter: Exporter;
  let client: KeyPair;
  const sources: ClosableSource[] = [];
  /** When the exporter began, seconds since 1970. */
  let began = 0;
  /** What an exporter of one series per name would say, whatever characters a name has. */
  const asked = ['plain', 'plain-2', '0'];
  const names = [
    ...asked,
    'quote"and\\backslash',
    "single' and `backticks`",
    'line\nbreak\ttab',
    'ä 😀 \u0001 \u007f',
    '"} or vector(1) #',
    '.*',
    '$service ${namespace} \\$service',
  ];

  const series = (): Series[] => [
    // 0.25 and 1.5 a second from the start of the exporter on.
    { name: 'served_total', labels: { namespace: NAMESPACE, pod: 'web-0' }, value: (now() - began) / 4 },
    { name: 'served_total', labels: { namespace: NAMESPACE, pod: 'web-1' }, value: (now() - began) * 1.5 },
    { name: 'served_total', labels: { namespace: 'prod', pod: 'web-0' }, value: (now() - began) * 100 },
    ...names.map((name, index) => ({ name: 'named', labels: { namespace: name, pod: `p${index}` }, value: index + 1 })),
    { name: 'old', labels: { namespace: NAMESPACE, pod: 'web-0' }, value: 5, sampledAt: began - 30 },
  ];

  const open = (more: Partial<PrometheusSourceConfiguration> = {}): ClosableSource => {
    const tls = { caFile: bed().pki.authority.certificate, certFile: client.certificate, keyFile: client.key };
    const common = { name: 'prometheus', type: 'Prometheus', url: prometheus.url, cacheSeconds: 0 } as const;
    const source = createPrometheus({
      config: { ...common, timeoutSeconds: 8, tls, windowSeconds: 5, ...more },
      clock: systemClock,
      userAgent: 'metrics-suite/1.0',
    });
    sources.push(source);
    return source;
  };

  before('that asks its clients for certificates', async () => {
    began = now();
    exporter = await startExporter(series);
    client = await bed().pki.client('prometheus-client', []);
    const authority = bed().pki.authority.certificate;
    prometheus = await startPrometheus(bed(), {
      jobs: [{ name: 'test', targets: [exporter.target] }],
      tls: {
        serving: await bed().pki.serving('prometheus', ['127.0.0.1']),
        clientAuthority: authority,
        own: { authority, client },
      },
    });
    await prometheus.waitForSamples('rate(served_total[5s])', 3);
  });
  afterEach(async () => {
    await Promise.all(sources.splice(0).map((source) => source.close()));
  });

  for (const method of ['POST', 'GET'] as const) {
    it(`are a sample per Pod (${method})`, async () => {
      const promql = 'sum by (namespace, pod) (rate(served_total{namespace="$namespace",pod=~"$service-.*"}[5s]))';
      const source = open({ method });
      // A machine that stalls delays scrapes, and then rates are off for as long as their range.
      const { kind, samples, problems } = await waitFor(
        'rates of 0.25 and 1.5 a second',
        () => source.read(loadQuery(['web-0', 'web-1'], { promql }), never),
        ({ samples: [first, second] }) =>
          Math.abs((first?.load ?? 0) / 0.25 - 1) < 0.1 && Math.abs((second?.load ?? 0) / 1.5 - 1) < 0.1,
      );
      expect({ kind, problems }).to.deep.equal({ kind: 'pods', problems: [] });
      expect(samples.map((sample) => [Reflect.get(sample, 'pod'), sample.window])).to.deep.equal([
        ['web-0', 5],
        ['web-1', 5],
      ]);
      expect(samples[0]?.sampledAt)
        .to.be.at.least(now() - 10)
        .and.at.most(now());
    });
  }

  it('are found by a name, and by no other, however it is quoted', async () => {
    const source = open();
    await prometheus.waitForSamples('named', names.length);
    const pods = names.map((_, index) => `p${index}`);
    for (const [index, namespace] of asked.entries()) {
      for (const promql of [
        'named{namespace="$namespace"}',
        "named{namespace='${namespace}'}",
        'named{namespace=$namespace}',
        'named{namespace=~"$namespace"}',
        "named{namespace=~'$namespace'}",
        'named{namespace=~$namespace} # "$namespace',
        'named{namespace=`$namespace`}',
        'named{namespace=~`$namespace`}',
      ]) {
        // A late scrape makes all series stale for a moment; what is judged is what is there.
        const reading = await waitFor(
          promql,
          () => source.read({ namespace, service: 'x', pods: new Set(pods), promql }, never),
          ({ samples }) => samples.length > 0,
        );
        const found = reading.samples.map((sample) => [Reflect.get(sample, 'pod'), sample.load]);
        expect(found, `${promql} with ${JSON.stringify(namespace)}`).to.deep.equal([[`p${index}`, index + 1]]);
      }
    }
  });

  it('are as old as they are, where a second query says so', async () => {
    await prometheus.waitForSamples('old');
    const source = open({ query: 'old', sampleTimeQuery: 'timestamp(old)' });
    const { samples } = await source.read(loadQuery(['web-0']), never);
    expect(samples).to.have.length(1);
    expect(samples[0]?.sampledAt).to.be.closeTo(began - 30, 0.01);
  });

  for (const { name, promql, reason, message } of [
    { name: 'a query that is none', promql: 'sum(', reason: 'BadQuery', message: 'parse error' },
    { name: 'a query that fails', promql: 'served_total / on() named', reason: 'BadQuery', message: 'execution: ' },
    { name: 'a number', promql: '1', reason: 'BadQuery', message: 'yields a scalar' },
    { name: 'a range', promql: 'served_total[5s]', reason: 'BadQuery', message: 'yields a matrix' },
    { name: 'a text', promql: '"x"', reason: 'BadQuery', message: 'yields a string' },
  ]) {
    it(`are not to be had of ${name}`, async () => {
      const source = open();
      // A scrape that was late leaves the series empty for a moment, and then nothing is there to fail.
      const error = await waitFor(
        'a refusal',
        () => loadFailure(source.read(loadQuery(['web-0'], { promql }), never)),
        (failure) => failure.reason !== 'Timeout',
      );
      expect(error.reason).to.equal(reason);
      expect(error.message).to.include(message);
    });
  }

  it('are Unreachable without a client certificate', async () => {
    const source = open({ tls: { caFile: bed().pki.authority.certificate } });
    const { reason } = await loadFailure(source.read(loadQuery(['web-0'], { promql: 'old' }), never));
    expect(reason).to.equal('Unreachable');
  });

  it('takes the queries of the documentation', async () => {
    const reference = readFileSync(resolve(import.meta.dirname, '../../../docs/reference/metric-sources.md'), 'utf8');
    const queries = [...reference.matchAll(/^```promql\n([^]*?)^```$/gmu)].map((match) => match[1] ?? '');
    expect(queries).to.have.length(4);
    for (const promql of queries) {
      const { samples } = await open().read(loadQuery(['web-0'], { promql }), never);
      expect(samples, 'there are no such series here').to.deep.equal([]);
    }
  });
});
