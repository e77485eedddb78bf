// The registration of a webhook: entries, who answers, and how long its certificates are valid.
import { LABEL_SERVICE_NAME } from '../../apis/names.ts';

import { isEndpointReady } from '../../apis/readings.ts';
import type { ClusterSnapshot } from '../snapshot.ts';
import type { CertificateFacts, RegistrationEntry, StatusEvidence } from './evidence.ts';
import type { CertificateStatus, WebhookStatus } from './types.ts';

const DAY_MS = 86_400_000;

export const certificateStatus = ({ notAfter, fingerprint }: CertificateFacts, now: number): CertificateStatus => ({
  notAfter: new Date(notAfter).toISOString(),
  daysLeft: Math.floor((notAfter - now) / DAY_MS),
  fingerprint,
});

/** Addresses may be listed in a slice each; a Pod counts once. */
const readyEndpoints = ({ slices }: ClusterSnapshot, service: NonNullable<WebhookStatus['service']>): number | null => {
  if (slices.kind === 'unknown') return null;
  const addresses = slices.items
    .filter(
      ({ metadata }) =>
        metadata?.namespace === service.namespace && metadata.labels?.[LABEL_SERVICE_NAME] === service.name,
    )
    .flatMap(({ endpoints }) => endpoints ?? [])
    .filter(isEndpointReady)
    .map(({ addresses: own, targetRef }) => targetRef?.name ?? own.join());
  return new Set(addresses).size;
};

/** Of all entries the authority that ends first; null where one entry has none. */
const authorityOf = (entries: readonly RegistrationEntry[], evidence: StatusEvidence): CertificateStatus | null => {
  const found = entries.map(({ caBundle = '' }) => evidence.authorities.get(caBundle));
  const ends = found.flatMap((authority) => authority ?? []).sort((a, b) => a.notAfter - b.notAfter);
  const [first] = ends;
  return first === undefined || ends.length < found.length ? null : certificateStatus(first, evidence.now);
};

const servingOf = (service: WebhookStatus['service'], evidence: StatusEvidence): WebhookStatus['serving'] => {
  if (service === null) return { why: 'the webhook is registered by URL' };
  const seen = evidence.serving.find(({ namespace }) => namespace === service.namespace);
  if (seen?.certificate === undefined) return { why: seen?.why ?? 'it was not looked for' };
  return { ...certificateStatus(seen.certificate, evidence.now), from: seen.from };
};

/** Entries of one configuration that are answered by the same Service. */
const webhookStatus = (entries: readonly RegistrationEntry[], evidence: StatusEvidence): WebhookStatus => {
  const [first] = entries;
  const service = first?.service ?? null;
  return {
    configuration: first?.configuration ?? '',
    entries: entries.map(({ name, failurePolicy, timeoutSeconds }) => ({ name, failurePolicy, timeoutSeconds })),
    service,
    readyEndpoints: service === null ? null : readyEndpoints(evidence.snapshot, service),
    authority: authorityOf(entries, evidence),
    serving: servingOf(service, evidence),
  };
};

/** One for each configuration and Service. */
export const webhookStatuses = (evidence: StatusEvidence): WebhookStatus[] => {
  const groups = Map.groupBy(evidence.registrations, ({ configuration, service }) =>
    [configuration, service?.namespace, service?.name].join('\n'),
  );
  return [...groups.values()].map((entries) => webhookStatus(entries, evidence));
};

/** Services that answer as webhooks. */
export const servicesBehind = (
  registrations: readonly RegistrationEntry[],
): NonNullable<WebhookStatus['service']>[] => [
  ...new Map(
    registrations.flatMap(({ service }) =>
      service === undefined ? [] : [[`${service.namespace}/${service.name}`, service] as const],
    ),
  ).values(),
];
