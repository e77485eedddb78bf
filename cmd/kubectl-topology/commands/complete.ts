// `kubectl-topology __complete WORD…`: what the last word may become, which kubectl asks by its own kubectl_complete-topology.
import type { Option } from 'commander';
import { keyOf, nameOf } from '../../../pkg/apis/values.ts';
import { sortedServices } from '../../../pkg/diagnosis/models/lookup.ts';
import { zonesOf } from '../../../pkg/diagnosis/survival/survival.ts';
import type { TopologyCommand } from '../command.ts';
import type { ExitCode, Io } from '../io.ts';
import type { InputFlags } from '../flags.ts';
import { load, listNamespaceNames } from '../session.ts';

/** As programs built with cobra print it: the value, a tab, what it is. */
type Candidate = readonly [value: string, description: string];

/**
 * Names come from files and clusters, and shells expand, run and print what they are given. No name of Kubernetes has another
 * character, or begins with one that makes it a flag or a directive.
 */
const OFFERED = /^[A-Za-z0-9][A-Za-z0-9./:_=-]*$/;

/** cobra's word for: do not complete files; 0 leaves that to the shell. */
const [DEFAULT, NO_FILES] = [':0', ':4'];
const PATIENCE_MS = 3_000;

const takesValue = (option: Option): boolean => option.required || option.optional;

const find = (options: readonly Option[], word: string): Option | undefined =>
  options.find(({ long, short }) => long === word || short === word);

/** Flags that say where to look, as far as the line so far has them. */
const inputOf = (options: readonly Option[], words: readonly string[]): InputFlags => {
  const flags: { filename?: string[] } & Record<string, unknown> = {};
  words.forEach((word, index) => {
    const [option, value] = [find(options, word), words[index + 1]];
    if (option === undefined || value === undefined || !takesValue(option)) return;
    const name = option.attributeName();
    if (name === 'filename') flags.filename = [...(flags.filename ?? []), value];
    else if (['kubeconfig', 'context', 'namespace'].includes(name)) flags[name] = value;
  });
  return flags;
};

const named = (values: readonly string[], description: string): Candidate[] =>
  values.filter((value) => OFFERED.test(value)).map((value) => [value, description]);

/** Services as `name` where the namespace is said, else as `namespace/name`. */
const services = async (flags: InputFlags, word: string, io: Io): Promise<Candidate[]> => {
  const everywhere = word.includes('/') && flags.namespace === undefined && flags.filename === undefined;
  const within = everywhere ? { ...flags, allNamespaces: true } : flags;
  const { snapshot, namespace } = await load(within, ['services'], io);
  return named(sortedServices(snapshot, namespace).map(namespace === undefined ? keyOf : nameOf), 'Service');
};

/** Of Nodes, and of endpoints where files have no Nodes. */
const zones = async (flags: InputFlags, io: Io): Promise<Candidate[]> => {
  const { snapshot } = await load({ ...flags, allNamespaces: flags.namespace === undefined }, ['nodes'], io);
  return named(zonesOf(snapshot), 'Zone');
};

/** Undefined: files, for all that is known. */
const valuesOf = async (option: Option, flags: InputFlags, word: string, io: Io): Promise<Candidate[] | undefined> => {
  if (option.argChoices !== undefined) return option.argChoices.map((value) => [value, '']);
  switch (option.attributeName()) {
    case 'namespace':
    case 'meterNamespace':
      return named(await listNamespaceNames(flags, io), 'Namespace');
    case 'service':
      return services(flags, word, io);
    case 'without':
      return zones(flags, io);
    default:
      return undefined;
  }
};

const candidatesFor = async (
  commands: readonly TopologyCommand[],
  words: readonly string[],
  io: Io,
): Promise<readonly Candidate[] | undefined> => {
  if (words.length < 2) return commands.map(({ name, summary }) => [name, summary]);
  const [first, ...before] = words.slice(0, -1);
  const last = words.at(-1) ?? '';
  const command = commands.find(({ name }) => name === first);
  if (command === undefined) return [];
  const options = Object.values(command.flags);
  const previous = find(options, before.at(-1) ?? '');
  const flags = inputOf(options, before);
  if (previous !== undefined && takesValue(previous)) return valuesOf(previous, flags, last, io);
  if (last.startsWith('-')) return options.map(({ long, short, description }) => [long ?? short ?? '', description]);
  const argument = command.argument?.[0] ?? '';
  if (argument.includes('zone')) return zones(flags, io);
  return argument.includes('service') ? services(flags, last, io) : [];
};

export const complete = async (
  io: Io,
  commands: readonly TopologyCommand[],
  words: readonly string[],
): Promise<ExitCode> => {
  const quiet: Io = {
    ...io,
    err: { write: () => undefined, control: () => undefined, terminal: false, columns: io.err.columns },
    signal: AbortSignal.any([io.signal, AbortSignal.timeout(PATIENCE_MS)]),
  };
  // A shell shows nothing better than nothing: errors stay silent.
  const found = await candidatesFor(commands, words, quiet).catch(() => []);
  const last = words.at(-1) ?? '';
  for (const [value, description] of found ?? []) {
    if (value.startsWith(last)) io.out.write(description === '' ? `${value}\n` : `${value}\t${description}\n`);
  }
  io.out.write(`${found === undefined ? DEFAULT : NO_FILES}\n`);
  return 0;
};
