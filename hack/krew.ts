// `hack/node hack/krew.ts`, after `npm run bundle`: the archive of `kubectl topology` for a release, and krew's manifest with
// the checksum of that archive, both in dist/krew/.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseDocument } from 'yaml';
import { type PackedFile, archiveOf } from './lib/tar.ts';

const EXECUTABLE = 0o755;
const PLAIN = 0o644;

/** Of a chunk: what the bundler's own names look like. */
const IMPORT = /\b(?:from|import)\s*\(?\s*["'](\.{1,2}\/[\w./-]+-[A-Z0-9]{8}\.js)["']/g;

/** The plug-in and every chunk that it may load, directly or by another chunk. */
const modulesOf = (bundle: string, program: string): string[] => {
  const found = new Set<string>([program]);
  for (const file of found) {
    const text = readFileSync(join(bundle, file), 'utf8');
    for (const [, specifier = ''] of text.matchAll(IMPORT)) found.add(join(dirname(file), specifier));
  }
  return [...found].sort();
};

export interface Release {
  readonly archive: Buffer;
  /** YAML. */
  readonly manifest: string;
}

/**
 * `bundle`: the folder that `npm run bundle` fills; `manifest`: the text of hack/krew/topology.yaml, whose checksum is
 * replaced; `license`: the project's.
 */
export const krewRelease = async (bundle: string, manifest: string, license: Buffer): Promise<Release> => {
  const document = parseDocument(manifest);
  const program = String(document.getIn(['spec', 'platforms', 0, 'bin']));
  const read = (name: string): PackedFile => ({
    name,
    content: readFileSync(join(bundle, name)),
    mode: name === program || name.startsWith('kubectl_complete') ? EXECUTABLE : PLAIN,
  });
  const others = [program.replace('kubectl-', 'kubectl_complete-'), 'package.json', 'LICENSES.txt'];
  const entries = [...modulesOf(bundle, program), ...others].map(read);
  const archive = await archiveOf([...entries, { name: 'LICENSE', content: license, mode: PLAIN }]);
  document.setIn(['spec', 'platforms', 0, 'sha256'], createHash('sha256').update(archive).digest('hex'));
  document.commentBefore = ' The manifest of a release; its source is hack/krew/topology.yaml.';
  return { archive, manifest: document.toString({ singleQuote: true, lineWidth: 0 }) };
};

if (import.meta.main) {
  const root = resolve(import.meta.dirname, '..');
  const source = readFileSync(join(root, 'hack/krew/topology.yaml'), 'utf8');
  const target = join(root, 'dist/krew');
  const { archive, manifest } = await krewRelease(
    join(root, 'dist/bundle'),
    source,
    readFileSync(join(root, 'LICENSE')),
  );
  mkdirSync(target, { recursive: true });
  const name = parseDocument(source).getIn(['spec', 'platforms', 0, 'uri']);
  const file = join(target, String(name).split('/').at(-1) ?? '');
  writeFileSync(file, archive);
  writeFileSync(join(target, 'topology.yaml'), manifest);
  console.log(`${file}: ${(archive.length / 1e6).toFixed(1)} MB\n${join(target, 'topology.yaml')}: names its checksum`);
}
