// One HTTPS call of a webhook as kube-apiserver makes it: verified, timed, on kept-alive HTTP/1.1 connections.
import { Agent, request as httpsRequest } from 'node:https';
import type { MutatingWebhook } from '../../pkg/apis/admission.ts';
import { isRecord } from './object.ts';

/** The call failed: the failure policy decides. */
export class WebhookCallError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'WebhookCallError';
  }
}

/** Where a Service of a webhook is served. */
export type ResolveService = (
  namespace: string,
  name: string,
  port: number,
) => { host: string; port: number } | undefined;

export interface WebhookCaller {
  /** Posts the review and returns the parsed answer. Throws WebhookCallError. */
  call(webhook: MutatingWebhook, review: unknown): Promise<Record<string, unknown>>;
  close(): void;
}

const DEFAULT_TIMEOUT_SECONDS = 10;
const DEFAULT_PORT = 443;

interface Address {
  /** Without a query, as shown in errors; keeps the port even where it is the default. */
  readonly url: string;
  readonly path: string;
  /** Host header. */
  readonly authority: string;
  readonly host: string;
  readonly port: number;
  readonly servername: string;
}

const addressOf = ({ clientConfig }: MutatingWebhook, resolve: ResolveService): Address => {
  const { url, service } = clientConfig;
  if (url !== undefined) {
    const parsed = new URL(url);
    const port = Number(parsed.port || DEFAULT_PORT);
    return {
      url: parsed.origin + parsed.pathname,
      path: parsed.pathname,
      authority: parsed.host,
      host: parsed.hostname,
      port,
      servername: parsed.hostname,
    };
  }
  if (service === undefined) throw new WebhookCallError('must specify at least one of service or url');
  const { namespace, name, path = '', port = DEFAULT_PORT } = service;
  const servername = `${name}.${namespace}.svc`;
  const found = resolve(namespace, name, port);
  if (found === undefined) throw new WebhookCallError(`no endpoints available for service ${JSON.stringify(name)}`);
  const absolute = `/${path.replace(/^\//, '')}`;
  const authority = `${servername}:${port}`;
  return { url: `https://${authority}${absolute}`, path: absolute, authority, ...found, servername };
};

const failureText = (error: NodeJS.ErrnoException, { host, port }: Address): string => {
  if (error.code === 'ECONNREFUSED') return `dial tcp ${host}:${port}: connect: connection refused`;
  if (error.code === 'ECONNRESET') return 'EOF';
  if (/certificate|issuer|altname|self.signed/i.test(error.message))
    return `tls: failed to verify certificate: x509: ${error.message}`;
  return error.message;
};

const readAnswer = async (stream: AsyncIterable<unknown>): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk)));
  return Buffer.concat(chunks).toString('utf8');
};

interface Post {
  readonly address: Address;
  readonly agent: Agent;
  readonly body: Buffer;
  readonly seconds: number;
}

const post = ({ address, agent, body, seconds }: Post): Promise<{ code: number; text: string }> =>
  new Promise((resolve, reject) => {
    const { path, authority, host, port } = address;
    const signal = AbortSignal.timeout(seconds * 1000);
    const isAddress = /^[\d.]+$|:/.test(address.servername);
    const request = httpsRequest(
      {
        agent,
        host,
        port,
        signal,
        // TLS server names are names, never addresses; the certificate is checked against either.
        servername: isAddress ? '' : address.servername,
        method: 'POST',
        path: `${path}?timeout=${seconds}s`,
        headers: {
          host: authority,
          accept: 'application/json, */*',
          'content-type': 'application/json',
          'content-length': body.length,
          'user-agent': 'kube-apiserver-admission',
        },
      },
      (response) => {
        readAnswer(response).then((text) => resolve({ code: response.statusCode ?? 0, text }), reject);
      },
    );
    request.on('error', (error) => reject(signal.aborted ? new WebhookCallError('context deadline exceeded') : error));
    request.end(body);
  });

const parseAnswer = (code: number, text: string): Record<string, unknown> => {
  if (code < 200 || code > 299)
    throw new WebhookCallError(
      text.trim() === '' ? `an error on the server ("") has prevented the request from succeeding` : text.trim(),
    );
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    throw new WebhookCallError(error instanceof Error ? error.message : String(error));
  }
  if (!isRecord(parsed)) throw new WebhookCallError('the answer is not an AdmissionReview');
  return parsed;
};

export const createWebhookCaller = (resolve: ResolveService): WebhookCaller => {
  const agents = new Map<string, Agent>();

  const agentOf = (caBundle: string | undefined): Agent => {
    const key = caBundle ?? '';
    let agent = agents.get(key);
    if (agent === undefined) {
      const ca = key === '' ? {} : { ca: Buffer.from(key, 'base64').toString('utf8') };
      agent = new Agent({ keepAlive: true, ALPNProtocols: ['http/1.1'], ...ca });
      agents.set(key, agent);
    }
    return agent;
  };

  return {
    async call(webhook, review) {
      const seconds = webhook.timeoutSeconds ?? DEFAULT_TIMEOUT_SECONDS;
      const address = addressOf(webhook, resolve);
      const body = Buffer.from(JSON.stringify(review));
      try {
        const { code, text } = await post({ address, agent: agentOf(webhook.clientConfig.caBundle), body, seconds });
        return parseAnswer(code, text);
      } catch (error) {
        if (!(error instanceof Error)) throw error;
        const reason = error instanceof WebhookCallError ? error.message : failureText(error, address);
        throw new WebhookCallError(`failed to call webhook: Post "${address.url}?timeout=${seconds}s": ${reason}`);
      }
    },
    close() {
      for (const agent of agents.values()) agent.destroy();
      agents.clear();
    },
  };
};
