// Reads the documentation: which pages there are, their headings and links, and the commands that they tell a reader to run.
import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

export const root = resolve(import.meta.dirname, '../../..');

/** The text of a file, by its path from the root. */
export const readText = (path: string): string => readFileSync(join(root, path), 'utf8');

const isOurs = (folder: string): boolean => !/^(?:node_modules|dist|coverage|\..*)$/.test(folder);

/** Every file with one of these endings, as paths from the root, by name. */
export const filesEnding = (endings: readonly string[], folder = ''): string[] =>
  readdirSync(join(root, folder), { withFileTypes: true })
    .flatMap((entry) => {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory()) return isOurs(entry.name) ? filesEnding(endings, path) : [];
      return endings.some((ending) => entry.name.endsWith(ending)) ? [path] : [];
    })
    .sort();

/** Every page of the project, as paths from the root, by name. */
export const markdownPages = (): string[] => filesEnding(['.md']);

/** Text without fenced blocks, so that what looks like a heading or a link in a block counts as neither. */
const prose = (text: string): string => text.replaceAll(/^ *(`{3,})[\s\S]*?^ *\1$/gm, '');

/** The titles of a page, as written, the first level first. */
export const headingsOf = (text: string, level = '#+'): string[] =>
  [...prose(text).matchAll(new RegExp(`^${level} (.+)$`, 'gm'))].map((match) => match[1] ?? '');

/** What GitHub makes of a heading for links to it. */
export const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

export interface Link {
  /** As written. */
  readonly written: string;
  /** Path from the root of what it leads to; the page itself for a bare anchor. */
  readonly target: string;
  readonly anchor: string | undefined;
}

/** Links of a page to files of the project. */
export const linksOf = (page: string, text: string = readText(page)): Link[] =>
  [...prose(text).matchAll(/\]\((?!https?:|mailto:)([^)\s]+)\)/g)].map((match) => {
    const written = match[1] ?? '';
    const [file = '', anchor] = written.split('#');
    return { written, target: file === '' ? page : join(dirname(page), file), anchor };
  });

/** Commands that stand together in a page, as one reader would paste them. */
export interface ShellBlock {
  readonly page: string;
  /** 1-based line of the first command. */
  readonly line: number;
  /** The last heading of the second level above; empty where there is none. */
  readonly chapter: string;
  /** As written, without prompts and the answers between them. */
  readonly text: string;
  /** What stands below it as output; undefined where nothing does. */
  readonly shown: string | undefined;
}

/** Where a prompt stands, what follows it is a command and everything else is its answer. */
const withoutPrompts = (text: string): string =>
  !/^\$ /m.test(text)
    ? text
    : text
        .split('\n')
        .filter((line) => line.startsWith('$ '))
        .map((line) => `${line.slice(2)}\n`)
        .join('');

/** Blocks of a shell, each with the block of ```text that follows it at once. */
export const shellBlocks = (page: string, text: string = readText(page)): ShellBlock[] =>
  [...text.matchAll(/^( *)```(?:sh|bash|shell|console)\n([\s\S]*?)^ *```$\n?(?:\n```text\n([\s\S]*?)^```\n)?/gm)].map(
    (match) => {
      const [, indent = '', commands = '', shown] = match;
      const above = text.slice(0, match.index);
      return {
        page,
        line: above.split('\n').length + 1,
        chapter: headingsOf(above, '##').at(-1) ?? '',
        text: withoutPrompts(commands.replaceAll(new RegExp(`^${indent}`, 'gm'), '')),
        shown,
      };
    },
  );

/** Contents of the blocks of YAML. */
export const yamlBlocks = (page: string): string[] =>
  [...readText(page).matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, text = '']) => text);

/** Cuts a comment at the end of a line; a `#` within quotes or within a word is none. */
const withoutComment = (line: string): string => {
  const [code = ''] = /^(?:'[^']*'|"[^"]*"|\\.|[^\s'"\\]|\s+(?!#))*/.exec(line) ?? [];
  return line.trimStart().startsWith('#') ? '' : code;
};

/** The commands of a block, each on one line, without comments. */
export const commandsOf = (text: string): string[] =>
  text
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .map((line) => withoutComment(line).trim())
    .filter((line) => line !== '');
