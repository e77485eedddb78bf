// The runner of test files: planted files that pass, fail, crash and never end.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

const MAIN = fileURLToPath(new URL('../../support/runner/main.ts', import.meta.url));
const LAST = /(\d+ passed, \d+ failed, \d+ skipped)\n$/;

const run = (...argv: string[]): Promise<{ code: unknown; text: string; counts: string | undefined }> =>
  new Promise((resolve) => {
    const env = { ...process.env, TEST_WORKERS: '2' };
    execFile(process.execPath, [MAIN, ...argv], { env }, (error, stdout, stderr) => {
      const text = stdout + stderr;
      resolve({ code: error?.code ?? 0, text, counts: LAST.exec(text)?.[1] });
    });
  });

describe('the runner of test files', () => {
  const folder = temporaryFolder();

  const plant = (name: string, body: string): string => folder.write(`${name}.test.js`, body);
  const passing = (): string => plant('passing', "it('passes', () => {}); it('passes too', () => {});");

  it('adds up what passed in all files, says how long each took, and ends well', async () => {
    const { code, text, counts } = await run(passing(), plant('more', "it('passes as well', () => {});"));
    expect({ code, counts }).to.deep.equal({ code: 0, counts: '3 passed, 0 failed, 0 skipped' });
    expect(text).to.match(/^2 test files, \d+ at a time\n/);
    expect(text).to.match(/\d\.\d s {2}\S+passing\.test\.js \(\d\.\d s of one processor\)\n/);
  });

  it('has a line for each failure, the differences, and an exit code', async () => {
    const failing = plant(
      'failing',
      "import assert from 'node:assert'; describe('a cup', () => { it('holds', () => assert.deepEqual({ tea: 1 }, { tea: 2 })); it('stands', () => {}); });",
    );
    const { code, text, counts } = await run(failing, passing());
    expect({ code, counts }).to.deep.equal({ code: 1, counts: '3 passed, 1 failed, 0 skipped' });
    expect(text).to.match(/^FAILED a cup holds: /m);
    expect(text).to.match(/^ +-.*"?tea"?: 1$/m);
  });

  for (const { name, body, says } of [
    {
      name: 'cannot be loaded',
      body: "import './nothing.js';",
      says: /^FAILED \S+planted\.test\.js: Cannot find module/m,
    },
    {
      name: 'ends its process',
      body: "it('ends', () => process.exit(3));",
      says: /^FAILED \S+planted\.test\.js: its process ended in the middle of it \(exit code 3\)/m,
    },
  ]) {
    it(`counts a file that ${name} as failed, and runs the others`, async () => {
      const { code, text, counts } = await run(plant('planted', body), passing());
      expect({ code, counts }, text).to.deep.equal({ code: 1, counts: '2 passed, 1 failed, 0 skipped' });
      expect(text).to.match(says);
    });
  }

  it('counts what is thrown after the last test as a failure', async () => {
    const late = plant(
      'late',
      "it('ends', () => {}); after(() => void setTimeout(() => { throw new Error('late'); }));",
    );
    const { code, text } = await run(late);
    expect(code, text).to.equal(1);
    expect(text).to.match(/^FAILED a process of the test runner did not end well \(exit code 1\)/m);
  });

  it('fails when no test ran', async () => {
    expect((await run(passing(), '-g', 'no such title')).code).to.equal(1);
    expect((await run(folder.at('none*.js'))).text).to.match(/^FAILED no test file matches /m);
  });
});
