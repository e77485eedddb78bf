// Flags of the traffic-meter.
// How the metrics are served where others can reach them: a certificate of this process, and readers that show a token.
import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { Command } from 'commander';
import { METER_AUDIENCE, METER_TOKEN_HEADER, TRAFFIC_METER } from '../../pkg/apis/names.ts';
import { type Access, createTokenAccess } from '../../pkg/kubernetes/token-access.ts';
import type { Client, Clock } from '../../pkg/kubernetes/types.ts';
import { type Answer, type SecureServing, plainText } from '../../pkg/telemetry/ports.ts';
import { contextOptions, readPair } from '../../pkg/webhook/certificates/pair.ts';
import { issueAuthority, issueServerCertificate } from '../../pkg/webhook/certificates/issue.ts';
import {
  type CommonFlags,
  type ParsedFlags,
  parsePort,
  parseWhole,
  parseWith,
  withLog,
  withPorts,
} from '../shared/flags.ts';

export interface Flags extends CommonFlags {
  nodeName?: string;
  conntrack: string;
  listInterval: number;
  maxSeries: number;
  securePort?: number;
  enableAccounting?: boolean;
}

const EXAMPLES = `
Examples:
  # On a node, as root or with CAP_NET_ADMIN; metrics on 127.0.0.1:8080
  ${TRAFFIC_METER} --node-name "$(hostname)" --kubeconfig /etc/kubernetes/meter.kubeconfig

Bytes need net.netfilter.nf_conntrack_acct=1; without it connections are counted and the metric "state" says AccountingOff.`;

const createCommand = (): Command =>
  withLog(
    withPorts(
      new Command(TRAFFIC_METER)
        .description(
          'Counts bytes and connections between zones, by Service, from the connection tracking of one node.',
        )
        .option('--node-name <name>', 'name of this Node; default: $NODE_NAME')
        .option('--kubeconfig <file>', "how to reach the cluster; default: $KUBECONFIG, then the Pod's ServiceAccount")
        .option('--conntrack <program>', 'conntrack of conntrack-tools 1.4', 'conntrack')
        .option(
          '--list-interval <seconds>',
          'time between two reads of the whole table, which update the bytes of long-lived flows',
          parseWhole(5, 3_600),
          60,
        )
        .option(
          '--max-series <number>',
          'pairs of Service and zones that all meters of the cluster may have; beyond, each namespace has its share and the rest is "other"',
          parseWhole(100, 10_000_000),
          200_000,
        )
        .option('--bind-address <address>', 'address of the health and metrics ports (default: 127.0.0.1)')
        .option(
          '--secure-port <port>',
          'instead of --metrics-port: /metrics over TLS, on all addresses, for bearers of a token that may get /metrics',
          parsePort,
        )
        .option('--enable-accounting', 'set net.netfilter.nf_conntrack_acct and exit; for a privileged init container'),
    ),
  ).addHelpText('after', EXAMPLES);

/** Reads the flags (without the program's name); never exits by itself. */
export const parseFlags = (args: readonly string[]): ParsedFlags<Flags> => parseWith<Flags>(createCommand, args);

/** No reader checks it (docs/adr/0021-reading-meters.md); it ends with the process. */
const LIFETIME_MS = 10 * 365 * 24 * 3_600_000;

const issue = (nodeName: string, clock: Clock) => {
  const common = { commonName: TRAFFIC_METER, now: clock.now(), lifetimeMs: LIFETIME_MS, randomBytes };
  const authority = readPair(issueAuthority(common), { cert: 'own authority', key: 'own key' });
  return issueServerCertificate({ ...common, authority, names: [nodeName, 'localhost'] });
};

/** The token that a request shows; empty without one. */
export const tokenOf = (headers: IncomingHttpHeaders): string => {
  const own = headers[METER_TOKEN_HEADER];
  return typeof own === 'string' ? own.trim() : (/^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1] ?? '');
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
