// SPDX-License-Identifier: Apache-2.0
// Entry point of the traffic-meter: parse, run, exit code.
import { runCommand } from './app.ts';

process.exitCode = await runCommand(process.argv.slice(2), process.env);
