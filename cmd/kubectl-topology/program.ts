// The command line of kubectl-topology, from the table of its commands.
import { Command } from 'commander';
import type { TopologyCommand } from './command.ts';
import type { ExitCode, Io } from './io.ts';
import { audit } from './commands/audit.ts';
import { check } from './commands/check.ts';
import { complete } from './commands/complete.ts';
import { evacuate, evacuations, off, on, returnZone } from './commands/evacuate.ts';
import { explain } from './commands/explain.ts';
import { hints } from './commands/hints.ts';
import { plan } from './commands/plan.ts';
import { replay } from './commands/replay.ts';
import { route } from './commands/route.ts';
import { simulate } from './commands/simulate.ts';
import { snapshot } from './commands/snapshot.ts';
import { status } from './commands/status.ts';
import { traffic } from './commands/traffic.ts';

export const COMMANDS: readonly TopologyCommand[] = [
  explain,
  simulate,
  audit,
  check,
  traffic,
  status,
  evacuate,
  evacuations,
  returnZone,
  off,
  on,
  snapshot,
  hints,
  route,
  plan,
  replay,
];

const EXIT_CODES =
  '\nExit codes: 0 fine, 1 findings (with --fail-on, of status), no (audit --without), refused or not done yet\n(evacuate, return, off), 2 the question cannot be answered, 3 nothing is installed (status, evacuate).';

const OVERVIEW = `
Examples:
  # Why does traffic to this Service cross zones, and what helps?
  kubectl topology explain web -n shop

  # The same without a cluster
  kubectl get nodes,services,endpointslices -A -o yaml > cluster.yaml
  kubectl topology explain web -n shop -f cluster.yaml
${EXIT_CODES}`;

const examplesOf = ({ examples }: TopologyCommand): string => {
  const lines = examples.map(([purpose, line]) => `  # ${purpose}\n  kubectl topology ${line}\n`);
  return ['\nExamples:', ...lines, EXIT_CODES.trim()].join('\n');
};

/** `write` gets help and complaints; `finish` the exit code of the command that ran. */
export const createProgram = (io: Io, write: (text: string) => void, finish: (code: ExitCode) => void): Command => {
  const program = new Command('kubectl topology')
    .description('Shows why traffic of Services crosses zones, and what each way to keep it inside would do.')
    .usage('COMMAND [flags]')
    .configureOutput({ writeOut: write, writeErr: write, getOutHelpWidth: () => 100, getErrHelpWidth: () => 100 })
    .configureHelp({ subcommandTerm: (command) => command.name() })
    .enablePositionalOptions()
    .showSuggestionAfterError()
    .addHelpText('after', OVERVIEW)
    .exitOverride();
  for (const entry of COMMANDS) {
    const { name, hidden = false, summary, argument, flags, run } = entry;
    const command = program.command(name, { hidden }).description(summary).allowExcessArguments(false);
    command.addHelpText('after', examplesOf(entry));
    if (argument !== undefined) command.argument(...argument);
    for (const option of Object.values(flags)) command.addOption(option);
    command.action(async () => finish(await run(io, command.opts(), command.args[0])));
  }
  const completing = program.command('__complete', { hidden: true }).argument('[words...]');
  completing.allowUnknownOption().passThroughOptions().helpOption(false);
  completing.action(async () => finish(await complete(io, COMMANDS, completing.args)));
  return program;
};
