// What authenticates queries to Prometheus: files that are read again when they change.
import type { PrometheusSourceConfiguration } from '../apis/config/load-sources.ts';
import { defined } from '../apis/defined.ts';
import type { Credentials } from '../kubernetes/credentials.ts';
import { createFileSource } from '../kubernetes/file-source.ts';
import type { FileSource } from '../kubernetes/file-source.ts';
import type { Clock } from '../kubernetes/types.ts';
import { LoadError } from './types.ts';

export interface PrometheusCredentials {
  /**
   * Current headers and TLS material.
   *
   * @throws LoadError Forbidden for a token, Unreachable for a certificate, that cannot be read; it holds neither.
   */
  current(): Credentials;
  /** Looks at every file at the next call: the server refused what it was given. */
  expire(): void;
}

/** How often files are looked at, milliseconds: rotation leaves both versions valid for much longer. */
const LOOK_EVERY_MS = 10_000;

const TOKEN = /^[\x21-\x7e]+$/u;

const codeOf = (error: unknown): string => {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : 'unknown error';
};

/** Opens the files that the configuration names; none is read before the first call. */
export const openCredentials = (
  { tls = {}, bearerTokenFile, headers = {} }: PrometheusSourceConfiguration,
  clock: Clock,
): PrometheusCredentials => {
  const opened: FileSource[] = [];
  const open = (path: string | undefined): (() => Buffer) | undefined => {
    if (path === undefined) return undefined;
    const source = createFileSource(path, clock, LOOK_EVERY_MS);
    opened.push(source);
    return () => source.read();
  };
  const files = { ca: open(tls.caFile), cert: open(tls.certFile), key: open(tls.keyFile) };
  const token = open(bearerTokenFile);

  const material = (name: keyof typeof files): Buffer | undefined => {
    try {
      return files[name]?.();
    } catch (error) {
      throw new LoadError('Unreachable', `tls.${name}File cannot be read: ${codeOf(error)}`, { cause: error });
    }
  };
  const authorization = (): Record<string, string> => {
    if (token === undefined) return {};
    let text: string;
    try {
      text = token().toString('utf8').trim();
    } catch (error) {
      throw new LoadError('Forbidden', `bearerTokenFile cannot be read: ${codeOf(error)}`, { cause: error });
    }
    if (!TOKEN.test(text)) throw new LoadError('Forbidden', 'bearerTokenFile holds no token');
    return { authorization: `Bearer ${text}` };
  };

  return {
    current() {
      const [ca, cert, key] = [material('ca'), material('cert'), material('key')];
      return {
        headers: { ...headers, ...authorization() },
        tls: {
          ...defined({ ca, cert, key, servername: tls.serverName }),
        },
      };
    },
    expire: () => opened.forEach((source) => source.expire()),
  };
};
