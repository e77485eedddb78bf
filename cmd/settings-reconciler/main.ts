// Entry point of the settings-reconciler: parse, run, exit code.
import { keepHeapSmall } from '../shared/heap.ts';

keepHeapSmall();

const { runCommand } = await import('./app.ts');
process.exitCode = await runCommand(process.argv.slice(2), process.env);
