// SPDX-License-Identifier: Apache-2.0
// docs/reference/commands.md: the help of every command, as the command itself prints it.
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Generator } from './types.ts';

const root = resolve(import.meta.dirname, '../..');

const helpOf = (command: string): string =>
  execFileSync(process.execPath, [resolve(root, 'cmd', command, 'main.ts'), '--help'], {
    encoding: 'utf8',
    env: { PATH: process.env.PATH ?? '', COLUMNS: '100', NO_COLOR: '1' },
  });

export const commands: Generator = {
  path: 'docs/reference/commands.md',
  render: () => {
    const names = readdirSync(resolve(root, 'cmd'), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name)
      .sort();
    const sections = names.map((name) => `## ${name}\n\n\`\`\`text\n${helpOf(name).trimEnd()}\n\`\`\``);
    return ['# Commands', ...sections].join('\n\n');
  },
};
