// SPDX-License-Identifier: Apache-2.0
// Entry point of the flow-controller, and of its thread for planning: parse, run, exit code.
import { setFlagsFromString } from 'node:v8';
import { isMainThread } from 'node:worker_threads';

if (isMainThread) {
  // Caches hold little and live long: without this, V8 lets the garbage of a burst grow the process to twice its need.
  setFlagsFromString('--optimize-for-size');
  setFlagsFromString('--max-semi-space-size=2');
  const { runCommand } = await import('./app.ts');
  // One file for both: whatever it is called, from sources, built or bundled, this is where it lies.
  process.exitCode = await runCommand(process.argv.slice(2), process.env, new URL(import.meta.url));
} else {
  const { servePlans } = await import('../../pkg/controllers/flow/plan-thread.ts');
  servePlans();
}
