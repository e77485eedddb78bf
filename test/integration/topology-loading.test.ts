// Help and commands on files start fast because they load neither the client of a cluster nor JSON Schema.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { clusterFile } from '../fixtures/topology-command.ts';

describe('kubectl topology, loading', () => {
  const run = promisify(execFile);
  const COMMAND = pathToFileURL(resolve(import.meta.dirname, '../../cmd/kubectl-topology')).href;

  /** Runs commands, and notes each when it has run. */
  const SCRIPT = `import { appendFileSync } from 'node:fs';
  import { processIo, runCommand } from '${COMMAND}/app.ts';
  for (const args of JSON.parse(process.argv[2])) {
    await runCommand(args, processIo());
    appendFileSync(process.env.LOADED, 'ran ' + args[0] + '\\n');
  }
  `;

  const folder = temporaryFolder();
  before(() => {
    const hook =
      "import { registerHooks } from 'node:module'; import { appendFileSync } from 'node:fs';" +
      'registerHooks({ load(url, context, next) { appendFileSync(process.env.LOADED, `${url}\\n`); return next(url, context); } });';
    folder.write('hook.mjs', hook);
  });

  /** What a process loads that runs these commands one after the other. */
  const loadedBy = async (...commands: (readonly string[])[]): Promise<string[]> => {
    const log = folder.write('loaded', '');
    const script = folder.write('run.mjs', SCRIPT);
    const running = run(process.execPath, ['--import', folder.at('hook.mjs'), script, JSON.stringify(commands)], {
      env: { ...process.env, LOADED: log, KUBECONFIG: folder.at('none') },
    });
    running.child.stdin?.end();
    await running;
    return readFileSync(log, 'utf8').split('\n');
  };
  const CLIENT = /\/pkg\/kubernetes\/|\/node_modules\/(?:undici|@kubernetes\/client-node)\//;
  const SCHEMA = /\/node_modules\/(?:ajv|@sinclair\/typebox|yaml)\//;

  it('is without the client of a cluster and JSON Schema for help and for files, whatever the command', async () => {
    const loaded = await loadedBy(
      ['--help'],
      ['audit', '--help'],
      ['audit', '-f', clusterFile('effective'), '--html', folder.at('audit.html')],
      ['explain', 'web', '-f', clusterFile('effective')],
      ['hints', '-f', clusterFile('effective')],
      ['route', '-f', clusterFile('effective'), '--service', 'shop/web'],
      ['simulate', 'web', '-f', clusterFile('effective')],
    );
    expect(loaded.filter((url) => url.startsWith('ran '))).to.deep.equal(
      ['--help', 'audit', 'audit', 'explain', 'hints', 'route', 'simulate'].map((name) => `ran ${name}`),
    );
    expect(loaded.filter((url) => CLIENT.test(url) || SCHEMA.test(url))).to.deep.equal([]);
  });

  it('has both where a cluster or the loop is asked, so that the patterns above find them', async () => {
    const loaded = await loadedBy(['audit'], ['replay']);
    expect([CLIENT, SCHEMA].map((pattern) => loaded.some((url) => pattern.test(url)))).to.deep.equal([true, true]);
  });
});

describe('kubectl-topology as a process', () => {
  const run = promisify(execFile);
  const main = resolve(import.meta.dirname, '../../cmd/kubectl-topology/main.ts');

  it('ends with the exit code and keeps the streams apart', async () => {
    const ended = (...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> =>
      run(process.execPath, [main, ...args]).then(
        (streams) => ({ code: 0, ...streams }),
        (error: unknown) => error as { code: number; stdout: string; stderr: string },
      );
    const [fine, failed, bad] = await Promise.all([
      ended('explain', 'web', '-f', clusterFile('effective'), '-o', 'json'),
      ended('explain', 'web', '-f', clusterFile('no-growth'), '--fail-on', 'any'),
      ended('hints', '-f', '/nonexistent.yaml'),
    ]);
    expect(JSON.parse(fine.stdout)).to.have.property('verdict', 'Effective');
    expect(fine).to.include({ code: 0, stderr: '' });
    expect(failed).to.have.property('code', 1);
    expect(bad).to.include({ code: 2, stderr: 'error: /nonexistent.yaml: no such file or folder\n' });
  });
});
