// docs/reference/commands.md: the help of every command, as the command itself prints it.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Generator } from './types.ts';

const root = resolve(import.meta.dirname, '../..');

const run = (command: string, ...args: string[]): string =>
  execFileSync(process.execPath, [resolve(root, 'cmd', command, 'main.ts'), ...args], {
    encoding: 'utf8',
    env: { PATH: process.env.PATH ?? '', COLUMNS: '100', NO_COLOR: '1' },
  });

const block = (text: string): string => `\`\`\`text\n${text.trimEnd()}\n\`\`\``;

/** Commands that have commands of their own list them where their help says COMMAND. */
const subcommandsOf = (command: string, help: string): string[] =>
  help.includes(' COMMAND ')
    ? [...run(command, '__complete', '').matchAll(/^([a-z][\w-]*)\t/gm)].map(([, name = '']) => name)
    : [];

const sectionOf = (command: string): string => {
  const help = run(command, '--help');
  const subcommands = subcommandsOf(command, help).map(
    (name) => `### ${command} ${name}\n\n${block(run(command, name, '--help'))}`,
  );
  return [`## ${command}`, block(help), ...subcommands].join('\n\n');
};

export const commands: Generator = {
  path: 'docs/reference/commands.md',
  render: () => {
    const names = readdirSync(resolve(root, 'cmd'), { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && existsSync(resolve(root, 'cmd', entry.name, 'main.ts')))
      .map(({ name }) => name)
      .sort();
    const sections = names.map(sectionOf);
    return ['# Commands', ...sections].join('\n\n');
  },
};
