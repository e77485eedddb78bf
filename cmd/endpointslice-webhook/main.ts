// Entry point of the endpointslice-webhook: parse, run, exit code.
import { runCommand } from './app.ts';

process.exitCode = await runCommand(process.argv.slice(2), process.env);
