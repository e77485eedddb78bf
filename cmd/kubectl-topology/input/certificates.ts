// SPDX-License-Identifier: Apache-2.0
// Reads how long the authorities of webhooks are valid.
import { X509Certificate } from 'node:crypto';
import { itemsOf, known } from '../../../pkg/diagnosis/snapshot.ts';
import type { ClusterSnapshot, WebhookSummary } from '../../../pkg/diagnosis/snapshot.ts';

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** Latest end of validity among the certificates of a bundle, milliseconds since the epoch; undefined if there is none. */
export const notAfterOf = (caBundle: string): number | undefined => {
  const ends = (Buffer.from(caBundle, 'base64').toString('latin1').match(CERTIFICATE) ?? []).flatMap((pem) => {
    try {
      return [Date.parse(new X509Certificate(pem).validTo)];
    } catch {
      return [];
    }
  });
  return ends.length === 0 ? undefined : Math.max(...ends);
};

const withValidity = (webhook: WebhookSummary): WebhookSummary => {
  const caNotAfter = webhook.caBundle === undefined ? undefined : notAfterOf(webhook.caBundle);
  return caNotAfter === undefined ? webhook : { ...webhook, caNotAfter };
};

export const withCertificates = (snapshot: ClusterSnapshot): ClusterSnapshot =>
  snapshot.webhooks.kind === 'unknown'
    ? snapshot
    : { ...snapshot, webhooks: known(itemsOf(snapshot.webhooks).map(withValidity)) };
