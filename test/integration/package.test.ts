// The packed tarball as extension authors use it: every example of docs/usage/extension-authors.md is compiled and run.
import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { parse } from 'yaml';
import type { Service } from '../../pkg/apis/core.ts';
import { selectService } from '../../pkg/gardener/catalogue.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const NAME = 'gardener-extension-topology-aware-routing';
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc');
const SLOW_MS = 300_000;

const execute = promisify(execFile);

/** Runs a program to its end and returns what it printed; a failure carries both streams, since tsc reports on stdout. */
const run = async (cwd: string, command: string, ...args: string[]): Promise<string> => {
  try {
    return (await execute(command, args, { cwd })).stdout;
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    throw new Error(`${command} ${args.join(' ')} failed:\n${stdout ?? ''}${stderr ?? ''}`, { cause: error });
  }
};

/** Fenced blocks of the document with `file=` or `output=` after the language. */
const blocksOf = (kind: 'file' | 'output'): Map<string, string> => {
  const text = readFileSync(join(ROOT, 'docs/usage/extension-authors.md'), 'utf8');
  const blocks = text.matchAll(/^```\w+ (file|output)=(\S+)\n(.*?)^```$/gms);
  return new Map([...blocks].filter((match) => match[1] === kind).map((match) => [match[2]!, match[3]!]));
};

const compilerOptions = (exactOptionalPropertyTypes: boolean, outDir: string): object => ({
  target: 'es2024',
  // dom only for console.
  lib: ['es2024', 'dom'],
  module: 'nodenext',
  strict: true,
  exactOptionalPropertyTypes,
  noUncheckedIndexedAccess: true,
  verbatimModuleSyntax: true,
  types: [],
  outDir,
});

describe('the package', () => {
  const files = blocksOf('file');
  const outputs = blocksOf('output');
  const scripts = [...files.keys()].filter((file) => file.endsWith('.js') || file.endsWith('.ts'));
  const work = temporaryFolder().path;
  let consumer: string;
  let packed: string[];

  before(async function prepare() {
    this.timeout(SLOW_MS);
    const staging = join(work, 'staging');
    mkdirSync(staging);
    // Built beside the work tree's own dist/, which another run may be rebuilding.
    for (const file of ['package.json', 'README.md', 'LICENSE', 'CHANGELOG.md'])
      cpSync(join(ROOT, file), join(staging, file));
    await run(ROOT, process.execPath, TSC, '-p', 'hack/tsconfig.build.json', '--outDir', join(staging, 'dist'));
    const [report] = JSON.parse(await run(staging, 'npm', 'pack', '--json', '--ignore-scripts', '--offline')) as {
      filename: string;
      files: { path: string }[];
    }[];
    packed = report!.files.map(({ path }) => path);

    consumer = join(work, 'consumer');
    const installed = join(consumer, 'node_modules', NAME);
    mkdirSync(installed, { recursive: true });
    // Unpacked by hand instead of `npm install`: that would fetch the commands' dependencies from the network, and without
    // them this proves that the entry points for importers need none.
    await run(work, 'tar', '-xzf', join(staging, report!.filename), '-C', installed, '--strip-components=1');
    writeFileSync(join(consumer, 'package.json'), JSON.stringify({ name: 'consumer', private: true, type: 'module' }));
    for (const [file, text] of files) writeFileSync(join(consumer, file), text);
  });

  it('holds the build and the documents, no sources and no tests', () => {
    for (const entry of ['routing', 'gardener', 'apis'])
      expect(packed).to.include.members([`dist/pkg/${entry}/index.js`, `dist/pkg/${entry}/index.d.ts`]);
    expect(packed).to.include.members(['package.json', 'README.md', 'LICENSE']);
    const strangers = packed.filter((path) => !/^(?:dist\/(?:pkg|cmd)\/|package\.json$|[A-Z]+(?:\.md)?$)/.test(path));
    expect(strangers).to.deep.equal([]);
    expect(packed.filter((path) => path.endsWith('.ts') && !path.endsWith('.d.ts'))).to.deep.equal([]);
  });

  it('has no dependency installed beside it', () => {
    expect(existsSync(join(consumer, 'node_modules', NAME, 'package.json'))).to.equal(true);
    expect(existsSync(join(consumer, 'node_modules', NAME, 'node_modules'))).to.equal(false);
    expect(existsSync(join(consumer, 'node_modules/@kubernetes'))).to.equal(false);
  });

  it('is documented with examples in JavaScript, TypeScript and YAML, each script with its output', () => {
    const kinds = new Set([...files.keys()].map((file) => file.replace(/^.*\./, '')));
    expect([...kinds].sort()).to.deep.equal(['js', 'ts', 'yaml']);
    expect([...outputs.keys()].sort()).to.deep.equal([...scripts].sort());
  });

  for (const script of scripts.filter((file) => file.endsWith('.js'))) {
    it(`runs the documented ${script}`, async function runs() {
      this.timeout(SLOW_MS);
      expect(await run(consumer, process.execPath, script)).to.equal(outputs.get(script));
    });
  }

  it('exports its three entry points and nothing else', async function exports() {
    this.timeout(SLOW_MS);
    const probe = [
      `const names = await Promise.all(['routing', 'gardener', 'apis'].map((entry) => import('${NAME}/' + entry)));`,
      `console.log(names.map((entry) => Object.keys(entry).length > 5).join());`,
      `for (const path of ['', '/dist/pkg/routing/plan.js', '/kubernetes']) {`,
      `  await import('${NAME}' + path).then(() => console.log('open'), (error) => console.log(error.code));`,
      `}`,
    ].join('\n');
    const printed = await run(consumer, process.execPath, '--input-type=module', '--eval', probe);
    const closed = 'ERR_PACKAGE_PATH_NOT_EXPORTED';
    expect(printed.trim().split('\n')).to.deep.equal(['true,true,true', closed, closed, closed]);
  });

  for (const exact of [true, false]) {
    describe(`in TypeScript with exactOptionalPropertyTypes ${exact ? 'on' : 'off'}`, () => {
      const outDir = exact ? 'exact' : 'loose';
      const compile = (sources: readonly string[], skipLibCheck: boolean): Promise<string> => {
        const config = { compilerOptions: { ...compilerOptions(exact, outDir), skipLibCheck }, files: sources };
        writeFileSync(join(consumer, `tsconfig.${outDir}.json`), JSON.stringify(config));
        return run(consumer, process.execPath, TSC, '-p', `tsconfig.${outDir}.json`);
      };
      const [withClientNode, alone] = [true, false].map((wanted) =>
        scripts.filter((file) => file.endsWith('.ts') && files.get(file)!.includes('client-node') === wanted),
      );

      it('compiles and runs the documented examples, our declarations checked too', async function compiles() {
        this.timeout(SLOW_MS);
        await compile(alone!, false);
        for (const script of alone!) {
          const printed = await run(consumer, process.execPath, join(outDir, script.replace(/ts$/, 'js')));
          expect(printed, script).to.equal(outputs.get(script));
        }
      });

      it("takes and returns client-node's V1Service", async function compiles() {
        this.timeout(SLOW_MS);
        mkdirSync(join(consumer, 'node_modules/@kubernetes'), { recursive: true });
        const link = join(consumer, 'node_modules/@kubernetes/client-node');
        symlinkSync(join(ROOT, 'node_modules/@kubernetes/client-node'), link);
        try {
          await compile(withClientNode!, true);
        } finally {
          rmSync(join(consumer, 'node_modules/@kubernetes'), { recursive: true });
        }
        for (const script of withClientNode!) {
          const printed = await run(consumer, process.execPath, join(outDir, script.replace(/ts$/, 'js')));
          expect(printed, script).to.equal(outputs.get(script));
        }
      });

      it('refuses what is no Service', async function refuses() {
        this.timeout(SLOW_MS);
        const source = `wrong-${outDir}.ts`;
        writeFileSync(
          join(consumer, source),
          [
            `import { reconcileTopologyAwareRouting } from '${NAME}/routing';`,
            `reconcileTopologyAwareRouting({ metadata: { labels: { app: 1 } } }, true, '1.34');`,
            `reconcileTopologyAwareRouting({}, 'yes', '1.34');`,
            `reconcileTopologyAwareRouting({ metadata: { name: 'fine' }, spec: { ports: [] } }, true, '1.34');`,
          ].join('\n'),
        );
        const message = await compile([source], true).then(
          () => 'it compiled',
          (error: unknown) => (error as Error).message,
        );
        const lines = [...message.matchAll(/wrong-\w+\.ts\((\d+),/g)].map((match) => match[1]);
        expect(lines).to.deep.equal(['2', '3']);
      });
    });
  }

  it('is documented with a label that the settings reconciler takes', () => {
    const service = parse(files.get('service.yaml')!) as Service;
    expect(selectService(service, undefined)).to.deep.equal({ kind: 'labelled' });
    expect(selectService(service, 'shoot')).to.deep.equal({ kind: 'labelled' });
  });
});
