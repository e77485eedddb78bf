// Reads pages of the documentation as an operator does: chapter by chapter, every block in a shell with kubectl and helm.
import { join } from 'node:path';
import { expect } from 'chai';
import { it } from 'mocha';
import { openCheckout } from '../support/docs/checkout.ts';
import { pagesRunBy } from '../support/docs/coverage.ts';
import { commandsOf, readText, root, shellBlocks } from '../support/docs/markdown.ts';
import type { ShellBlock } from '../support/docs/markdown.ts';
import { openShell } from '../support/docs/shell.ts';
import type { Shell } from '../support/docs/shell.ts';
import { mastersGroup } from './bed/access.ts';
import type { Bed } from './bed/index.ts';
import { run } from './bed/machine.ts';
import { COMPONENTS } from './chart.ts';

/** A shell on a bed. */
export interface OperatorShell {
  /** Runs commands, which must end with 0. */
  run(commands: string): Promise<void>;
  close(): void;
}

export interface Reader {
  /** The pages that are to be read. */
  readonly pages: readonly string[];
  /** Opens the shell in which blocks run from now on. */
  open(bed: Bed): Promise<OperatorShell>;
  /**
   * Declares a test for each block of a chapter, or of a whole page, in order.
   *
   * @param chapter `''` is what stands before the first chapter. Default: the whole page.
   * @param wanted leaves blocks to others. Default: all.
   * @param adapted how a block is typed in this case, where the page says that cases differ. Default: as it stands.
   */
  read(
    page: string,
    chapter?: string,
    wanted?: (block: ShellBlock) => boolean,
    adapted?: (text: string) => string,
  ): void;
  /** Blocks that have not run, e.g. `docs/usage/enable.md:45`; of those `wanted`, by default all. */
  unread(wanted?: (block: ShellBlock) => boolean): string[];
}

const keyOf = ({ page, line }: ShellBlock): string => `${page}:${line}`;

/** Lines that may end otherwise than with 0: they say so, or look for something that need not be there. */
const otherEnd = (line: string): string | undefined =>
  /exit code (\d)/.exec(line)?.[1] ?? (/\| grep /.test(line) ? '1' : undefined);

/** The whole block, or line by line where one may end otherwise. */
const follow = async (shell: Shell, text: string): Promise<void> => {
  const lines = text.trim().split('\n');
  for (const line of lines.some(otherEnd) && !/\\$/m.test(text) ? lines : [text]) {
    const { status, stdout, stderr } = await shell.run(line);
    const allowed = ['0', ...(/^error/im.test(stderr) ? [] : [otherEnd(line) ?? '0'])];
    expect(allowed, `${line}\n${stdout}${stderr}`).to.include(String(status));
  }
};

/** The logs of Pods are those of their programs: there is no kubelet to ask for them. */
const kubectlOf = ({ directory, binaries }: Bed): string => {
  const logs = `"${directory}/logs/\${word#*=}"-*.log`;
  const answer = `for word; do case "$word" in app.kubernetes.io/component=*) cat ${logs};; esac; done`;
  return `case " $* " in\n*" logs "*) ${answer};;\n*) exec '${binaries('kubectl')}' "$@";;\nesac`;
};

/**
 * A command that a page has in a sentence, as written there.
 *
 * @throws where the page does not have it.
 */
export const quoted = (page: string, command: string): string => {
  if (!readText(page).includes(`\`${command}\``)) throw new Error(`${page} has no command \`${command}\``);
  return command;
};

/** For the suite with this path. Pages are read as they are now, whoever changes them while the suite runs. */
export const createReader = (suite: string): Reader => {
  const pages = pagesRunBy(suite);
  const blocks = pages.flatMap((page) => shellBlocks(page));
  const done = new Set<ShellBlock>();
  let shell: Shell | undefined;
  const opened = (): Shell => {
    if (shell === undefined) throw new Error('the shell is not open');
    return shell;
  };
  return {
    pages,
    async open(bed) {
      const checkout = openCheckout();
      for (const command of [...COMPONENTS, 'kubectl-topology']) checkout.own(command);
      checkout.program('kubectl', kubectlOf(bed));
      const helm = (await run(join(root, 'hack/kubernetes/build'), ['helm'])).trim();
      const environment = { KUBECONFIG: await bed.kubeconfig({ user: 'operator', groups: [mastersGroup] }) };
      const { directory, bin } = checkout;
      shell = openShell({ path: [bin, helm], directory, environment, timeoutMs: 150_000 });
      return {
        async run(commands) {
          const { status, stderr } = await opened().run(commands);
          expect(status, `${commands}\n${stderr}`).to.equal(0);
        },
        close() {
          opened().close();
          checkout.remove();
        },
      };
    },
    read(page, chapter, wanted = () => true, adapted = (text) => text) {
      const found = blocks.filter((block) => block.page === page && [undefined, block.chapter].includes(chapter));
      expect(found, `${page}: blocks of "${chapter}"`).not.to.be.empty;
      for (const block of found.filter(wanted))
        it(`${keyOf(block)}: ${commandsOf(block.text)[0]}`, async () => {
          await follow(opened(), adapted(block.text));
          done.add(block);
        });
    },
    unread: (wanted = () => true) => blocks.filter((block) => wanted(block) && !done.has(block)).map(keyOf),
  };
};
