// The serving certificate of all servers under load: ECDSA P-256, as the webhook's own authority issues it.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createCertificates } from '../../sandbox/tls.ts';

/** Writes tls.crt and tls.key into `directory` and returns the PEM of the authority that clients trust. */
export const writeCertificate = (directory: string): string => {
  const { cert, key, caBundle } = createCertificates(Date.now());
  writeFileSync(join(directory, 'tls.crt'), cert);
  writeFileSync(join(directory, 'tls.key'), key, { mode: 0o600 });
  return caBundle;
};
