// Entry point of the traffic-meter: parse, run, exit code.
import { keepHeapSmall } from '../shared/heap.ts';

keepHeapSmall(1);

const { runCommand } = await import('./app.ts');
process.exitCode = await runCommand(process.argv.slice(2), process.env);
