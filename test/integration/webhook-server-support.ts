// An admission server on loopback.
import { once } from 'node:events';
import { type TLSSocket, connect } from 'node:tls';
import { expect } from 'chai';
import { after, before } from 'mocha';
import { LABEL_CONSIDER } from '../../pkg/apis/names.ts';
import { HINTS_PATH } from '../../pkg/webhook/endpoint-slice-hints.ts';
import { type CallOptions, call, review } from '../fixtures/admission.ts';
import { type AdmissionFixture, startAdmission } from '../fixtures/admission-server.ts';
import { slice } from '../fixtures/core.ts';
import { useRealNetwork } from '../fixtures/real-network.ts';

export const labelled = (more: Parameters<typeof slice>[0] = {}) =>
  slice({ ...more, metadata: { labels: { [LABEL_CONSIDER]: 'true' } } });

export const good = JSON.stringify(review(labelled()));

export const headOf = (length: number): string =>
  `POST ${HINTS_PATH} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n`;

/** Resolves when the connection is gone, whether it ended or was reset. */
export const closeOf = (socket: TLSSocket): Promise<void> =>
  new Promise((resolve) => void socket.once('close', () => resolve()));

export const useServer = () => {
  useRealNetwork();
  let fixture: AdmissionFixture;
  before(async () => {
    fixture = await startAdmission();
  });
  after(() => fixture.stop());
  const post = (options: Partial<CallOptions> = {}) =>
    call({ port: fixture.server.port, ca: fixture.ca, body: good, ...options });
  const count = async (line: string): Promise<number> => {
    const text = await fixture.metrics.text();
    const found = text.split('\n').find((one) => one.startsWith(line));
    return Number(found?.split(' ').at(-1) ?? 0);
  };
  const expectStatus = (text: string, code: number): void => {
    const status = JSON.parse(text) as Record<string, unknown>;
    expect(status).to.include({ apiVersion: 'v1', kind: 'Status', status: 'Failure', code });
    expect(status['message'])
      .to.be.a('string')
      .and.not.match(/\n|at .*:\d+:\d+/);
  };
  /** A connection that is spoken to byte by byte. */
  const rawConnection = async (): Promise<{ socket: TLSSocket; received: () => string; closed: Promise<unknown> }> => {
    const socket = connect({ port: fixture.server.port, host: '127.0.0.1', ca: fixture.ca });
    await once(socket, 'secureConnect');
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    socket.on('error', () => undefined);
    return { socket, received: () => text, closed: closeOf(socket) };
  };
  return {
    get fixture() {
      return fixture;
    },
    post,
    count,
    expectStatus,
    rawConnection,
  };
};
