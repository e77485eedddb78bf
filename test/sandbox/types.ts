// The contract of the sandbox: an in-process Kubernetes API over TLS for tests and the demo.
import type { KubernetesObject, ObjectRef } from '../../pkg/apis/meta.ts';
import type { Resource } from '../../pkg/apis/resources.ts';
import type { MemoryConnection } from './memory.ts';

/** A served resource beside the built-in table (core, discovery, coordination, admissionregistration, apiextensions, gardener groups). */
export interface SandboxResource extends Resource {
  /** Has a status subresource: writes to the main resource ignore .status and the reverse. */
  readonly status?: boolean;
}

export interface SandboxOptions {
  /** Port to listen on at 127.0.0.1; default 0 picks a free one. */
  port?: number;
  /** What /version answers; default v1.36.3. */
  kubernetesVersion?: string;
  resources?: readonly SandboxResource[];
  /** Seconds between bookmarks; default 60. */
  bookmarkSeconds?: number;
  /** Starts the EndpointSlice controller (labels mirrored, foreign hints dropped); default true. */
  endpointSliceController?: boolean;
  /** Where a webhook's Service is served; default: the first ready address behind it in the store. */
  resolveService?: (namespace: string, name: string, port: number) => { host: string; port: number } | undefined;
}

/** A request that the sandbox answered, for counting in tests. */
export interface SandboxRequest {
  readonly user: string;
  readonly method: string;
  /** get, list, watch, create, update, patch, delete, raw. */
  readonly verb: string;
  readonly path: string;
  /** Plural of the resource, `services` for example; empty for raw paths. */
  readonly resource: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly status: number;
  readonly query: Readonly<Record<string, string>>;
}

/** What a fault matches: every given property must be equal. */
export type FaultMatch = Partial<Pick<SandboxRequest, 'verb' | 'resource' | 'user' | 'name'>>;

export type Fault =
  | { kind: 'status'; match?: FaultMatch; code: number; reason?: string; retryAfterSeconds?: number; times?: number }
  /** Status 200 and this text in place of the answer, as of a proxy in between; for a watch these are all its lines. */
  | { kind: 'answer'; match?: FaultMatch; text: string; times?: number }
  /** The connection is reset before an answer. */
  | { kind: 'reset'; match?: FaultMatch; times?: number };

export interface Sandbox {
  /** https://127.0.0.1:port */
  readonly server: string;
  /** PEM of the certificate authority that signed the server's certificate. */
  readonly caBundle: string;
  /** Kubeconfig (YAML) of a user; the bearer token names the user. Every user may do everything unless `deny` says otherwise. */
  kubeconfig(user: string, groups?: readonly string[]): string;
  /** A way for this process's clients without a wire; what it has in hand is known. */
  connect(): MemoryConnection;
  /** Direct access to the store, as an all-mighty writer that passes admission like everybody (user `system:sandbox`). */
  apply<T extends KubernetesObject>(object: T): Promise<T>;
  get<T extends KubernetesObject>(resource: Resource, ref: ObjectRef): T | undefined;
  list<T extends KubernetesObject>(resource: Resource, namespace?: string): T[];
  remove(resource: Resource, ref: ObjectRef): Promise<void>;
  /** Write without admission and without validation: for fixtures of states that others left behind. */
  seed(objects: readonly KubernetesObject[]): void;
  /** Changes what /version answers from now on. */
  setKubernetesVersion(version: string): void;
  /** Requests answered since start or `clearRequests`, oldest first (bounded, the newest 100,000). */
  readonly requests: readonly SandboxRequest[];
  clearRequests(): void;
  /** Open TCP connections now. */
  readonly connections: number;
  addFault(fault: Fault): { remove(): void };
  clearFaults(): void;
  /** Ends every open watch now, with an ERROR 410 event or by cutting the connection. */
  cutWatches(how: '410' | 'reset' | 'close', match?: FaultMatch): void;
  /** Forgets the watch history: every older resourceVersion answers 410. */
  compact(): void;
  /** Resolves when the EndpointSlice controller has nothing left to do. */
  settled(): Promise<void>;
  stop(): Promise<void>;
}

/** Implemented by test/sandbox/sandbox.ts as `startSandbox`. */
export type StartSandbox = (options?: SandboxOptions) => Promise<Sandbox>;
