// Finds the ends of HTTP/1.1 responses in a byte stream, with as little work as a load generator can afford.

/** What is known of a response once its last byte has arrived. */
export interface ResponseFrame {
  readonly status: number;
  /** Length of the body, chunked framing taken off. */
  readonly bodyBytes: number;
  /** Only where the reader was made with `keepBody`. */
  readonly body: Buffer | undefined;
  /** The server asked to close the connection after this response. */
  readonly close: boolean;
}

export interface ResponseReaderOptions {
  /** Collect bodies; default false, which only counts their bytes. */
  readonly keepBody?: boolean;
  readonly onResponse: (frame: ResponseFrame) => void;
}

export interface ResponseReader {
  /** Takes the next bytes of the stream; throws `FramingError` if they cannot be a response. */
  push(chunk: Buffer): void;
}

export class FramingError extends Error {
  override readonly name = 'FramingError';
}

/** More than any answer of ours; an endless header would otherwise be copied again with every packet. */
const MAX_LINES_BYTES = 64 * 1024;
const HEAD_END = Buffer.from('\r\n\r\n');
const LINE_END = Buffer.from('\r\n');

interface Head {
  readonly status: number;
  readonly close: boolean;
  readonly length: number | 'chunked';
}

const parseHead = (head: string): Head => {
  const status = /^HTTP\/1\.[01] (\d{3})(?: |\r|$)/.exec(head)?.[1];
  if (status === undefined) throw new FramingError(`not an HTTP/1.1 status line: ${JSON.stringify(head.slice(0, 80))}`);
  const close = /\r\nconnection:[ \t]*close[ \t]*(?:\r|$)/i.test(head);
  if (/\r\ntransfer-encoding:[ \t]*chunked[ \t]*(?:\r|$)/i.test(head))
    return { status: Number(status), close, length: 'chunked' };
  const length = /\r\ncontent-length:[ \t]*(\d+)[ \t]*(?:\r|$)/i.exec(head)?.[1];
  if (length === undefined) throw new FramingError(`response ${status} has neither content-length nor chunked framing`);
  return { status: Number(status), close, length: Number(length) };
};

const parseChunkSize = (line: string): number => {
  const size = /^([0-9a-f]+)[ \t]*(?:;.*)?$/i.exec(line)?.[1];
  if (size === undefined) throw new FramingError(`not a chunk size: ${JSON.stringify(line.slice(0, 40))}`);
  return Number.parseInt(size, 16);
};

/** What the next bytes of the stream belong to. */
type State = 'head' | 'body' | 'chunk-size' | 'chunk-data' | 'chunk-end' | 'trailer';

class Reader implements ResponseReader {
  readonly #options: ResponseReaderOptions;
  #state: State = 'head';
  /** Bytes of a head or line whose end has not arrived yet. */
  #pending: Buffer = Buffer.alloc(0);
  #head: Head | undefined;
  #remaining = 0;
  #bodyBytes = 0;
  #parts: Buffer[] = [];

  constructor(options: ResponseReaderOptions) {
    this.#options = options;
  }

  push(chunk: Buffer): void {
    let rest = chunk;
    while (rest.length > 0) rest = this.#step(rest);
  }

  /** Consumes some bytes and returns the others. */
  #step(bytes: Buffer): Buffer {
    switch (this.#state) {
      case 'head':
        return this.#line(bytes, HEAD_END, (head) => this.#begin(parseHead(head)));
      case 'body':
      case 'chunk-data':
        return this.#data(bytes);
      case 'chunk-size':
        return this.#line(bytes, LINE_END, (line) => this.#beginChunk(parseChunkSize(line)));
      case 'chunk-end':
        return this.#line(bytes, LINE_END, (line) => {
          if (line !== '') throw new FramingError('chunk is longer than its size says');
          this.#state = 'chunk-size';
        });
      case 'trailer':
        return this.#line(bytes, LINE_END, (line) => {
          if (line === '') this.#finish();
        });
    }
  }

  #line(bytes: Buffer, end: Buffer, use: (line: string) => void): Buffer {
    const all = this.#pending.length === 0 ? bytes : Buffer.concat([this.#pending, bytes]);
    const at = all.indexOf(end);
    if (at < 0) {
      if (all.length > MAX_LINES_BYTES) throw new FramingError(`no end of line within ${MAX_LINES_BYTES} bytes`);
      this.#pending = all;
      return Buffer.alloc(0);
    }
    this.#pending = Buffer.alloc(0);
    use(all.toString('latin1', 0, at));
    return all.subarray(at + end.length);
  }

  #begin(head: Head): void {
    this.#head = head;
    if (head.length === 'chunked') {
      this.#state = 'chunk-size';
      return;
    }
    this.#remaining = head.length;
    this.#state = 'body';
    if (head.length === 0) this.#finish();
  }

  #beginChunk(size: number): void {
    this.#remaining = size;
    this.#state = size === 0 ? 'trailer' : 'chunk-data';
  }

  #data(bytes: Buffer): Buffer {
    const taken = Math.min(bytes.length, this.#remaining);
    if (this.#options.keepBody === true) this.#parts.push(bytes.subarray(0, taken));
    this.#bodyBytes += taken;
    this.#remaining -= taken;
    if (this.#remaining === 0) {
      if (this.#state === 'body') this.#finish();
      else this.#state = 'chunk-end';
    }
    return bytes.subarray(taken);
  }

  #finish(): void {
    const { status = 0, close = false } = this.#head ?? {};
    const body = this.#options.keepBody === true ? Buffer.concat(this.#parts) : undefined;
    const frame = { status, close, bodyBytes: this.#bodyBytes, body };
    this.#state = 'head';
    this.#parts = [];
    this.#bodyBytes = 0;
    this.#options.onResponse(frame);
  }
}

/** A reader for one connection; responses come in the order of the requests. */
export const createResponseReader = (options: ResponseReaderOptions): ResponseReader => new Reader(options);

/** A POST as kube-apiserver writes it (Go's net/http with client-go's headers), ready for `socket.write`. */
export const frameRequest = (path: string, host: string, body: string): Buffer => {
  const bytes = Buffer.from(body);
  const head = [
    `POST ${path} HTTP/1.1`,
    `Host: ${host}`,
    'User-Agent: kube-apiserver-admission',
    `Content-Length: ${bytes.length}`,
    'Accept: application/json, */*',
    'Content-Type: application/json',
    'Accept-Encoding: gzip',
    '\r\n',
  ].join('\r\n');
  return Buffer.concat([Buffer.from(head, 'latin1'), bytes]);
};
