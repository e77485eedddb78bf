// Every command that the documentation tells a reader to run is run by a test, or checked with a reason why not.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { type Ran, runTopology } from '../fixtures/topology-command.ts';
import { type Checkout, openCheckout } from '../support/docs/checkout.ts';
import { commandProblems, programsOf } from '../support/docs/check-command.ts';
import { CHECKED_ONLY, type CheckedOnly, PAGES_RUN, runnersOf } from '../support/docs/coverage.ts';
import { commandsOf, filesEnding, markdownPages, readText, root, shellBlocks } from '../support/docs/markdown.ts';
import { type Shell, openShell } from '../support/docs/shell.ts';

interface Told {
  readonly page: string;
  readonly line: number;
  readonly command: string;
}

const PROGRAMS = String.raw`(?:kubectl|helm|hack/node|make|npm|settings-reconciler|endpointslice-webhook|flow-controller)`;

/** Commands in comments of the examples: `#   kubectl … ` alone on a line, or `# kubectl apply -k …: what it does`. */
const exampleCommands = (page: string): Told[] =>
  readText(page)
    .split('\n')
    .flatMap((line, index) => {
      const [, command] = new RegExp(`^ *# +(${PROGRAMS} .+?)(?::? *$|: )`).exec(line) ?? [];
      return command === undefined ? [] : [{ page, line: index + 1, command }];
    });

const pageCommands = (page: string): Told[] =>
  shellBlocks(page).flatMap(({ line, text }) => commandsOf(text).map((command) => ({ page, line, command })));

const told = (): Told[] => [
  ...markdownPages()
    .filter((page) => runnersOf(page).length === 0)
    .flatMap(pageCommands),
  ...filesEnding(['.yaml', '.yml'], 'example').flatMap(exampleCommands),
];

const whole = (): Told[] =>
  markdownPages()
    .filter((page) => runnersOf(page).length > 0)
    .flatMap(pageCommands);

const rowOf = ({ page, command }: Told): CheckedOnly | undefined =>
  CHECKED_ONLY.find((row) => page.startsWith(row.page ?? '') && command.startsWith(row.command));

/** kubectl-topology that reads files: it needs no cluster, and runs here. */
const runsOnFiles = ({ command }: Told): boolean => {
  const [words = []] = programsOf(command);
  const [first, second = ''] = words;
  const ours = (first === 'kubectl' && second === 'topology') || second === 'cmd/kubectl-topology/main.ts';
  return ours && words.some((word) => /^(?:-f|--filename(?:=.*)?)$/.test(word));
};

/** Arguments of a command that needs no shell and writes no file: it can run in this process. */
const plainWords = (command: string): string[] | undefined => {
  const words = command.split(' ').slice(2);
  return /[|&;<>$'"*\\]|--html/.test(command) ? undefined : words;
};

const where = ({ page, line, command }: Told): string => `${page}:${line}: ${command}`;

describe('the commands of the documentation', () => {
  it('are found', () => {
    const pages = new Set(told().map(({ page }) => page));
    expect([...pages]).to.include.members(['README.md', 'CONTRIBUTING.md', 'example/topology/cluster.yaml']);
    for (const [page] of Object.entries(PAGES_RUN))
      expect(
        whole().filter((one) => one.page.startsWith(page)),
        page,
      ).not.to.be.empty;
  });

  it('are run, or checked for a reason', () => {
    const uncovered = told().filter((one) => !runsOnFiles(one) && rowOf(one) === undefined);
    const hint = 'run them in a suite, or say why not in test/support/docs/coverage.ts';
    expect(uncovered.map(where).join('\n'), hint).to.equal('');
  });

  it('name only files, targets, scripts and flags that exist', () => {
    const everything = [...told(), ...whole()];
    const problems = everything.flatMap((one) => commandProblems(one.command).map((text) => `${where(one)}: ${text}`));
    expect(problems).to.deep.equal([]);
  });

  it('have no reason that nothing needs any more', () => {
    const rows = new Set(told().map(rowOf));
    expect(CHECKED_ONLY.filter((row) => !rows.has(row)).map(({ command }) => command)).to.deep.equal([]);
  });

  for (const [page, files] of Object.entries(PAGES_RUN)) {
    it(`${page} is run by what says so`, () => {
      expect(existsSync(join(root, page)), page).to.equal(true);
      for (const file of files)
        expect(readText(file), file).to.match(new RegExp(`${page}|createReader\\('${file}'\\)`));
    });
  }
});

describe('the commands of the documentation that need no cluster', () => {
  let checkout: Checkout;
  let shell: Shell;
  before(() => {
    checkout = openCheckout();
    checkout.own('kubectl-topology');
    checkout.program('kubectl', 'shift\nexec kubectl-topology "$@"');
    shell = openShell({ path: [checkout.bin], directory: checkout.directory });
  });

  const inShell = async (command: string): Promise<Ran> => {
    const { status, stdout, stderr } = await shell.run(command);
    return { code: status ?? -1, out: stdout, err: stderr };
  };

  const commands = [
    ...new Map(
      told()
        .filter(runsOnFiles)
        .map((one) => [one.command, one]),
    ).values(),
  ];

  it('are some', () => {
    expect(commands).to.have.lengthOf.above(5);
  });

  for (const one of commands) {
    it(`${one.page}: ${one.command}`, async function run() {
      this.timeout(180_000);
      const words = plainWords(one.command);
      const { code, out, err } = words === undefined ? await inShell(one.command) : await runTopology(words);
      expect(`${code} ${err}`).to.match(/^0 /);
      expect(out + err).not.to.equal('');
    });
  }
});
