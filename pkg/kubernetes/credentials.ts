// What the client needs from a kubeconfig: where the server is, and how to authenticate the next request.

/** TLS options of a connection; PEM unless noted. Values are compared by content to decide whether a new connection is due. */
export interface TlsMaterial {
  readonly ca?: string | Buffer;
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  /** PKCS #12 bundle. */
  readonly pfx?: string | Buffer;
  readonly passphrase?: string;
  /** Name expected in the server's certificate; default: the host of the URL. */
  readonly servername?: string;
  /** False only for `insecure-skip-tls-verify`. */
  readonly rejectUnauthorized?: boolean;
}

/** Everything that authenticates one request. Headers are secret: never log them. */
export interface Credentials {
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly tls: TlsMaterial;
}

/** A server and the identity to use with it. */
export interface KubeConfigSource {
  /** URL of the API server, without a trailing slash; may carry a path. */
  readonly server: string;
  /** Namespace of the context, or that of the Pod when in-cluster. */
  readonly namespace: string | undefined;
  /** Name of the context in use. */
  readonly context: string;
  /** HTTP proxy on the way to the server. */
  readonly proxyUrl: string | undefined;
  /**
   * Current credentials. Cheap enough for every request: files are read only after they changed, plug-ins run only
   * when their credential expired. Concurrent callers share one evaluation.
   *
   * @throws Error when a file cannot be read or a plug-in fails; its message never holds a credential.
   */
  credentials(): Promise<Credentials>;
  /** The server refused the credentials: look at every file again at the next call. */
  refresh(): void;
}

const same = (left: string | Buffer | undefined, right: string | Buffer | undefined): boolean =>
  left === right ||
  (left !== undefined && right !== undefined && Buffer.compare(Buffer.from(left), Buffer.from(right)) === 0);

/** Whether a connection opened with `left` may serve requests that need `right`. */
export const sameTls = (left: TlsMaterial, right: TlsMaterial): boolean =>
  same(left.ca, right.ca) &&
  same(left.cert, right.cert) &&
  same(left.key, right.key) &&
  same(left.pfx, right.pfx) &&
  left.passphrase === right.passphrase &&
  left.servername === right.servername &&
  left.rejectUnauthorized === right.rejectUnauthorized;
