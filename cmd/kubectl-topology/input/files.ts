// Reads a snapshot from files, folders and standard input.
import { constants } from 'node:fs';
import { open, readdir, realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { defined, errorText } from '../../../pkg/apis/values.ts';
import { isTraffic, parseTraffic } from '../../../pkg/diagnosis/measured.ts';
import { createCollector } from '../../../pkg/diagnosis/project/collect.ts';
import { COLLECTIONS, type ClusterSnapshot, OBJECTS } from '../../../pkg/diagnosis/snapshot.ts';
import type { Measured } from '../../../pkg/traffic/measured.ts';
import { InputError, type Io, UsageError } from '../io.ts';
import { type TakeObject, readJson, readYaml } from './documents.ts';
import { withCertificates } from './resources.ts';
import { parseSnapshot } from './snapshot-file.ts';

const STDIN = '-';
const EXTENSION = /\.(?:json|ya?ml)$/i;

/** Why a file cannot be read, in words. */
export const fileErrorText = (error: unknown): string => {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'ENOENT') return 'no such file or folder';
  return code === 'EACCES' ? 'permission denied' : errorText(error);
};

/** Dumps of large clusters are smaller; a device or a pipe may have no end. */
const MAX_MEBIBYTES = 256;

/** @throws InputError where there is more than memory should be given for. */
export const readToEnd = async (chunks: AsyncIterable<Buffer>, name: string): Promise<Buffer> => {
  const kept: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > MAX_MEBIBYTES * 1024 * 1024)
      throw new InputError(name, undefined, `holds more than ${MAX_MEBIBYTES} MiB: split it`);
    kept.push(chunk);
  }
  return Buffer.concat(kept);
};

interface Found {
  /** As messages name it. */
  readonly name: string;
  /** The folder in which it was found, without links; undefined for what a person named, which may be anything. */
  readonly folder?: string;
}

/** Who writes a folder is not always who reads it: a link in it may lead to any file of the reader. */
const checkedPath = async ({ name, folder }: Found): Promise<string> => {
  if (folder === undefined) return name;
  const path = await realpath(name);
  if (!path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`))
    throw new InputError(name, undefined, 'is a link that leads out of the folder: name the file itself');
  if (!(await stat(path)).isFile()) throw new InputError(name, undefined, 'is no regular file');
  return path;
};

const asInputError =
  (name: string) =>
  (error: unknown): never => {
    throw error instanceof InputError ? error : new InputError(name, undefined, fileErrorText(error));
  };

const readFound = async (found: Found): Promise<Buffer> => {
  const file = await open(await checkedPath(found), found.folder === undefined ? 'r' : constants.O_NOFOLLOW);
  return readToEnd(file.createReadStream({ highWaterMark: 1024 * 1024 }), found.name);
};

/** What a person named: a file, a device or a pipe. @throws InputError for what cannot be read. */
export const readNamed = (name: string): Promise<Buffer> => readFound({ name }).catch(asInputError(name));

/** The file itself, or the YAML and JSON files of the folder in name order. */
const findFiles = async (path: string): Promise<Found[]> => {
  if (!(await stat(path)).isDirectory()) return [{ name: path }];
  const names = (await readdir(path)).filter((name) => EXTENSION.test(name)).sort();
  if (names.length === 0) throw new InputError(path, undefined, 'expected .yaml, .yml or .json files in the folder');
  const folder = await realpath(path);
  return names.map((name) => ({ name: join(path, name), folder }));
};

const readText = (content: string, file: string, take: TakeObject): void => {
  const text = content.replace(/^\uFEFF/, '');
  // YAML that begins with a brace goes by the name of its file.
  const read = /^\s*[{[]/.test(text) && !/\.ya?ml$/i.test(file) ? readJson : readYaml;
  read(text, file, take);
};

/**
 * Hands over every object of all files.
 *
 * @throws InputError for a file that cannot be read or used.
 */
const readObjects = async (paths: readonly string[], { readStdin }: Pick<Io, 'readStdin'>, take: TakeObject) => {
  for (const path of new Set(paths)) {
    if (path === STDIN) {
      readText((await readStdin()).toString('utf8'), 'standard input', take);
      continue;
    }
    for (const found of await findFiles(path).catch(asInputError(path))) {
      readText((await readFound(found).catch(asInputError(found.name))).toString('utf8'), found.name, take);
    }
  }
};

/**
 * The objects of all files, or the snapshot that they hold. A kind of which the files hold nothing is unknown, but for Nodes, Services
 * and EndpointSlices; `onObject` gets the position of each object.
 *
 * @throws InputError for a file that cannot be read or used, UsageError where there is no object at all.
 */
export const readFiles = async (paths: readonly string[], input: Pick<Io, 'readStdin'>, onObject?: TakeObject) => {
  const collector = createCollector();
  let taken: ClusterSnapshot | undefined;
  let traffic: Measured | undefined;
  let others = 0;
  await readObjects(paths, input, (object, placeOf) => {
    const snapshot = parseSnapshot(object);
    if (taken && snapshot) throw new UsageError('-f takes one snapshot: compare them one by one');
    taken ??= snapshot;
    if (isTraffic(object)) traffic = parseTraffic(object);
    else if (snapshot === undefined) {
      collector.add(object);
      others += 1;
    }
    onObject?.(object, placeOf);
  });
  if (taken !== undefined && others > 0)
    throw new UsageError('a snapshot is a whole cluster: leave out other objects, except for measured traffic');
  if (taken === undefined && traffic === undefined && others === 0)
    throw new UsageError(`${paths.join(', ')}: expected Kubernetes objects, found none`);
  const unseen = COLLECTIONS.filter((name) => !OBJECTS.some((own) => own === name) && !collector.seen.has(name));
  const missing = new Map(unseen.map((name) => [name, 'the files hold none']));
  const found = withCertificates(taken ?? collector.snapshot(missing));
  return { ...found, ...defined({ traffic: traffic ?? taken?.traffic }) };
};
