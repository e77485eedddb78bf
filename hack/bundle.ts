// SPDX-License-Identifier: Apache-2.0
// `npm run bundle`: every command as a file in dist/bundle/ that needs no node_modules, with the licences of what is inside.
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';
import { COMPLETION_SCRIPTS } from '../cmd/kubectl-topology/completion-scripts.ts';

const root = resolve(import.meta.dirname, '..');
const target = join(root, 'dist/bundle');

/** CommonJS packages inside an ES module still call `require` for Node's own modules. */
const REQUIRE =
  "import { createRequire as createRequireOfBundle } from 'node:module';\nconst require = createRequireOfBundle(import.meta.url);";

/** Folders under cmd/ that hold a command. */
const findCommands = (): string[] =>
  readdirSync(join(root, 'cmd'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && existsSync(join(root, 'cmd', entry.name, 'main.ts')))
    .map((entry) => entry.name)
    .sort();

/**
 * Bundles the commands and returns the source files that went into them, relative to the root.
 *
 * ES modules, because commands end in a top-level await. What is imported only when needed (the cluster's client, for a
 * webhook that runs without one) stays in chunks of its own, and comments and white space go: together that is 15 MB of
 * resident memory. Names stay, for the sake of stack traces.
 */
const bundle = async (commands: readonly string[]): Promise<string[]> => {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: commands.map((command) => ({ in: `cmd/${command}/main.ts`, out: command })),
    outdir: target,
    chunkNames: 'chunks/[name]-[hash]',
    bundle: true,
    splitting: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: 'none',
    banner: { js: REQUIRE },
    metafile: true,
    logLevel: 'warning',
  });
  const outputs = Object.entries(metafile.outputs);
  for (const [file, { bytes, entryPoint }] of outputs) {
    if (entryPoint !== undefined && !file.includes('/chunks/')) makeExecutable(join(root, file));
    console.log(`${file}: ${(bytes / 1e6).toFixed(1)} MB`);
  }
  return outputs.flatMap(([, { inputs }]) =>
    Object.entries(inputs)
      .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
      .map(([file]) => file),
  );
};

const SHEBANG = '#!/usr/bin/env node\n';

/** Not a banner: chunks would get it as well. */
const makeExecutable = (file: string): void => {
  const text = readFileSync(file, 'utf8');
  if (!text.startsWith('#!')) writeFileSync(file, `${SHEBANG}${text}`);
  chmodSync(file, 0o755);
};

/**
 * kubectl finds a plug-in by its bare name (Node takes the format from package.json beside it), and what completes it by
 * a name of its own.
 */
const makePlugin = (command: string): void => {
  copyFileSync(join(target, `${command}.js`), join(target, command));
  const completion = join(target, command.replace('kubectl-', 'kubectl_complete-'));
  writeFileSync(completion, COMPLETION_SCRIPTS.kubectl);
  chmodSync(completion, 0o755);
};

/** The package folder that a file belongs to; undefined for our own sources. */
const packageOf = (file: string): string | undefined => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0];

const LICENCE_FILE = /^(?:licen[cs]e|copying|notice)(?:[.-].*)?$/i;

const describePackage = (folder: string): string => {
  const directory = join(root, folder);
  const { name, version, license } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as Record<
    string,
    string
  >;
  const texts = readdirSync(directory)
    .filter((file) => LICENCE_FILE.test(file))
    .sort()
    .map((file) => readFileSync(join(directory, file), 'utf8').trim());
  if (license === undefined && texts.length === 0)
    throw new Error(`${name}@${version} names no licence and has no licence text`);
  return [
    `${name} ${version} (${license ?? 'see below'})`,
    '',
    ...(texts.length > 0 ? texts : ['The package holds no licence text.']),
  ].join('\n');
};

const RULE = `\n\n${'-'.repeat(80)}\n\n`;

rmSync(target, { recursive: true, force: true });
mkdirSync(target, { recursive: true });
const commands = findCommands();
const inputs = await bundle(commands);
for (const command of commands) if (command.startsWith('kubectl-')) makePlugin(command);
const folders = [...new Set(inputs.map(packageOf).filter((folder) => folder !== undefined))].sort();
writeFileSync(join(target, 'LICENSES.txt'), `${folders.map(describePackage).join(RULE)}\n`);
// Without it, a bundle that is copied out of this repository would be taken for CommonJS first and parsed twice.
writeFileSync(join(target, 'package.json'), `${JSON.stringify({ private: true, type: 'module' })}\n`);
console.log(`dist/bundle/LICENSES.txt: ${folders.length} packages`);
