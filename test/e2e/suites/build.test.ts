// Shows that hack/kubernetes/build reuses, locks and completes its folders; a stand-in for go keeps it short.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { waitFor } from '../bed/machine.ts';

const original = fileURLToPath(new URL('../../../hack/kubernetes/build', import.meta.url));

/** "Builds" each tool into a file; FAIL names one whose build fails, HOLD a file that they wait for the end of. Notes every build in $CALLS. */
const standIn = `#!/usr/bin/env bash
set -euo pipefail
case $1 in
  list) echo v1.99.7 ;;
  build)
    package=\${*: -1}
    echo "$package" >>"$CALLS"
    [[ \${FAIL:-} != "$package" ]] || exit 3
    while [[ $1 != -o ]]; do [[ $1 == *gitVersion* ]] && flags=$1; shift; done
    while [[ -e \${HOLD:-} ]]; do sleep 0.1; done
    echo "\${flags:-none}" >"$2"
    ;;
esac
`;

/** Both forms of the directive, as `go get -tool` leaves them. */
const module = `module example.org/one

tool k8s.io/kubernetes/cmd/kubectl

tool (
\tgo.etcd.io/etcd/server/v3
)
`;

interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

describe('hack/kubernetes/build', () => {
  let folder: string;
  let environment: Record<string, string>;

  /** `heard` is told what goes to stderr, as it comes. */
  const build = async (
    args: string[],
    extra: Record<string, string> = {},
    heard: (words: string) => void = () => undefined,
  ): Promise<Outcome> => {
    const child = spawn(join(folder, 'build'), args, { env: { ...environment, ...extra } });
    const said = child.stderr.on('data', (words: Buffer) => heard(words.toString())).pipe(new PassThrough());
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(said), once(child, 'close')]);
    return { code: code as number | null, stdout: stdout.trim(), stderr };
  };
  const builds = (): string[] => readFileSync(join(folder, 'calls'), 'utf8').split('\n').filter(Boolean);

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'build-'));
    cpSync(original, join(folder, 'build'));
    mkdirSync(join(folder, '1.99'));
    writeFileSync(join(folder, '1.99/go.mod'), module);
    writeFileSync(join(folder, '1.99/go.sum'), '');
    mkdirSync(join(folder, 'bin'));
    writeFileSync(join(folder, 'bin/go'), standIn);
    chmodSync(join(folder, 'bin/go'), 0o755);
    writeFileSync(join(folder, 'calls'), '');
    environment = {
      PATH: `${join(folder, 'bin')}:/usr/bin:/bin`,
      XDG_CACHE_HOME: join(folder, 'cache'),
      CALLS: join(folder, 'calls'),
    };
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('builds every tool under its own name, stamped with the version, and prints the folder', async () => {
    const { code, stdout, stderr } = await build(['1.99']);
    expect(code, stderr).to.equal(0);
    expect(readdirSync(stdout).sort()).to.deep.equal(['etcd', 'kubectl']);
    const stamps = readFileSync(join(stdout, 'kubectl'), 'utf8');
    expect(stamps).to.contain('k8s.io/component-base/version.gitVersion=v1.99.7');
    expect(stamps).to.contain('version.gitMajor=1').and.to.contain('version.gitMinor=99 ');
    expect(stderr).to.match(/kubectl took \d+ s/);
  });

  it('reuses what is built, until go.mod or go.sum change, and builds only what is named', async () => {
    const first = await build(['1.99']);
    expect((await build(['1.99'])).stdout).to.equal(first.stdout);
    expect(builds()).to.have.lengthOf(2);

    appendFileSync(join(folder, '1.99/go.sum'), 'example.org/two v1.0.0 h1:x\n');
    expect((await build(['1.99', 'etcd'])).stdout).not.to.equal(first.stdout);
    expect(builds()).to.have.lengthOf(3);
  });

  it('lets a second build wait for the first instead of building twice', async () => {
    const HOLD = join(folder, 'hold');
    writeFileSync(HOLD, '');
    const first = build(['1.99'], { HOLD });
    await waitFor('the first one builds', builds, ({ length }) => length > 0);
    let heard = '';
    const second = build(['1.99'], {}, (words) => void (heard += words));
    await waitFor(
      'the second one waits',
      () => heard,
      (words) => words.includes('waiting for another build'),
    );
    rmSync(HOLD);
    const [one, other] = await Promise.all([first, second]);
    expect(one.stdout).to.equal(other.stdout);
    expect(builds()).to.have.lengthOf(2);
  });

  it('leaves no binary of a tool that cannot be built, keeps those that could, and recovers', async () => {
    const failed = await build(['1.99'], { FAIL: 'go.etcd.io/etcd/server/v3' });
    expect(failed).to.deep.include({ code: 3, stdout: '' });
    const { stdout: directory } = await build(['1.99', '--print-dir']);
    expect(readdirSync(directory)).to.deep.equal(['kubectl']);
    expect(readdirSync((await build(['1.99'])).stdout)).to.have.lengthOf(2);
    expect(builds().filter((name) => name.endsWith('kubectl'))).to.have.lengthOf(1);
    expect(existsSync(`${directory}.partial`)).to.equal(false);
  });

  it('takes no binary for complete that a killed build left', async () => {
    const { stdout: directory } = await build(['1.99', '--print-dir']);
    mkdirSync(`${directory}.partial`, { recursive: true });
    writeFileSync(join(`${directory}.partial`, 'kubectl'), 'half');
    const { code, stdout } = await build(['1.99']);
    expect(code).to.equal(0);
    expect(readFileSync(join(stdout, 'kubectl'), 'utf8')).to.contain('gitVersion=v1.99.7');
  });

  it('says that Go is missing', async () => {
    rmSync(join(folder, 'bin/go'));
    const { code, stderr } = await build(['1.99']);
    expect(code).to.equal(1);
    expect(stderr).to.contain('go is not on PATH; install Go 1.26 or newer');
  });

  for (const args of [[], ['1.7'], ['1.99', '--prnt-dir'], ['1.99', 'kubelet']])
    it(`refuses ${JSON.stringify(args)} and names the folders there are`, async () => {
      const { code, stderr } = await build(args);
      expect(code).to.equal(1);
      expect(stderr).to.match(new RegExp(`^hack/${basename(folder)}/build: .*folders?.*: 1\\.99$`, 'm'));
    });
});
