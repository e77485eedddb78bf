// How every command of this project ends: its exit codes, and the signal that asks for it.

/** Failed while running. */
export const EXIT_FAILURE = 1;
/** Wrong flags or configuration. */
export const EXIT_USAGE = 2;

/** Aborted by the first SIGTERM or SIGINT; the second one ends the process as if it had no handler. */
export const untilSignal = (): AbortSignal => {
  const controller = new AbortController();
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => controller.abort(new Error(name)));
  return controller.signal;
};
