// Entry point of the flow-controller, and of its thread for planning: parse, run, exit code.
import { isMainThread } from 'node:worker_threads';

if (isMainThread) {
  const { growHeapWhereWorthwhile, keepHeapSmall } = await import('../shared/heap.ts');
  keepHeapSmall();
  growHeapWhereWorthwhile();
  const { runCommand } = await import('./app.ts');
  // One file for both: whatever it is called, from sources, built or bundled, this is where it lies.
  process.exitCode = await runCommand(process.argv.slice(2), process.env, new URL(import.meta.url));
} else {
  const { servePlans } = await import('../../pkg/controllers/flow/planning.ts');
  servePlans();
}
