// Runs test files in processes side by side, says what it is doing, and ends with the line that CI adds up. mocha runs each
// file; its own --parallel reports a file when it is over and not before, and does not say how long each took.
// Usage: hack/node test/support/runner/main.ts [quick|slow|all|GLOB...] [mocha's options, such as -g 'a title']
import { availableParallelism } from 'node:os';
import { parseArguments } from './arguments.ts';
import { filesOf, inFull } from './files.ts';
import { createProgress } from './progress.ts';
import { environment, runFiles } from './pool.ts';

const argv = process.argv.slice(2);
const { wanted } = parseArguments(argv);
const files = filesOf(wanted);
// One more than there are processors: many files wait for processes and sockets for a part of their time.
const workers = Math.min(files.length, Number(process.env['TEST_WORKERS']) || availableParallelism() + 1);
const progress = createProgress({ files: files.length, workers, out: process.stdout });
if (files.length === 0) progress.failed(`FAILED no test file matches ${wanted.join(' ')}`);
await runFiles({ files, workers, argv, env: environment(inFull(wanted, process.env)), progress });
process.exitCode = progress.finish() ? 0 : 1;
