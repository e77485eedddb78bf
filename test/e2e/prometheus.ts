// A real Prometheus in a bed, with a configuration and data of its own, and an exporter whose series a test gives.
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import type { KeyPair } from './bed/access.ts';
import type { Component } from './bed/component.ts';
import type { Bed } from './bed/index.ts';
import { waitFor } from './bed/machine.ts';

/** Where Prometheus finds series. */
interface ScrapeJob {
  readonly name: string;
  /** `host:port`, in the control plane's namespace or on addresses of Pods. */
  readonly targets: readonly string[];
  /** Default `/metrics`. */
  readonly path?: string;
  /** Over TLS, whatever the certificate, with this token. Default: plain HTTP. */
  readonly token?: string;
}

interface PrometheusOptions {
  readonly jobs: readonly ScrapeJob[];
  /** Files with alert rules. Default: none. */
  readonly ruleFiles?: readonly string[];
  /** Port on 127.0.0.1 of the control plane's namespace. Default 9090. */
  readonly port?: number;
  /** Default: plain HTTP. */
  readonly tls?: PrometheusTls;
}

interface PrometheusTls {
  readonly serving: KeyPair;
  /** Certificate of the authority of clients; every client needs a certificate then. Default: none is asked for. */
  readonly clientAuthority?: string;
  /** What this module's own requests use. */
  readonly own?: { readonly authority: string; readonly client?: KeyPair };
}

/** One element of an instant vector. */
interface InstantSample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [number, string];
}

/** A rule as Prometheus sees it. */
interface RuleState {
  readonly type: 'alerting' | 'recording';
  readonly name: string;
  /** `unknown` before its first evaluation. */
  readonly health: 'ok' | 'err' | 'unknown';
  readonly lastError?: string;
  /** Of an alert. */
  readonly state?: 'inactive' | 'pending' | 'firing';
}

export interface Prometheus {
  /** Without a trailing slash. */
  readonly url: string;
  /** For faults. */
  readonly component: Component;
  /** Evaluates an expression now; a vector. */
  query(promql: string): Promise<InstantSample[]>;
  /** Waits until an expression yields at least so many samples. */
  waitForSamples(promql: string, count?: number): Promise<InstantSample[]>;
  /** Every rule of the files that it was given. */
  rules(): Promise<RuleState[]>;
}

/** Program that has to be on PATH; Debian's package has its name. */
const PROGRAM = 'prometheus';

/** JSON is YAML. Labels that targets give, such as `namespace` and `pod`, stay as they are, as with kubelet's cAdvisor. */
const configurationOf = ({ jobs, ruleFiles = [] }: PrometheusOptions): string =>
  JSON.stringify({
    global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
    rule_files: ruleFiles,
    scrape_configs: jobs.map(({ name, targets, path = '/metrics', token }) => ({
      job_name: name,
      honor_labels: true,
      metrics_path: path,
      static_configs: [{ targets }],
      ...(token === undefined
        ? {}
        : { scheme: 'https', tls_config: { insecure_skip_verify: true }, authorization: { credentials: token } }),
    })),
  });

const webConfigurationOf = ({ serving, clientAuthority }: PrometheusTls): string =>
  JSON.stringify({
    tls_server_config: {
      cert_file: serving.certificate,
      key_file: serving.key,
      ...(clientAuthority === undefined
        ? {}
        : { client_auth_type: 'RequireAndVerifyClientCert', client_ca_file: clientAuthority }),
    },
  });

const commandOf = (directory: string, options: PrometheusOptions): [string, ...string[]] => {
  const { port = 9090, tls } = options;
  const file = (name: string, text: string): string => {
    writeFileSync(join(directory, name), text);
    return join(directory, name);
  };
  return [
    PROGRAM,
    `--config.file=${file('prometheus.yml', configurationOf(options))}`,
    `--storage.tsdb.path=${join(directory, 'data')}`,
    '--storage.tsdb.retention.time=1h',
    `--web.listen-address=127.0.0.1:${port}`,
    ...(tls === undefined ? [] : [`--web.config.file=${file('web.yml', webConfigurationOf(tls))}`]),
    '--log.level=warn',
  ];
};

const dispatcherOf = (tls: PrometheusTls | undefined): Agent => {
  const { authority, client } = tls?.own ?? {};
  return new Agent({
    connect: {
      ...(authority === undefined ? {} : { ca: readFileSync(authority) }),
      ...(client === undefined ? {} : { cert: readFileSync(client.certificate), key: readFileSync(client.key) }),
    },
  });
};

/** Starts Prometheus in the control plane's namespace, and returns when it answers: about a second. */
export const startPrometheus = async (bed: Bed, options: PrometheusOptions): Promise<Prometheus> => {
  const { port = 9090, tls } = options;
  const directory = join(bed.directory, `prometheus-${port}`);
  mkdirSync(directory);
  const component = bed.program({ name: `prometheus-${port}`, command: commandOf(directory, options) });
  const url = `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`;
  const dispatcher = dispatcherOf(tls);
  const ask = async (path: string): Promise<unknown> => {
    const { statusCode, body } = await request(`${url}${path}`, { dispatcher });
    const text = await body.text();
    if (statusCode !== 200) throw new Error(`GET ${path}: ${statusCode} ${text.slice(0, 500)}`);
    return path.startsWith('/api') ? (JSON.parse(text) as unknown) : text;
  };
  const query = async (promql: string): Promise<InstantSample[]> => {
    const answer = await ask(`/api/v1/query?${new URLSearchParams({ query: promql }).toString()}`);
    return (answer as { data: { result: InstantSample[] } }).data.result;
  };
  const rules = async (): Promise<RuleState[]> => {
    const answer = await ask('/api/v1/rules');
    return (answer as { data: { groups: { rules: RuleState[] }[] } }).data.groups.flatMap((group) => group.rules);
  };
  component.start();
  await waitFor(
    'Prometheus ready',
    () => ask('/-/ready'),
    () => true,
    { assert: () => component.assertRunning() },
  );
  return {
    url,
    component,
    query,
    rules,
    waitForSamples: (promql, count = 1) =>
      waitFor(
        `${count} samples of ${promql}`,
        () => query(promql),
        ({ length }) => length >= count,
        { assert: () => component.assertRunning(), intervalMs: 200 },
      ),
  };
};

/** One series of an exporter, with its value now. */
export interface Series {
  readonly name: string;
  /** Labels such as `namespace` and `pod`. */
  readonly labels: Readonly<Record<string, string>>;
  /** Of a counter: never less than before. */
  readonly value: number;
  /** When it was measured, seconds since 1970, as cAdvisor says it. Default: left to Prometheus. */
  readonly sampledAt?: number;
}

export interface Exporter {
  /** `host:port` for a scrape job. */
  readonly target: string;
}

const quote = (text: string): string =>
  `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`;

const lineOf = ({ name, labels, value, sampledAt }: Series): string => {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}=${quote(text)}`);
  const time = sampledAt === undefined ? '' : ` ${Math.round(sampledAt * 1_000)}`;
  return `${name}{${pairs.join(',')}} ${value}${time}\n`;
};

/** Serves series on 127.0.0.1 of the namespace that the test runs in; `series` is asked for every scrape. */
export const startExporter = async (series: () => Iterable<Series>): Promise<Exporter> => {
  const server = createServer((_request, response) => {
    // Lines of one metric have to stand together.
    const byName = Map.groupBy(series(), ({ name }) => name);
    response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4' });
    response.end([...byName.values()].flat().map(lineOf).join(''));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { target: `127.0.0.1:${(server.address() as AddressInfo).port}` };
};
