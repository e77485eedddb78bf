// `kubectl-topology __complete WORD…`: what the last word may become, which kubectl asks by its own kubectl_complete-topology.
import { Command, type Option } from 'commander';
import { serviceKeyOfRef, serviceRefOf, sortedServices } from '../../../pkg/diagnosis/models/lookup.ts';
import { zonesOf } from '../../../pkg/diagnosis/survival/survival.ts';
import { type Io, type TopologyCommand, topologyCommand } from '../io.ts';
import type { InputFlags } from '../flags.ts';
import { load, listNamespaceNames } from '../session.ts';

/** As programs built with cobra print it: the value, a tab, what it is. */
interface Candidate {
  readonly value: string;
  readonly description: string;
}

/**
 * Names come from files and clusters, and shells expand, run and print what they are given. No name of Kubernetes has another
 * character, or begins with one that makes it a flag or a directive.
 */
const OFFERED = /^[A-Za-z0-9][A-Za-z0-9./:_=-]*$/;

/** cobra's word for: do not complete files; 0 leaves that to the shell. */
const [DEFAULT, NO_FILES] = [':0', ':4'];
const PATIENCE_MS = 3_000;
const COMPLETE = '__complete';

const optionsOf = (command: TopologyCommand): readonly Option[] => {
  const probe = new Command(command.name).exitOverride();
  command.define(probe);
  return probe.options;
};

const takesValue = (option: Option): boolean => option.required || option.optional;

const find = (options: readonly Option[], word: string): Option | undefined =>
  options.find(({ long, short }) => long === word || short === word);

/** Flags that say where to look, as far as the line so far has them. */
const inputOf = (options: readonly Option[], words: readonly string[]): InputFlags => {
  const flags: Record<string, string | string[]> = {};
  words.forEach((word, index) => {
    const option = find(options, word);
    const value = words[index + 1];
    if (option === undefined || value === undefined || !takesValue(option)) return;
    const name = option.attributeName();
    if (name === 'filename') flags[name] = [...((flags[name] as string[] | undefined) ?? []), value];
    else if (name === 'kubeconfig' || name === 'context' || name === 'namespace') flags[name] = value;
  });
  return flags;
};

const named = (values: readonly string[], description: string): Candidate[] =>
  values.filter((value) => OFFERED.test(value)).map((value) => ({ value, description }));

/** Services as `name` where the namespace is said, else as `namespace/name`. */
const services = async (flags: InputFlags, word: string, io: Io): Promise<Candidate[]> => {
  const everywhere = word.includes('/') && flags.namespace === undefined;
  const { snapshot, namespace } = await load(
    everywhere && flags.filename === undefined ? { ...flags, allNamespaces: true } : flags,
    ['services'],
    io,
  );
  const refs = sortedServices(snapshot)
    .map(serviceRefOf)
    .filter((ref) => namespace === undefined || ref.namespace === namespace);
  return named(
    refs.map((ref) => (namespace === undefined ? serviceKeyOfRef(ref) : ref.name)),
    'Service',
  );
};

/** Of Nodes, and of endpoints where files have no Nodes. */
const zones = async (flags: InputFlags, io: Io): Promise<Candidate[]> => {
  const { snapshot } = await load({ ...flags, allNamespaces: flags.namespace === undefined }, ['nodes'], io);
  return named(zonesOf(snapshot), 'Zone');
};

const valuesOf = async (option: Option, flags: InputFlags, word: string, io: Io): Promise<Candidate[] | undefined> => {
  if (option.argChoices !== undefined) return option.argChoices.map((value) => ({ value, description: '' }));
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
  const last = words.at(-1) ?? '';
  const command = commands.find(({ name }) => name === words[0]);
  if (words.length < 2) {
    return commands
      .filter(({ name }) => name !== COMPLETE)
      .map(({ name, summary }) => ({ value: name, description: summary }));
  }
  if (command === undefined) return [];
  const options = optionsOf(command);
  const before = words.slice(1, -1);
  const previous = find(options, before.at(-1) ?? '');
  const flags = inputOf(options, before);
  if (previous !== undefined && takesValue(previous)) return valuesOf(previous, flags, last, io);
  if (last.startsWith('-')) {
    return options.map(({ long, short, description }) => ({ value: long ?? short ?? '', description }));
  }
  const probe = new Command(command.name);
  command.define(probe);
  const [argument] = probe.registeredArguments;
  if (argument?.argChoices !== undefined) return argument.argChoices.map((value) => ({ value, description: '' }));
  if (argument?.name() === 'zone') return zones(flags, io);
  return argument?.name() === 'service' ? services(flags, last, io) : [];
};

/** `commands` is the whole table, which holds this command itself. */
export const createComplete = (commands: () => readonly TopologyCommand[]): TopologyCommand =>
  topologyCommand<unknown>({
    name: COMPLETE,
    summary: 'Candidates for the last word',
    examples: [],
    hidden: true,
    define(command) {
      command.argument('[words...]').allowUnknownOption().passThroughOptions().helpOption(false);
    },
    async run(io, _flags, words) {
      const quiet: Io = {
        ...io,
        err: { write: () => undefined, control: () => undefined, terminal: false, columns: io.err.columns },
        signal: AbortSignal.any([io.signal, AbortSignal.timeout(PATIENCE_MS)]),
      };
      // A shell shows nothing better than nothing: errors stay silent.
      const found = await candidatesFor(commands(), words, quiet).catch(() => []);
      const last = words.at(-1) ?? '';
      for (const { value, description } of found ?? []) {
        if (value.startsWith(last)) io.out.write(description === '' ? `${value}\n` : `${value}\t${description}\n`);
      }
      io.out.write(`${found === undefined ? DEFAULT : NO_FILES}\n`);
      return 0;
    },
  });
