// What a bed owns, recorded before it exists, so that the next start can remove it; and the isolation of its owner.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createNamespace,
  enterPrefix,
  identify,
  isRunning,
  ofLength,
  removeNamespace,
  sendSignal,
  waitFor,
} from './machine.ts';
import type { ProcessIdentity } from './machine.ts';

/** What is on disk for one bed: its owner, and everything that has to go when the owner is gone. */
export interface BedState {
  readonly owner: ProcessIdentity;
  readonly namespaces: readonly string[];
  readonly processes: readonly ProcessIdentity[];
}

/** The record of one bed, owned by this process. Namespaces are recorded before they are created. */
export interface BedRecord {
  /** Unique among all beds of this machine; part of every name the bed gives. */
  readonly id: string;
  /** The bed's own folder: certificates, data, sockets, logs. */
  readonly directory: string;
  addNamespace(namespace: string): void;
  addProcess(process: ProcessIdentity): void;
  /** Ends and removes everything recorded, then the folder. */
  destroy(): Promise<void>;
}

/** Folder that holds one folder per bed. Short, because the paths of Unix sockets end at 107 bytes. */
export const defaultRoot = (): string => join(tmpdir(), 'topology-routing-beds');

const stateFile = (directory: string): string => join(directory, 'state.json');

const writeState = (directory: string, state: BedState): void => {
  const partial = `${stateFile(directory)}.partial`;
  writeFileSync(partial, JSON.stringify(state, undefined, 2));
  renameSync(partial, stateFile(directory));
};

const readState = (directory: string): BedState | undefined => {
  try {
    return JSON.parse(readFileSync(stateFile(directory), 'utf8')) as BedState;
  } catch {
    // Another process may be removing the same folder right now.
    return undefined;
  }
};

/** Opens the record of a new bed that belongs to this process. */
export const createRecord = (root: string = defaultRoot()): BedRecord => {
  const owner = identify(process.pid);
  if (owner === undefined) throw new Error('this process has no entry in /proc: a bed needs Linux');
  const id = randomBytes(3).toString('hex');
  const directory = join(root, id);
  const partial = join(root, `.${id}`);
  let state: BedState = { owner, namespaces: [], processes: [] };
  mkdirSync(partial, { recursive: true, mode: 0o700 });
  writeState(partial, state);
  // Renamed when complete: whoever cleans up never meets a folder without a state.
  renameSync(partial, directory);
  const update = (change: Partial<BedState>): void => {
    state = { ...state, ...change };
    writeState(directory, state);
  };
  return {
    id,
    directory,
    addNamespace: (namespace) => update({ namespaces: [...state.namespaces, namespace] }),
    addProcess: (process) => update({ processes: [...state.processes.filter(isRunning), process] }),
    destroy: () => destroyBed(directory, state),
  };
};

const destroyBed = async (directory: string, { namespaces, processes }: BedState): Promise<void> => {
  // Nothing in a bed is worth an orderly end: its data goes as well.
  for (const process of processes) sendSignal(process, 'SIGKILL');
  await waitFor('end of the processes of a bed', () => processes.filter(isRunning), ofLength(0));
  for (const namespace of namespaces) await removeNamespace(namespace);
  rmSync(directory, { recursive: true, force: true });
};

const entriesOf = (directory: string): string[] => {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
};

const isAbandonedDraft = (directory: string): boolean => {
  const age = Date.now() - (statSync(directory, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
  return age > 60 * 60 * 1000;
};

/** A bed found on this machine. */
export interface FoundBed {
  readonly id: string;
  readonly directory: string;
  readonly state: BedState;
  /** Whether the process that started it still runs. */
  readonly owned: boolean;
}

/** All beds recorded under `root`. */
export const listBeds = (root: string = defaultRoot()): FoundBed[] => {
  return entriesOf(root).flatMap((id) => {
    const directory = join(root, id);
    const state = readState(directory);
    return id.startsWith('.') || state === undefined ? [] : [{ id, directory, state, owned: isRunning(state.owner) }];
  });
};

/** Removes the beds whose owner is gone and returns their ids; beds of living owners are left alone. */
export const reapBeds = async (root: string = defaultRoot()): Promise<string[]> => {
  const abandoned = listBeds(root).filter(({ owned }) => !owned);
  for (const { directory, state } of abandoned) await destroyBed(directory, state);
  for (const entry of entriesOf(root)) {
    const directory = join(root, entry);
    if (entry.startsWith('.') && isAbandonedDraft(directory)) rmSync(directory, { recursive: true, force: true });
  }
  return abandoned.map(({ id }) => id);
};

/** Environment variable that tells an isolated program the name of its namespace. */
export const namespaceVariable = 'BED_NAMESPACE';

/** The namespace that this process was isolated in; undefined in the root namespace. */
export const isolatedNamespace = (): string | undefined => process.env[namespaceVariable];

export interface IsolateOptions {
  /** Added to the environment of the program. Default: nothing. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Ends the program with SIGTERM, and with SIGKILL where that does not help. */
  readonly signal?: AbortSignal;
  /** An open file that takes what the program prints. Default: our own streams. */
  readonly output?: number;
}

const runChild = async (
  [program, ...args]: readonly [string, ...string[]],
  { environment, signal, output }: IsolateOptions,
): Promise<number> => {
  const child = spawn(program, args, {
    stdio: output === undefined ? 'inherit' : ['ignore', output, output],
    env: { ...process.env, ...environment },
  });
  let patience: NodeJS.Timeout | undefined;
  const end = (): void => {
    child.kill('SIGTERM');
    patience = setTimeout(() => child.kill('SIGKILL'), 20_000);
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
