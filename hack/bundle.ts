// `npm run bundle`: every command as a file in dist/bundle/ that needs no node_modules, with licences and bill of materials.
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { build } from 'esbuild';
import { licencesOf, packagesOf } from './lib/packages.ts';
import { type LockFile, sbomOf } from './lib/sbom.ts';

const root = resolve(import.meta.dirname, '..');
/** What packages use if it is there, and do without else. Here it is only there for the tools of development. */
const OPTIONAL = ['supports-color'] as const;

/** Of the image: it takes the command's name as its first argument. */
const LAUNCHER = 'launch';

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
 * Bundles the commands and the launcher; returns the source files that went into them, relative to the root, and a line
 * for each file that came out.
 *
 * ES modules, because commands end in a top-level await. What is imported only when needed (the cluster's client, for a
 * webhook that runs without one) stays in chunks of its own, and comments and white space go: together that is 15 MB of
 * resident memory. Names stay, for the sake of stack traces.
 */
const bundle = async (target: string, commands: readonly string[]): Promise<{ inputs: string[]; lines: string[] }> => {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: [
      { in: 'hack/image/launch.ts', out: LAUNCHER },
      ...commands.map((command) => ({ in: `cmd/${command}/main.ts`, out: command })),
    ],
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
    external: [...OPTIONAL],
    banner: { js: REQUIRE },
    metafile: true,
    logLevel: 'warning',
  });
  const outputs = Object.entries(metafile.outputs);
  const lines = outputs.map(([path, { bytes, entryPoint }]) => {
    const file = resolve(root, path);
    if (entryPoint !== undefined && !path.includes('/chunks/')) makeExecutable(file);
    return `${relative(target, file)}: ${(bytes / 1e6).toFixed(1)} MB`;
  });
  const inputs = outputs.flatMap(([, { inputs: parts }]) =>
    Object.entries(parts)
      .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
      .map(([file]) => file),
  );
  return { inputs, lines };
};

const SHEBANG = '#!/usr/bin/env node\n';

/** Not a banner: chunks would get it as well. */
const makeExecutable = (file: string): void => {
  const text = readFileSync(file, 'utf8');
  if (!text.startsWith('#!')) writeFileSync(file, `${SHEBANG}${text}`);
  chmodSync(file, 0o755);
};

/** kubectl finds a plug-in by its bare name (Node takes the format from package.json beside it), and what completes it by a name of its own. */
const makePlugin = (target: string, command: string): void => {
  copyFileSync(join(target, `${command}.js`), join(target, command));
  const completion = join(target, command.replace('kubectl-', 'kubectl_complete-'));
  writeFileSync(completion, `#!/usr/bin/env sh\nexec ${command} __complete "$@"\n`);
  chmodSync(completion, 0o755);
};

/** What goes beside the commands: licences, bill of materials, and what makes Node take the files for ES modules. */
const describe = (target: string, inputs: readonly string[]): number => {
  const read = (file: string): string => readFileSync(join(root, file), 'utf8');
  const packages = packagesOf(root, inputs);
  const project = JSON.parse(read('package.json')) as { name: string; version: string; license: string };
  const lock = JSON.parse(read('package-lock.json')) as LockFile;
  const stray = packages.filter(({ folder }) => lock.packages[folder]?.dev === true).map(({ name }) => name);
  if (stray.length > 0) throw new Error(`only for development, yet inside the bundle: ${stray.join(', ')}`);
  writeFileSync(join(target, 'LICENSE'), read('LICENSE'));
  writeFileSync(join(target, 'LICENSES.txt'), licencesOf(packages));
  writeFileSync(join(target, 'sbom.cdx.json'), sbomOf({ project, packages, lock }));
  const { name, version } = project;
  // Without a type, a bundle that is copied out of this repository would be taken for CommonJS first and parsed twice.
  writeFileSync(join(target, 'package.json'), `${JSON.stringify({ name, version, private: true, type: 'module' })}\n`);
  return packages.length;
};

/** Empties the folder and fills it anew; returns one line a file that `npm run bundle` prints. */
export const makeBundle = async (target: string): Promise<string[]> => {
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  const commands = findCommands();
  const { inputs, lines } = await bundle(target, commands);
  for (const command of commands) if (command.startsWith('kubectl-')) makePlugin(target, command);
  return [...lines, `LICENSES.txt and sbom.cdx.json: ${describe(target, inputs)} packages`];
};

if (import.meta.main) {
  const target = join(root, 'dist/bundle');
  for (const line of await makeBundle(target)) console.log(`dist/bundle/${line}`);
}
