// Entry point of kubectl-topology: parse, run, exit code.
import { setFlagsFromString } from 'node:v8';
import { EXIT_USAGE } from '../shared/exit.ts';
import { processIo, reportCrash, runCommand } from './app.ts';

// krew cannot ask for a version of Node.js, and an older one would fail somewhere in the middle.
const OLDEST = 22;

const major = Number.parseInt(process.versions.node, 10);
if (major < OLDEST) {
  process.stderr.write(`error: kubectl topology needs Node.js 24 or newer on PATH, found ${process.versions.node}\n`);
  process.exitCode = EXIT_USAGE;
} else {
  // V8 would give the garbage of a large cluster 100 MB of room, which saves no time.
  setFlagsFromString('--semi-space-growth-factor=1');
  const io = processIo();
  process.exitCode = await runCommand(process.argv.slice(2), io).catch((error: unknown) => reportCrash(io, error));
}
