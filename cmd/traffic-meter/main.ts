// Entry point of the traffic-meter: parse, run, exit code.
import { setFlagsFromString } from 'node:v8';

// Caches hold little and live long: without this, V8 lets the garbage of a burst grow the process to twice its need.
setFlagsFromString('--optimize-for-size');
setFlagsFromString('--max-semi-space-size=1');

const { runCommand } = await import('./app.ts');
process.exitCode = await runCommand(process.argv.slice(2), process.env);
