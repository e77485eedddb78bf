// SPDX-License-Identifier: Apache-2.0
// Reads a snapshot from files, folders and standard input.
import { constants } from 'node:buffer';
import { readFile, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { errorText } from '../../../pkg/apis/error-text.ts';
import type { Fields } from '../../../pkg/apis/fields.ts';
import { isTraffic, parseTraffic } from '../../../pkg/diagnosis/measured/document.ts';
import { createCollector } from '../../../pkg/diagnosis/project/collect.ts';
import { COLLECTIONS } from '../../../pkg/diagnosis/snapshot.ts';
import type { ClusterSnapshot, CollectionName } from '../../../pkg/diagnosis/snapshot.ts';
import type { Measured } from '../../../pkg/traffic/measured.ts';
import { InputError, UsageError } from '../errors.ts';
import { versionIn } from './cluster-version.ts';
import type { TakeObject } from './items.ts';
import { readJson } from './json.ts';
import { isObservations, snapshotFacts } from './kinds.ts';

export interface FileInput {
  /** Standard input to its end; asked for at most once. */
  readonly readStdin: () => Promise<Buffer>;
}

const STDIN = '-';
const EXTENSION = /\.(?:json|ya?ml)$/i;

/** Why a file cannot be read, in words. */
export const fileErrorText = (error: unknown): string => {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'ENOENT') return 'no such file or folder';
  if (code === 'EACCES') return 'permission denied';
  return errorText(error);
};

interface TextFile {
  /** As messages name it. */
  readonly name: string;
  read(): Promise<Buffer>;
}

const textFile = (name: string): TextFile => ({
  name,
  read: () =>
    readFile(name).catch((error: unknown) => {
      throw new InputError(name, undefined, fileErrorText(error));
    }),
});

/** The file itself, or the YAML and JSON files of the folder in name order. */
const filesOf = async (path: string): Promise<TextFile[]> => {
  try {
    if (!(await stat(path)).isDirectory()) return [textFile(path)];
    const names = (await readdir(path)).filter((name) => EXTENSION.test(name)).sort();
    if (names.length === 0) throw new InputError(path, undefined, 'expected .yaml, .yml or .json files in the folder');
    return names.map((name) => textFile(join(path, name)));
  } catch (error) {
    if (error instanceof InputError) throw error;
    throw new InputError(path, undefined, fileErrorText(error));
  }
};

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
const [OPEN_OBJECT, OPEN_LIST] = [0x7b, 0x5b];

const looksLikeJson = (text: Buffer): boolean => {
  let at = 0;
  while (at < text.length && (text[at] ?? 0) <= 0x20) at += 1;
  return text[at] === OPEN_OBJECT || text[at] === OPEN_LIST;
};

const readText = async (content: Buffer, file: string, take: TakeObject): Promise<void> => {
  const text = content.subarray(0, 3).equals(BYTE_ORDER_MARK) ? content.subarray(3) : content;
  // YAML that begins with a brace goes by the name of its file.
  if (looksLikeJson(text) && !/\.ya?ml$/i.test(file)) {
    return readJson(text, file, (object) => take(object, { file, line: 1 }));
  }
  const { readYaml } = await import('./yaml.ts');
  if (text.length > constants.MAX_STRING_LENGTH) {
    throw new InputError(file, undefined, 'YAML of more than 512 MB cannot be read: split it, or export JSON');
  }
  return readYaml(text.toString('utf8'), file, take);
};

/** Kinds without which nothing can be said: files without any of them have none. Others are unknown where files leave them out. */
const REQUIRED: ReadonlySet<CollectionName> = new Set(['nodes', 'services', 'slices']);

/**
 * Hands over every object of all files.
 *
 * @throws InputError for a file that cannot be read or used.
 */
export const readObjects = async (
  paths: readonly string[],
  { readStdin }: FileInput,
  take: TakeObject,
): Promise<void> => {
  for (const path of new Set(paths)) {
    if (path === STDIN) {
      await readText(await readStdin(), 'standard input', take);
      continue;
    }
    for (const { name, read } of await filesOf(path)) await readText(await read(), name, take);
  }
};

/** Collections of which the files hold nothing although they might, and the words for that. */
export const missingIn = (seen: ReadonlySet<CollectionName>): Map<CollectionName, string> => {
  const missing = COLLECTIONS.filter((name) => !REQUIRED.has(name) && !seen.has(name));
  return new Map(missing.map((name) => [name, 'the files hold none']));
};

/** A bundle of `status` holds these of its own components, and nothing of the Services that are looked at. */
const NOT_IN_BUNDLES = new Map(
  (['pods', 'workloads', 'autoscalers', 'events'] as const).map((name) => [name, 'the bundle holds none of Services']),
);

/** There is nothing in the files that could be looked at. */
export const noObjects = (paths: readonly string[]): UsageError =>
  new UsageError(`${paths.join(', ')}: expected Kubernetes objects, found none`);

/**
 * The objects of all files. A kind of which the files hold nothing is unknown, but for Nodes, Services and EndpointSlices.
 *
 * @throws InputError for a file that cannot be read or used, UsageError where there is no object at all.
 */
export const readFiles = async (paths: readonly string[], input: FileInput): Promise<ClusterSnapshot> => {
  const collector = createCollector();
  let bundle: Fields | undefined;
  let taken: ReturnType<typeof snapshotFacts>;
  let traffic: Measured | undefined;
  await readObjects(paths, input, (object) => {
    if (isObservations(object)) bundle = object;
    taken ??= snapshotFacts(object);
    if (isTraffic(object)) traffic = parseTraffic(object);
    collector.add(object);
  });
  if (collector.count === 0) throw noObjects(paths);
  const withTraffic = (snapshot: ClusterSnapshot): ClusterSnapshot =>
    traffic === undefined ? snapshot : { ...snapshot, traffic };
  if (taken !== undefined) {
    const { read, unread, serverVersion } = taken;
    // What was read and has no object is known to be empty.
    const missing = [...missingIn(collector.seen)].filter(([name]) => !read.has(name));
    const why = missing.map(([name, text]) => [name, unread.get(name) ?? text] as const);
    return withTraffic(collector.snapshot(new Map(why), versionIn(serverVersion)));
  }
  return withTraffic(
    bundle === undefined
      ? collector.snapshot(missingIn(collector.seen))
      : collector.snapshot(
          new Map([...missingIn(collector.seen), ...NOT_IN_BUNDLES]),
          versionIn(bundle['serverVersion']),
        ),
  );
};
