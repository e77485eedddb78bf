// Tries admission with a slice that is created as a dry run: what comes back has hints if the webhook acts. Nothing is stored.
import type { EndpointSlice } from '../../../pkg/apis/core.ts';
import { LABEL_SERVICE_NAME, LABEL_STRATEGY } from '../../../pkg/apis/names.ts';
import { ENDPOINT_SLICES } from '../../../pkg/apis/resources.ts';
import { probedNamespace } from '../../../pkg/diagnosis/status/probe-plan.ts';
import type { ProbeResult, StatusObjects } from '../../../pkg/diagnosis/status/evidence.ts';
import { ApiError, ConnectionError } from '../../../pkg/kubernetes/errors.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';

export interface ProbeOptions {
  readonly client: Pick<Client, 'create'>;
  readonly objects: StatusObjects;
  readonly now: () => number;
  readonly signal: AbortSignal;
}

const NAME = 'topology-status-probe';
const ZONE = 'probe-zone';

/** Ready, with a zone and without hints; the address is one for documentation. */
const sliceFor = (namespace: string): EndpointSlice => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: {
    name: NAME,
    namespace,
    labels: { [LABEL_SERVICE_NAME]: NAME, [LABEL_STRATEGY]: 'same-zone' },
  },
  addressType: 'IPv4',
  ports: [],
  endpoints: [{ addresses: ['192.0.2.1'], zone: ZONE, conditions: { ready: true } }],
});

const isHinted = ({ endpoints }: EndpointSlice): boolean =>
  endpoints?.[0]?.hints?.forZones?.some(({ name }) => name === ZONE) ?? false;

/** A webhook that fails, as API servers word it, under `failurePolicy: Fail`. */
const isRefusal = ({ status, message }: ApiError): boolean =>
  status === 500 && message.includes('failed calling webhook');

const failureOf = (error: unknown): Pick<ProbeResult, 'outcome' | 'message'> => {
  if (error instanceof ConnectionError) return { outcome: 'Unknown', message: error.message };
  if (!(error instanceof ApiError)) throw error;
  const { message } = error;
  if (isRefusal(error)) return { outcome: 'Refused', message };
  const needed = error.status === 403 ? 'it needs the right to create endpointslices there, even as a dry run: ' : '';
  return { outcome: 'Unknown', message: `${needed}${message}` };
};

const probe = async (namespace: string, { client, now, signal }: ProbeOptions): Promise<ProbeResult> => {
  const before = now();
  try {
    const stored = await client.create(ENDPOINT_SLICES, sliceFor(namespace), { dryRun: true }, signal);
    const milliseconds = now() - before;
    return { namespace, outcome: isHinted(stored) ? 'Hinted' : 'NotHinted', milliseconds, message: '' };
  } catch (error) {
    return { namespace, ...failureOf(error) };
  }
};

/** One result where a webhook is registered, else none. */
export const probeAdmission = async (options: ProbeOptions): Promise<ProbeResult[]> => {
  const namespace = probedNamespace(options.objects);
  if (namespace === undefined) return [];
  return [
    namespace === ''
      ? { namespace, outcome: 'Unknown', message: 'no namespace is known that the webhook serves' }
      : await probe(namespace, options),
  ];
};
