// The HTTPS server of a metrics API: what metrics-server serves of metrics.k8s.io/v1beta1, to the aggregator only.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { TLSSocket } from 'node:tls';
import { parseLabelSelector } from '../../sandbox/selectors.ts';
import type { KeyPair } from '../bed/access.ts';
import { DISCOVERY, podMetricsListOf, singlePodMetricsOf, statusOf } from './index.ts';
import type { PodReading } from './index.ts';

/** A request for metrics, as the aggregator passed it on. */
export interface MetricsRequest {
  /** Path with query. */
  readonly url: string;
  /** Who asks, as the API server authenticated it. */
  readonly user: string;
}

/** Something else than a good answer. */
export type MetricsFault =
  /** A Status with this code. */
  | { readonly kind: 'status'; readonly code: number }
  /** No answer, until the fault is over. */
  | { readonly kind: 'silence' }
  /** This text with code 200. */
  | { readonly kind: 'text'; readonly text: string };

export interface MetricsServerOptions {
  readonly address: string;
  readonly port: number;
  readonly serving: KeyPair;
  /** Certificate of the authority whose clients are believed when they say who asks. */
  readonly frontProxyAuthority: string;
  /** Asked anew for every request, with its namespace. */
  readonly readings: (namespace?: string) => Iterable<PodReading>;
}

export interface MetricsServer {
  /** Requests for metrics, the oldest first; those for discovery are left out. */
  readonly requests: readonly MetricsRequest[];
  /** What the next requests for metrics meet; undefined: a good answer. */
  fault: MetricsFault | undefined;
  stop(): Promise<void>;
}

const ROOT = '/apis/metrics.k8s.io/v1beta1';
const PODS = new RegExp(`^${ROOT}(?:/namespaces/([^/]+))?/pods(?:/([^/]+))?$`, 'u');

interface Answer {
  readonly code: number;
  readonly body: object;
}

const failure = (code: number, reason: string, message: string): Answer => ({
  code,
  body: statusOf(code, reason, message),
});

const listOrGet = (readings: Iterable<PodReading>, path: RegExpExecArray, query: URLSearchParams): Answer => {
  const [, namespace, name] = path;
  const matches = parseLabelSelector(query.get('labelSelector') ?? undefined);
  const here = [...readings].filter((reading) => namespace === undefined || reading.namespace === namespace);
  if (name === undefined)
    return { code: 200, body: podMetricsListOf(here.filter(({ labels }) => matches(labels ?? {}))) };
  const found = here.find(({ pod }) => pod === name);
  if (found !== undefined) return { code: 200, body: singlePodMetricsOf(found) };
  return failure(404, 'NotFound', `podmetrics.metrics.k8s.io "${namespace}/${name}" not found`);
};

const send = (response: ServerResponse, { code, body }: Answer): void => {
  response.writeHead(code, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
};

const userOf = ({ headers }: IncomingMessage): string => String(headers['x-remote-user'] ?? '');

/** Starts to listen. */
export const startMetricsServer = async (options: MetricsServerOptions): Promise<MetricsServer> => {
  const requests: MetricsRequest[] = [];
  let fault: MetricsFault | undefined;

  const answerTo = (url: URL): Answer => {
    if (url.pathname === ROOT) return { code: 200, body: DISCOVERY };
    const path = PODS.exec(url.pathname);
    if (path === null) return failure(404, 'NotFound', 'the server could not find the requested resource');
    return listOrGet(options.readings(path[1]), path, url.searchParams);
  };
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    if (!(request.socket as TLSSocket).authorized) {
      send(response, failure(401, 'Unauthorized', 'only the aggregator may ask'));
      return;
    }
    const url = new URL(request.url ?? '/', 'https://metrics');
    if (PODS.test(url.pathname)) {
      requests.push({ url: request.url ?? '', user: userOf(request) });
      if (fault?.kind === 'silence') return;
      if (fault?.kind === 'status') return send(response, failure(fault.code, '', 'the test wants it so'));
      if (fault?.kind === 'text') {
        response.writeHead(200, { 'content-type': 'application/json' }).end(fault.text);
        return;
      }
    }
    send(response, answerTo(url));
  };

  const server = createServer(
    {
      cert: readFileSync(options.serving.certificate),
      key: readFileSync(options.serving.key),
      ca: readFileSync(options.frontProxyAuthority),
      requestCert: true,
      // Refused with an answer that says why, not with a broken connection.
      rejectUnauthorized: false,
    },
    handle,
  );
  server.listen(options.port, options.address);
  await once(server, 'listening');
  return {
    requests,
    get fault() {
      return fault;
    },
    set fault(next) {
      fault = next;
    },
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
};
