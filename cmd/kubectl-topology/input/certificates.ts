// Reads how long the authorities of webhooks are valid.
import { X509Certificate } from 'node:crypto';
import { itemsOf, known } from '../../../pkg/diagnosis/snapshot.ts';
import type { ClusterSnapshot, WebhookSummary } from '../../../pkg/diagnosis/snapshot.ts';
import type { CertificateFacts, RegistrationEntry } from '../../../pkg/diagnosis/status/evidence.ts';

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** What a snapshot has in place of a caBundle. */
const SHORTENED = /^sha256 ([\dA-F:]*) valid until (\S+)$/;

export const shortened = ({ fingerprint, notAfter }: CertificateFacts): string =>
  `sha256 ${fingerprint} valid until ${new Date(notAfter).toISOString()}`;

const factsOf = (pem: string): CertificateFacts[] => {
  try {
    const certificate = new X509Certificate(pem);
    return [{ notAfter: Date.parse(certificate.validTo), fingerprint: certificate.fingerprint256 }];
  } catch {
    return [];
  }
};

/** The certificate of PEM text that is valid longest; undefined if there is none. */
export const certificateIn = (pem: string): CertificateFacts | undefined =>
  (pem.match(CERTIFICATE) ?? []).flatMap(factsOf).sort((a, b) => b.notAfter - a.notAfter)[0];

/** The same of a caBundle: base64 of PEM, or shortened. */
export const authorityIn = (caBundle: string): CertificateFacts | undefined => {
  const [, fingerprint, until] = SHORTENED.exec(caBundle) ?? [];
  if (fingerprint === undefined || until === undefined) {
    return certificateIn(Buffer.from(caBundle, 'base64').toString('latin1'));
  }
  const notAfter = Date.parse(until);
  return Number.isNaN(notAfter) ? undefined : { notAfter, fingerprint };
};

/** Latest end of validity among the certificates of a bundle, milliseconds since the epoch; undefined if there is none. */
export const notAfterOf = (caBundle: string): number | undefined => authorityIn(caBundle)?.notAfter;

const withValidity = (webhook: WebhookSummary): WebhookSummary => {
  const caNotAfter = webhook.caBundle === undefined ? undefined : notAfterOf(webhook.caBundle);
  return caNotAfter === undefined ? webhook : { ...webhook, caNotAfter };
};

export const withCertificates = (snapshot: ClusterSnapshot): ClusterSnapshot =>
  snapshot.webhooks.kind === 'unknown'
    ? snapshot
    : { ...snapshot, webhooks: known(itemsOf(snapshot.webhooks).map(withValidity)) };

/** By caBundle, those that hold a certificate. */
export const authoritiesOf = (registrations: readonly RegistrationEntry[]): Map<string, CertificateFacts> => {
  const authorities = new Map<string, CertificateFacts>();
  for (const caBundle of new Set(registrations.flatMap((entry) => entry.caBundle ?? []))) {
    const facts = authorityIn(caBundle);
    if (facts !== undefined) authorities.set(caBundle, facts);
  }
  return authorities;
};
