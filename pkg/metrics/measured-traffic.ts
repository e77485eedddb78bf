// Where measured traffic is read: from the meters' Pods through the API server, or from a Prometheus that scrapes them.
import { defined, errorText } from '../apis/values.ts';
import { METER_AUDIENCE, METER_READER, METER_TOKEN_HEADER, TRAFFIC_METER } from '../apis/names.ts';
import type { KubernetesObject } from '../apis/meta.ts';
import { PODS, tokenOf } from '../apis/resources.ts';
import { listAll } from '../kubernetes/request.ts';
import type { Client } from '../kubernetes/types.ts';
import { type Measured, type MeasuredFlow, addUp, directFlows } from '../traffic/measured.ts';
import { METER_METRICS, type MeterReading, readMeter } from '../traffic/meter-reading.ts';
import { ZONE_UNKNOWN } from '../traffic/conntrack.ts';
import { createGate } from './shared-reads.ts';
import { type LabelText, readVector } from './prometheus-answer.ts';
import { LoadError } from './types.ts';

/** By which the meters' Pods are known. */
export const METER_SELECTOR = `app.kubernetes.io/component=${TRAFFIC_METER}`;

/** Its port, as the Pod names it. */
const PORT_NAME = 'metrics';

interface MeterPod extends KubernetesObject {
  readonly spec?: {
    readonly nodeName?: string;
    readonly containers?: readonly {
      readonly ports?: readonly { readonly name?: string; readonly containerPort: number }[];
    }[];
  };
}

const wayTo = ({ metadata = {}, spec }: MeterPod) => {
  const port = spec?.containers?.flatMap(({ ports = [] }) => ports).find(({ name }) => name === PORT_NAME);
  if (port === undefined) return undefined;
  // The same word as scrapers read it.
  const secured = metadata.annotations?.['prometheus.io/scheme'] !== 'http';
  const { namespace = '', name = '' } = metadata;
  const pod = `${secured ? 'https' : 'http'}:${name}:${port.containerPort}`;
  return { path: `/api/v1/namespaces/${namespace}/pods/${pod}/proxy/metrics`, secured };
};

const nodeOf = ({ metadata, spec }: MeterPod): string => spec?.nodeName ?? metadata?.name ?? '';

interface TokenRequest extends KubernetesObject {
  readonly spec: { readonly audiences: readonly string[]; readonly expirationSeconds: number };
  readonly status?: { readonly token?: string };
}

const TOKEN_SECONDS = 3_600;
/** Long before it ends. */
const TOKEN_USED_MS = (TOKEN_SECONDS / 2) * 1_000;

/** Meters at the same time. */
const WIDTH = 8;
/** Most reasons that are passed on: of a thousand Nodes without an answer the first few say why. */
const MAX_REASONS = 3;

/** The token goes to the server that answers on a Node's port; it is good for meters and for nothing else (ADR 0021). */
export const createMeterReader = (options: {
  readonly client: Pick<Client, 'pages' | 'text' | 'create'>;
  readonly namespace: string;
  /** Of more meters none is read. */
  readonly most?: number;
  /** Milliseconds. */
  now(): number;
}) => {
  const { client, namespace, most = Infinity, now } = options;
  let token: { readonly text: string; readonly at: number } | undefined;

  const freshToken = async (signal: AbortSignal): Promise<string> => {
    if (token !== undefined && now() - token.at < TOKEN_USED_MS) return token.text;
    const request: TokenRequest = {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      metadata: { namespace },
      spec: { audiences: [METER_AUDIENCE], expirationSeconds: TOKEN_SECONDS },
    };
    const { status } = await client.create(tokenOf(METER_READER), request, {}, signal);
    token = { text: status?.token ?? '', at: now() };
    return token.text;
  };

  const podsOf = async (signal: AbortSignal): Promise<MeterPod[]> => {
    const pods = await listAll<MeterPod>(client, PODS, { namespace, labelSelector: METER_SELECTOR }, signal);
    const many = `${pods.length} meters are too many to read one by one (at most ${most}): give the source the url of a Prometheus`;
    if (pods.length > most) throw new LoadError('BadQuery', many);
    if (pods.length > 0) return pods;
    throw new LoadError('NotInstalled', `no Pod of namespace ${namespace} is a ${TRAFFIC_METER} (${METER_SELECTOR})`);
  };

  /** A reading, or why there is none. */
  const readOne = async (pod: MeterPod, bearer: string, signal: AbortSignal): Promise<MeterReading | string> => {
    const way = wayTo(pod);
    if (way === undefined) return `its Pod has no port "${PORT_NAME}"`;
    try {
      const text = await client.text(way.path, signal, way.secured ? { [METER_TOKEN_HEADER]: bearer } : {});
      return readMeter(nodeOf(pod), text) ?? 'it has not started counting';
    } catch (error) {
      signal.throwIfAborted();
      return errorText(error).replaceAll(way.path, 'its metrics');
    }
  };

  return {
    /**
     * Reads every meter of the namespace once, through the API server's proxy to Pods.
     *
     * Rejects with a LoadError `NotInstalled` where there is none, as the client does where Pods may not be listed, and with the
     * signal's reason. Meters that do not answer are named in the notes.
     */
    async read(signal: AbortSignal) {
      const pods = await podsOf(signal);
      const text = pods.some((pod) => wayTo(pod)?.secured === true) ? await freshToken(signal) : '';
      const gate = createGate(WIDTH);
      const answers = await Promise.all(
        pods.map(async (pod) => ({
          node: nodeOf(pod),
          answer: await gate.run(() => readOne(pod, text, signal), signal),
        })),
      );
      const failed = Map.groupBy(
        answers.flatMap(({ node, answer }) => (typeof answer === 'string' ? [{ node, why: answer }] : [])),
        ({ why }) => why,
      );
      const notes = [...failed]
        .slice(0, MAX_REASONS)
        .map(
          ([why, all]) =>
            `${all.length} of ${pods.length} meters ${all.length === 1 ? 'was' : 'were'} not read, first that of ${all[0]?.node ?? ''}: ${why}`,
        );
      return { readings: answers.flatMap(({ answer }) => (typeof answer === 'string' ? [] : [answer])), notes };
    },
  };
};

/** Sends an instant query; resolves with the body of the answer. */
export type SendQuery = (promql: string, signal: AbortSignal) => Promise<string>;

/** Names of metrics and labels as the traffic-meter has them; recording rules can give other measurements these names. */
const { bytes: BYTES, connections: CONNECTIONS, direct: DIRECT } = METER_METRICS;
type Rates = Pick<MeasuredFlow, 'connections' | 'requestBytes' | 'responseBytes'>;
const NOTHING: Rates = { connections: 0, requestBytes: 0, responseBytes: 0 };
const LABELS = ['service_namespace', 'service_name', 'source_zone', 'destination_zone'];

/**
 * Asks a Prometheus for averages by Service, zone of the clients and zone of the endpoints.
 *
 * Rejects with a LoadError: `NotInstalled` where it has none.
 */
export const readPrometheusTraffic = async (
  send: SendQuery,
  seconds: number,
  signal: AbortSignal,
): Promise<Measured> => {
  const read = async (metric: string, more: readonly string[], rowOf: (label: LabelText, value: number) => Rates) => {
    const body = await send(`sum by (${[...LABELS, ...more].join(', ')}) (rate(${metric}[${seconds}s]))`, signal);
    return readVector(body, (label, value): MeasuredFlow => {
      const [namespace, name = ''] = [label('service_namespace'), label('service_name')];
      return {
        service: namespace === undefined ? name : `${namespace}/${name}`,
        source: label('source_zone') ?? ZONE_UNKNOWN,
        destination: label('destination_zone') ?? ZONE_UNKNOWN,
        ...rowOf(label, value),
      };
    });
  };
  const numberAt = async (query: string) => readVector(await send(query, signal), (_label, value) => value).rows[0];
  const [bytes, connections, direct, nodes, counting] = await Promise.all([
    read(BYTES, ['direction'], (label, value) => {
      const direction = label('direction') === 'response' ? 'responseBytes' : 'requestBytes';
      return { ...NOTHING, [direction]: value };
    }),
    read(CONNECTIONS, [], (_label, value) => ({ ...NOTHING, connections: value })),
    read(DIRECT, [], (_label, value) => ({ ...NOTHING, connections: value })),
    // The least in the window: a Node that lost its view on the way did not see all.
    numberAt(`sum(min_over_time(${METER_METRICS.directVisible}[${seconds}s]))`),
    numberAt(`min(${METER_METRICS.seconds})`),
  ]);
  if (bytes.rows.length === 0)
    throw new LoadError('NotInstalled', `Prometheus has no rate of ${BYTES} over the last ${seconds} s`);
  const flows = addUp([...bytes.rows, ...connections.rows]);
  return {
    by: `traffic-meter (${BYTES} in Prometheus)`,
    seconds,
    flows: connections.rows.length === 0 ? flows.map((flow) => ({ ...flow, connections: null })) : flows,
    ...defined({
      direct:
        nodes === undefined
          ? undefined
          : { flows: directFlows(direct.rows), nodes, seconds: Math.min(seconds, counting ?? seconds) },
    }),
    notes: [...bytes.problems, ...connections.problems],
  };
};
