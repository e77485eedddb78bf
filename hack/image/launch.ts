// Entry point of the image: its first argument names the command to run, the others are that command's own.
import { readFileSync } from 'node:fs';

const EXIT_USAGE = 2;

/** Imported only when named: no command pays for the code of another. */
const COMMANDS: Readonly<Record<string, () => Promise<unknown>>> = {
  'endpointslice-webhook': () => import('../../cmd/endpointslice-webhook/main.ts'),
  'flow-controller': () => import('../../cmd/flow-controller/main.ts'),
  'kubectl-topology': () => import('../../cmd/kubectl-topology/main.ts'),
  'settings-reconciler': () => import('../../cmd/settings-reconciler/main.ts'),
  'traffic-meter': () => import('../../cmd/traffic-meter/main.ts'),
};

const USAGE = `Usage: COMMAND [flags]

Commands: ${Object.keys(COMMANDS).join(', ')}

COMMAND --help shows the flags of a command, --version the version of all.
`;

/** The bundle's own package.json lies beside this file. */
const versionOf = (): string => {
  const text = readFileSync(new URL('package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
};

const [node = '', file = '', name = '', ...flags] = process.argv;
const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
if (name === '--version' || (command !== undefined && flags[0] === '--version')) {
  process.stdout.write(`${versionOf()}\n`);
} else if (command !== undefined) {
  // What a command sees is what it would see if it had been started by itself.
  process.argv = [node, file, ...flags];
  await command();
} else if (name === '--help') {
  process.stdout.write(USAGE);
} else {
  process.stderr.write(`error: ${name === '' ? 'no command named' : `unknown command "${name}"`}\n\n${USAGE}`);
  process.exitCode = EXIT_USAGE;
}
