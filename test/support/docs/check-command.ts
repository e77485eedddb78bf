// Says what is wrong with a command of the documentation without running it: targets, scripts, files and flags that do not exist.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readText, root } from './markdown.ts';

/** Folders of the project that a command may name files of. */
const PROJECT_FILE = /^(?:charts|cmd|docs|example|hack|pkg|test)\//;

/** The programs of a line, each with its words: pipes and lists are taken apart, settings of variables left out. */
export const programsOf = (command: string): string[][] =>
  command
    .split(/ (?:\||&&|\|\||;) /)
    .map((part) => part.match(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g) ?? [])
    .map((words) => words.slice(words.findIndex((word) => !/^[A-Z_]+=/.test(word))))
    .filter((words) => words.length > 0);

/** Flags that a command of ours documents, by its name as docs/reference/commands.md has it. */
const documentedFlags = (): Map<string, Set<string>> => {
  const sections = readText('docs/reference/commands.md')
    .split(/^#{2,3} /m)
    .slice(1);
  return new Map(
    sections.map((section) => [
      section.split('\n')[0] ?? '',
      new Set(
        [...section.matchAll(/^  (?:(-\w), )?(--[\w-]+)/gm)].flatMap(([, short, long]) => [short ?? '', long ?? '']),
      ),
    ]),
  );
};

/** The command of ours that words begin with, and what follows; undefined for others' programs. */
const ownCommand = (words: readonly string[]): { name: string; rest: readonly string[] } | undefined => {
  const [first = '', second = '', third = ''] = words;
  const [, sourced] = /^cmd\/([\w-]+)\/main\.ts$/.exec(second) ?? [];
  if (first === 'hack/node' && sourced !== undefined) return ownCommand([sourced, ...words.slice(2)]);
  if (first === 'kubectl' && second === 'topology') return ownCommand(['kubectl-topology', ...words.slice(2)]);
  if (first === 'kubectl-topology' && /^[a-z]/.test(second))
    return { name: `kubectl-topology ${second}`, rest: [third, ...words.slice(3)] };
  const ours = ['kubectl-topology', 'settings-reconciler', 'endpointslice-webhook', 'flow-controller', 'traffic-meter'];
  return ours.includes(first) ? { name: first, rest: words.slice(1) } : undefined;
};

const flagProblems = (words: readonly string[]): string[] => {
  const own = ownCommand(words);
  if (own === undefined) return [];
  const known = documentedFlags().get(own.name);
  if (known === undefined) return [`there is no command ${own.name}`];
  const flags = own.rest.filter((word) => /^--?[a-z]/.test(word)).map((word) => word.split('=')[0] ?? '');
  return flags.filter((flag) => !known.has(flag)).map((flag) => `${own.name} has no flag ${flag}`);
};

const makeProblems = (words: readonly string[]): string[] => {
  const targets = new Set([...readText('Makefile').matchAll(/^([a-z0-9-]+):/gm)].map(([, target]) => target));
  return words
    .slice(1)
    .filter((word) => !word.includes('=') && !targets.has(word))
    .map((word) => `there is no target ${word}`);
};

const npmProblems = ([, verb, name = '']: readonly string[]): string[] => {
  const { name: own, scripts } = JSON.parse(readText('package.json')) as { name: string; scripts: object };
  if (verb === 'run') return name in scripts ? [] : [`package.json has no script ${name}`];
  return verb === 'install' && name === own ? [] : [`npm ${verb} ${name} is not ours to tell`];
};

const fileProblems = (words: readonly string[]): string[] =>
  words
    .map((word) => word.replace(/^--?[\w-]+=/, ''))
    .filter((word) => PROJECT_FILE.test(word) && !existsSync(join(root, word)))
    .map((word) => `${word} does not exist`);

/** One sentence a problem; none for a command that names only what exists. */
export const commandProblems = (command: string): string[] =>
  programsOf(command).flatMap((words) => [
    ...fileProblems(words),
    ...flagProblems(words),
    ...(words[0] === 'make' ? makeProblems(words) : []),
    ...(words[0] === 'npm' ? npmProblems(words) : []),
  ]);
