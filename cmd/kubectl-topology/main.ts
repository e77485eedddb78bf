// SPDX-License-Identifier: Apache-2.0
// Entry point of kubectl-topology: parse, run, exit code.
import { runCommand } from './app.ts';
import { processIo } from './process-io.ts';

process.exitCode = await runCommand(process.argv.slice(2), processIo());
