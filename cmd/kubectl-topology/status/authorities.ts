// SPDX-License-Identifier: Apache-2.0
// The certificates in the caBundles of registrations.
import type { CertificateFacts, RegistrationEntry } from '../../../pkg/diagnosis/status/evidence.ts';
import { authorityIn } from '../input/certificates.ts';

/** By caBundle, those that hold a certificate. */
export const authoritiesOf = (registrations: readonly RegistrationEntry[]): Map<string, CertificateFacts> => {
  const authorities = new Map<string, CertificateFacts>();
  for (const caBundle of new Set(registrations.flatMap((entry) => entry.caBundle ?? []))) {
    const facts = authorityIn(caBundle);
    if (facts !== undefined) authorities.set(caBundle, facts);
  }
  return authorities;
};
