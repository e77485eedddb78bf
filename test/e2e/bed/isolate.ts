// Runs a program in a network namespace of its own, so that a bed it starts there shows nothing in the root namespace.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createNamespace, enterPrefix } from './namespaces.ts';
import { createRecord, reapBeds } from './state.ts';

/** Environment variable that tells an isolated program the name of its namespace. */
export const namespaceVariable = 'BED_NAMESPACE';

/** The namespace that this process was isolated in; undefined in the root namespace. */
export const isolatedNamespace = (): string | undefined => process.env[namespaceVariable];

export interface IsolateOptions {
  /** Added to the environment of the program. Default: nothing. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Ends the program with SIGTERM, and with SIGKILL where that does not help. */
  readonly signal?: AbortSignal;
  /** How long it may take to end itself, in ms. Default 20,000. */
  readonly graceMs?: number;
  /** An open file that takes what the program prints. Default: our own streams. */
  readonly output?: number;
}

const runChild = async (
  [program, ...args]: readonly [string, ...string[]],
  { environment, signal, graceMs = 20_000, output }: IsolateOptions,
): Promise<number> => {
  const child = spawn(program, args, {
    stdio: output === undefined ? 'inherit' : ['ignore', output, output],
    env: { ...process.env, ...environment },
  });
  let patience: NodeJS.Timeout | undefined;
  const end = (): void => {
    child.kill('SIGTERM');
    patience = setTimeout(() => child.kill('SIGKILL'), graceMs);
  };
  if (signal?.aborted === true) end();
  else signal?.addEventListener('abort', end, { once: true });
  const [code] = (await once(child, 'exit')) as [number | null];
  signal?.removeEventListener('abort', end);
  clearTimeout(patience);
  return code ?? 128;
};

/** Runs a program that needs no bed where we are, without root; else as `runIsolated`. */
export const runInPlace = (command: readonly [string, ...string[]], options: IsolateOptions = {}): Promise<number> =>
  runChild(command, options);

/**
 * Runs a program to its end and returns its exit code (128 when a signal ended it). Its standard streams are ours, but for `output`.
 * Removes the namespace afterwards, with all that still runs inside and the beds that the program did not stop.
 */
export const runIsolated = async (
  command: readonly [string, ...string[]],
  options: IsolateOptions = {},
): Promise<number> => {
  await reapBeds();
  const record = createRecord();
  const namespace = `topology-${record.id}-control-plane`;
  record.addNamespace(namespace);
  try {
    await createNamespace(namespace);
    const [program, ...prefix] = enterPrefix(namespace);
    const environment = { [namespaceVariable]: namespace, ...options.environment };
    return await runChild([program, ...prefix, ...command], { ...options, environment });
  } finally {
    await record.destroy();
    await reapBeds();
  }
};
