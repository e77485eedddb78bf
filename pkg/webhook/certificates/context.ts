// What the TLS context of the admission server is made of, so that a pair can be tried before it is used.
import type { SecureContextOptions } from 'node:tls';
import type { Pem } from './types.ts';

/** Those of Mozilla's intermediate profile: forward secrecy, and no CBC, which Node's defaults still offer in TLS 1.2. */
const CIPHERS = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':');

export const contextOptions = ({ cert, key }: Pem): SecureContextOptions => ({
  cert,
  key,
  minVersion: 'TLSv1.2',
  ciphers: CIPHERS,
  // Clients show no certificate: without this, Node parses all public authorities of the world for each context.
  ca: [],
});
