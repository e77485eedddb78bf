// A folder that looks like the project's own, so that what a documented command writes lands there and not in the project.
import { chmodSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import { root } from './markdown.ts';

export interface Checkout {
  /** Where commands of the documentation run. */
  readonly directory: string;
  /** A folder for PATH. */
  readonly bin: string;
  /** Puts a script into `bin`. */
  program(name: string, script: string): void;
  /** Puts a command of ours into `bin`, run from its source. */
  own(command: string): void;
}

export const openCheckout = (): Checkout => {
  const folder = temporaryFolder();
  const program = (name: string, script: string): void =>
    chmodSync(folder.write(`bin/${name}`, `#!/bin/sh\n${script}\n`), 0o755);
  folder.write('work/.keep', '');
  const visible = readdirSync(root).filter((name) => !name.startsWith('.'));
  for (const name of visible) symlinkSync(join(root, name), folder.at(`work/${name}`));
  return {
    directory: folder.at('work'),
    bin: folder.at('bin'),
    program,
    own: (command) => program(command, `exec '${process.execPath}' '${join(root, 'cmd', command, 'main.ts')}' "$@"`),
  };
};
