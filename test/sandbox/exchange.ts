// One request and its answer over HTTP/1.1 or HTTP/2 alike: body, JSON, Status errors, streams, resets.
import { constants, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Status } from '../../pkg/apis/meta.ts';
import { badRequest, StatusError, tooLarge } from './errors.ts';

export type AnyRequest = IncomingMessage | Http2ServerRequest;
export type AnyResponse = ServerResponse | Http2ServerResponse;

/** Largest body of a write, bytes. */
export const MAX_BODY_BYTES = 3 * 1024 * 1024;

export interface Exchange {
  readonly method: string;
  readonly target: string;
  header(name: string): string;
  /** The whole body. Throws a 413 Status error. */
  body(): Promise<Buffer>;
  warn(message: string): void;
  json(code: number, value: unknown): void;
  /** Sends text that is JSON already. */
  rawJson(code: number, text: string): void;
  text(code: number, text: string): void;
  fail(status: Status): void;
  /** Starts a streamed answer. */
  stream(): void;
  /** Appends to the stream; false once it is gone. */
  write(chunk: string): boolean;
  end(): void;
  /** Ends this exchange as a broken connection does; `connection` takes the others on it along. */
  reset(connection: boolean): void;
  onClose(listener: () => void): void;
  readonly code: number;
}

const isHttp2 = (response: AnyResponse): response is Http2ServerResponse => 'stream' in response;

const readBody = async (request: AnyRequest): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    const bytes = Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk));
    size += bytes.length;
    if (size <= MAX_BODY_BYTES) chunks.push(bytes);
  }
  // Read to the end first: a client that still writes would see a broken connection instead of the answer.
  if (size > MAX_BODY_BYTES) throw tooLarge(MAX_BODY_BYTES);
  return Buffer.concat(chunks);
};

const resetResponse = (response: AnyResponse, connection: boolean): void => {
  if (!isHttp2(response)) response.socket?.destroy();
  else if (connection) response.stream?.session?.destroy();
  else response.stream?.close(constants.NGHTTP2_INTERNAL_ERROR);
};

const writeTo = (response: AnyResponse, chunk: string): void => {
  if (isHttp2(response)) response.write(chunk);
  else response.write(chunk);
};

export const createExchange = (request: AnyRequest, response: AnyResponse): Exchange => {
  const warnings: string[] = [];
  let code = 0;
  let open = true;
  response.on('close', () => {
    open = false;
  });
  // A client that leaves in the middle is not an error of the server.
  response.on('error', () => undefined);
  request.on('error', () => undefined);

  const head = (status: number, type: string, headers: Record<string, string> = {}): void => {
    code = status;
    if (warnings.length > 0)
      response.setHeader(
        'warning',
        warnings.map((text) => `299 - ${JSON.stringify(text)}`),
      );
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    response.setHeader('content-type', type);
    response.statusCode = status;
  };
  const send = (status: number, type: string, body: string, headers?: Record<string, string>): void => {
    if (!open) return;
    head(status, type, {
      'content-length': String(Buffer.byteLength(body)),
      'cache-control': 'no-cache, private',
      ...headers,
    });
    response.end(request.method === 'HEAD' ? '' : body);
  };

  return {
    method: request.method ?? 'GET',
    target: request.url ?? '/',
    header: (name) => String(request.headers[name] ?? ''),
    body: () => readBody(request),
    warn: (message) => warnings.push(message),
    json: (status, value) => send(status, 'application/json', JSON.stringify(value)),
    rawJson: (status, text) => send(status, 'application/json', text),
    text: (status, text) => send(status, 'text/plain; charset=utf-8', text),
    fail(status) {
      const retry = status.details?.retryAfterSeconds;
      send(
        status.code ?? 500,
        'application/json',
        JSON.stringify({ metadata: {}, ...status }),
        retry === undefined ? {} : { 'retry-after': String(retry) },
      );
    },
    stream() {
      head(200, 'application/json');
      // writeHead sends at once on HTTP/2 only.
      if (isHttp2(response)) response.writeHead(200);
      else response.flushHeaders();
    },
    write(chunk) {
      if (!open) return false;
      writeTo(response, chunk);
      return true;
    },
    end() {
      if (open) response.end();
    },
    reset: (connection) => resetResponse(response, connection),
    onClose: (listener) => void response.on('close', listener),
    get code() {
      return code;
    },
  };
};

/** Parses a JSON body. Throws a 400 Status error. */
export const parseJson = (body: Buffer): unknown => {
  try {
    return JSON.parse(body.toString('utf8')) as unknown;
  } catch (error) {
    throw badRequest(
      `couldn't get version/kind; json parse error: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
};

export const toStatus = (error: unknown): Status =>
  error instanceof StatusError
    ? error.status
    : {
        kind: 'Status',
        apiVersion: 'v1',
        status: 'Failure',
        reason: 'InternalError',
        code: 500,
        message: `Internal error occurred: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
      };
