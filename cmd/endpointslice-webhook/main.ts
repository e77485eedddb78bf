// SPDX-License-Identifier: Apache-2.0
// Entry point of the endpointslice-webhook: parse, run, exit code.
import { setFlagsFromString } from 'node:v8';

// A review lives for a millisecond: a large young generation only lets its garbage pile up before it is collected.
setFlagsFromString('--max-semi-space-size=4');

const { runCommand } = await import('./app.ts');
process.exitCode = await runCommand(process.argv.slice(2), process.env);
