// What is asked of meters and of a Prometheus for measured traffic, and what becomes of the answers.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { KubernetesObject } from '../../../pkg/apis/meta.ts';
import { METER_NAMESPACE } from '../../../pkg/apis/names.ts';
import type { Resource } from '../../../pkg/apis/resources.ts';
import { ApiError } from '../../../pkg/kubernetes/errors.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { createMeterReader, METER_SELECTOR, readPrometheusTraffic } from '../../../pkg/metrics/measured-traffic.ts';
import { meterPod } from '../../fixtures/measured.ts';

const never = new AbortController().signal;

type Element = readonly [labels: Readonly<Record<string, string>>, value: number];

const vector = (elements: readonly Element[]): string =>
  JSON.stringify({
    status: 'success',
    data: { resultType: 'vector', result: elements.map(([metric, value]) => ({ metric, value: [1, String(value)] })) },
  });

/** A Prometheus that has these series; a query is answered by the first metric that it names. */
const prometheus = (series: Readonly<Record<string, readonly Element[]>>) => {
  const asked: string[] = [];
  const send = (promql: string): Promise<string> => {
    asked.push(promql);
    const name = Object.keys(series).find((metric) => promql.includes(metric));
    return Promise.resolve(vector(name === undefined ? [] : (series[name] ?? [])));
  };
  return { asked, send };
};

describe('measured traffic from Prometheus', () => {
  it('traffic-meter: by Service, direction and pair of zones, connections beside bytes', async () => {
    const labels = { service_namespace: 'shop', service_name: 'web', source_zone: 'a', destination_zone: 'b' };
    const { send, asked } = prometheus({
      topology_traffic_bytes_total: [
        [{ ...labels, direction: 'request' }, 10],
        [{ ...labels, direction: 'response' }, 20],
        [{ source_zone: 'a', destination_zone: 'external', direction: 'request' }, 5],
      ],
      topology_traffic_connections_total: [[labels, 2]],
      topology_traffic_direct_connections_total: [[labels, 0.5]],
      topology_traffic_direct_visible: [[{}, 3]],
      topology_traffic_counting_seconds: [[{}, 900]],
    });
    expect(await readPrometheusTraffic(send, 3600, never)).to.deep.equal({
      by: 'traffic-meter (topology_traffic_bytes_total in Prometheus)',
      seconds: 3600,
      flows: [
        { service: '', source: 'a', destination: 'external', connections: 0, requestBytes: 5, responseBytes: 0 },
        { service: 'shop/web', source: 'a', destination: 'b', connections: 2, requestBytes: 10, responseBytes: 20 },
      ],
      direct: {
        nodes: 3,
        seconds: 900,
        flows: [{ service: 'shop/web', source: 'a', destination: 'b', connections: 0.5 }],
      },
      notes: [],
    });
    expect(asked).to.include(
      'sum by (service_namespace, service_name, source_zone, destination_zone, direction) (rate(topology_traffic_bytes_total[3600s]))',
    );
  });
});

describe("measured traffic from the meters' Pods", () => {
  const page = 'topology_traffic_counting_seconds 10\ntopology_traffic_state{state="Measuring"} 1\n';
  const http = { annotations: { 'prometheus.io/scheme': 'http' } };
  const pod = (node: string, more: object = {}): KubernetesObject => {
    const { metadata, ...rest } = meterPod(node);
    return { ...rest, metadata: { ...metadata, ...more } };
  };

  const cluster = (pods: readonly KubernetesObject[], text: (path: string) => Promise<string>) => {
    const selections: unknown[] = [];
    const asked: (readonly [path: string, headers: unknown])[] = [];
    const tokens: unknown[] = [];
    let now = 0;
    const client = {
      async *pages(_resource: unknown, options: unknown) {
        selections.push(options);
        yield await Promise.resolve({ items: pods, metadata: {} });
      },
      text(path: string, _signal: unknown, headers: unknown) {
        asked.push([path, headers]);
        return text(path);
      },
      create(resource: Resource, object: unknown) {
        tokens.push([resource.plural, object]);
        return Promise.resolve({ status: { token: `token ${tokens.length}` } });
      },
    } as unknown as Pick<Client, 'pages' | 'text' | 'create'>;
    const reader = createMeterReader({ client, namespace: METER_NAMESPACE, now: () => now });
    return { reader, selections, asked, tokens, wait: (ms: number) => (now += ms) };
  };

  it('go through the API server, by TLS and with a token for meters alone unless the Pod says that its port is plain', async () => {
    const { reader, asked, selections, tokens } = cluster([pod('n1'), pod('n2', http)], () => Promise.resolve(page));
    const { readings, notes } = await reader.read(never);
    const prefix = '/api/v1/namespaces/topology-traffic-meter/pods';
    expect(asked).to.deep.equal([
      [`${prefix}/https:traffic-meter-n1:9518/proxy/metrics`, { 'x-topology-token': 'token 1' }],
      [`${prefix}/http:traffic-meter-n2:9518/proxy/metrics`, {}],
    ]);
    expect(selections).to.deep.equal([{ namespace: METER_NAMESPACE, labelSelector: METER_SELECTOR }]);
    expect(tokens).to.deep.equal([
      [
        'serviceaccounts/traffic-reader/token',
        {
          apiVersion: 'authentication.k8s.io/v1',
          kind: 'TokenRequest',
          metadata: { namespace: METER_NAMESPACE },
          spec: { audiences: ['topology-traffic-meter'], expirationSeconds: 3600 },
        },
      ],
    ]);
    expect(readings.map(({ node, seconds }) => `${node}: ${seconds}`)).to.deep.equal(['n1: 10', 'n2: 10']);
    expect(notes).to.deep.equal([]);
  });

  it('those that do not answer are named with the reason, and the others count', async () => {
    const { reader } = cluster([pod('n1'), pod('n2'), pod('n3'), pod('n4')], (path) => {
      if (path.includes('n1')) return Promise.resolve(page);
      if (path.includes('n2')) return Promise.resolve('');
      return Promise.reject(new ApiError({ status: 403, method: 'GET', path, reason: 'Forbidden' }));
    });
    const { readings, notes } = await reader.read(never);
    expect(readings.map(({ node }) => node)).to.deep.equal(['n1']);
    expect(notes[0]).to.equal('1 of 4 meters was not read, first that of n2: it has not started counting');
    expect(notes[1]).to.match(/^2 of 4 meters were not read, first that of n3: GET its metrics.*403/);
  });
});
