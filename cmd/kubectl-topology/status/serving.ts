// How long the serving certificate of a webhook is valid: by its metrics, which hold no secret, else by its Secret.
import type { KubernetesObject } from '../../../pkg/apis/meta.ts';
import { COMMANDS } from '../../../pkg/apis/names.ts';
import { SECRETS } from '../../../pkg/apis/resources.ts';
import type {
  CertificateFacts,
  RegistrationEntry,
  ServingCertificate,
} from '../../../pkg/diagnosis/status/evidence.ts';
import { servicesBehind } from '../../../pkg/diagnosis/status/webhooks.ts';
import { ApiError, ConnectionError, isForbidden } from '../../../pkg/kubernetes/errors.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { secretNames } from '../../../pkg/webhook/certificates/secrets.ts';
import { certificateIn } from '../input/certificates.ts';

/** In a few words. Throws what is neither the server's nor the connection's, and everything once the signal has aborted. */
export const whyNoAnswer = (error: unknown, signal: AbortSignal): string => {
  if (signal.aborted) throw error;
  if (isForbidden(error)) return 'not allowed';
  if (error instanceof ApiError) return `${error.status} ${error.reason}`;
  if (error instanceof ConnectionError || (error instanceof Error && error.name === 'TimeoutError')) return 'no answer';
  throw error;
};

/** A Pod that does not answer the API server's proxy is not worth more. */
const PATIENCE_MS = 5_000;
const SECOND_MS = 1_000;

const METRIC = /^\w*serving_certificate_expiration_timestamp_seconds(?:\{[^}\n]*\})? (\d[\d.e+]*)$/m;

type Ref = { readonly namespace: string; readonly name: string };

const fromMetrics = async (
  client: Client,
  { namespace, name }: Ref,
  signal: AbortSignal,
): Promise<CertificateFacts | undefined> => {
  const path = `/api/v1/namespaces/${namespace}/services/http:${name}:metrics/proxy/metrics`;
  const text = await client.text(path, AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]));
  const seconds = Number(METRIC.exec(text)?.[1] ?? Number.NaN);
  return seconds > 0 ? { notAfter: Math.round(seconds * SECOND_MS), fingerprint: '' } : undefined;
};

/** Takes the certificate out of the answer; nothing else of it is looked at or kept. */
const fromSecret = async (client: Client, ref: Ref, signal: AbortSignal): Promise<CertificateFacts | undefined> => {
  const { data } = await client.get<KubernetesObject & { data?: { 'tls.crt'?: string } }>(SECRETS, ref, signal);
  return certificateIn(Buffer.from(data?.['tls.crt'] ?? '', 'base64').toString('latin1'));
};

const servingCertificate = async (client: Client, service: Ref, signal: AbortSignal): Promise<ServingCertificate> => {
  const { namespace } = service;
  const secret = { namespace, name: secretNames(COMMANDS.endpointSliceWebhook).server };
  const ways = [
    ['the metrics of a Pod', 'get services/proxy', () => fromMetrics(client, service, signal)],
    [`Secret ${secret.name}`, 'get secrets', () => fromSecret(client, secret, signal)],
  ] as const;
  const failed: string[] = [];
  for (const [from, right, look] of ways) {
    try {
      const certificate = await look();
      if (certificate !== undefined) return { namespace, certificate, from, why: '' };
      failed.push(`${from}: no certificate there`);
    } catch (error) {
      failed.push(`${from} (${right}): ${whyNoAnswer(error, signal)}`);
    }
  }
  return { namespace, from: '', why: failed.join('; ') };
};

/** One for each Service that answers as a webhook. */
export const servingCertificates = async (
  client: Client,
  registrations: readonly RegistrationEntry[],
  signal: AbortSignal,
): Promise<ServingCertificate[]> => {
  const found: ServingCertificate[] = [];
  for (const service of servicesBehind(registrations)) found.push(await servingCertificate(client, service, signal));
  return found;
};
