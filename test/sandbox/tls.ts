// A throw-away certificate authority and the server's certificate for 127.0.0.1.
import { randomBytes } from 'node:crypto';
import { issueAuthority, issueServerCertificate } from '../../pkg/webhook/certificates/issue.ts';
import { readPair } from '../../pkg/webhook/certificates/pair.ts';
import type { ServerCertificate } from './server.ts';

export interface SandboxCertificates extends ServerCertificate {
  readonly caBundle: string;
}

const LIFETIME_MS = 7 * 24 * 3_600_000;
const NAMES = ['127.0.0.1', 'localhost', 'kubernetes', 'kubernetes.default', 'kubernetes.default.svc'];

export const createCertificates = (now: number): SandboxCertificates => {
  const options = { now, lifetimeMs: LIFETIME_MS, randomBytes };
  const pem = issueAuthority({ ...options, commonName: 'sandbox-ca' });
  const authority = readPair(pem, { cert: 'the certificate authority', key: 'its key' });
  const { cert, key } = issueServerCertificate({ ...options, authority, commonName: 'kube-apiserver', names: NAMES });
  return { cert, key, caBundle: pem.cert };
};
