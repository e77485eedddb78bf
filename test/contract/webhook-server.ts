// A webhook for contract tests: answers by path as a test says, and remembers what it was asked.
import { createServer } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createTestPki } from '../fixtures/pki.ts';
import type { Json } from './api.ts';

export interface Received {
  readonly path: string;
  readonly query: string;
  readonly contentType: string;
  readonly httpVersion: string;
  readonly request: Json;
}

/** What a webhook answers: a response without uid, or bytes of its own. */
export type Reply = { response: Record<string, unknown> } | { status: number; body: string } | { hang: true };

export interface WebhookServer {
  /** https://127.0.0.1:port */
  readonly url: string;
  /** base64 of the PEM that callers should trust. */
  readonly caBundle: string;
  /** base64 of a PEM that has nothing to do with it. */
  readonly foreignBundle: string;
  readonly received: Received[];
  /** Sets what a path answers; the default allows. */
  on(path: string, reply: (request: Json) => Reply): void;
  close(): Promise<void>;
}

/** A response that changes the object. */
export const patching = (operations: unknown): Reply => ({
  response: {
    allowed: true,
    patchType: 'JSONPatch',
    patch: Buffer.from(JSON.stringify(operations)).toString('base64'),
  },
});

const readBody = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
};

export const startWebhookServer = async (): Promise<WebhookServer> => {
  const pki = createTestPki();
  const replies = new Map<string, (request: Json) => Reply>();
  const received: Received[] = [];

  const answer = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const [path = '', query = ''] = (incoming.url ?? '').split('?', 2);
    const review = JSON.parse(await readBody(incoming)) as Json;
    const request = review['request']!;
    received.push({
      path,
      query,
      contentType: incoming.headers['content-type'] ?? '',
      httpVersion: incoming.httpVersion,
      request,
    });
    const reply = (replies.get(path) ?? ((): Reply => ({ response: { allowed: true } })))(request);
    if ('hang' in reply) return;
    const own = 'status' in reply;
    const body = own
      ? reply.body
      : JSON.stringify({
          apiVersion: 'admission.k8s.io/v1',
          kind: 'AdmissionReview',
          response: { uid: request['uid'], ...reply.response },
        });
    outgoing.writeHead(own ? reply.status : 200, { 'content-type': 'application/json' }).end(body);
  };

  const server = createServer(pki.issue('webhook'), (incoming, outgoing) => void answer(incoming, outgoing));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    caBundle: Buffer.from(pki.ca).toString('base64'),
    foreignBundle: Buffer.from(createTestPki().ca).toString('base64'),
    received,
    on: (path, reply) => void replies.set(path, reply),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
};
