// How the metrics are served where others can reach them: a certificate of this process, and readers that show a token.
import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { METER_AUDIENCE, METER_TOKEN_HEADER, TRAFFIC_METER } from '../../pkg/apis/names.ts';
import { createTokenAccess } from '../../pkg/kubernetes/token-access.ts';
import type { Access } from '../../pkg/kubernetes/token-access.ts';
import type { Client, Clock } from '../../pkg/kubernetes/types.ts';
import { plainText } from '../../pkg/telemetry/http.ts';
import type { Answer, SecureServing } from '../../pkg/telemetry/http.ts';
import { contextOptions } from '../../pkg/webhook/certificates/context.ts';
import { issueAuthority, issueServerCertificate } from '../../pkg/webhook/certificates/issue.ts';
import { readPair } from '../../pkg/webhook/certificates/pair.ts';

/** No reader checks it (docs/adr/0021-reading-meters.md); it ends with the process. */
const LIFETIME_MS = 10 * 365 * 24 * 3_600_000;

const issue = (nodeName: string, clock: Clock) => {
  const common = { commonName: TRAFFIC_METER, now: clock.now(), lifetimeMs: LIFETIME_MS, randomBytes };
  const origin = { cert: 'own authority', key: 'own key' };
  const authority = readPair(issueAuthority(common), origin);
  return issueServerCertificate({ ...common, authority, names: [nodeName, 'localhost'] });
};

/** The token that a request shows; empty without one. */
export const tokenOf = (headers: IncomingHttpHeaders): string => {
  const own = headers[METER_TOKEN_HEADER];
  if (typeof own === 'string') return own.trim();
  return /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1] ?? '';
};

const REFUSALS: Readonly<Record<Exclude<Access, 'allowed'>, Answer>> = {
  unauthenticated: plainText(
    401,
    `no valid token: in Authorization, or in ${METER_TOKEN_HEADER} behind the API server\n`,
  ),
  forbidden: plainText(403, 'the owner of this token may not get the path /metrics\n'),
  busy: plainText(429, 'too many unknown tokens at once; try again\n'),
  unavailable: plainText(503, 'the API server does not say whose token this is; try again\n'),
};

export const secureServing = (client: Pick<Client, 'create'>, nodeName: string, clock: Clock): SecureServing => {
  const access = createTokenAccess({ client, clock, audience: METER_AUDIENCE, path: '/metrics' });
  return {
    context: contextOptions(issue(nodeName, clock)),
    async admit({ headers, socket }) {
      const outcome = await access(tokenOf(headers), socket.remoteAddress ?? '');
      return outcome === 'allowed' ? undefined : REFUSALS[outcome];
    },
  };
};
