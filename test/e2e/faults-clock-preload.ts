// Loaded before a command: its wall clock runs behind by what a file says, and what it does every few minutes comes at once.
import { readFileSync } from 'node:fs';

/** Names the file with the milliseconds that are added to the time; it is read anew on SIGUSR2. */
const file = process.env['E2E_CLOCK_FILE'] ?? '';
const now = Date.now.bind(Date);
const schedule = globalThis.setTimeout;
const SLOW_MS = 200_000;
const FAST_MS = 300;

const clock = { offsetMs: Number(readFileSync(file, 'utf8')) };
process.on('SIGUSR2', () => (clock.offsetMs = Number(readFileSync(file, 'utf8'))));
Date.now = () => now() + clock.offsetMs;
globalThis.setTimeout = ((callback: (...args: unknown[]) => void, delayMs?: number, ...args: unknown[]) =>
  schedule(callback, delayMs !== undefined && delayMs >= SLOW_MS ? FAST_MS : delayMs, ...args)) as typeof setTimeout;
