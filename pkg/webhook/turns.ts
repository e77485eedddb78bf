// Lets large reviews run one at a time, and small ones in between.

/** A review of 1,000 endpoints takes 4 ms; what takes longer than this holds others up, and pays with a rest. */
const LONG_MS = 10;
/** Times as long as it ran: four fifths of the processor stay for reviews that do not wait here. */
const REST = 4;

/** Runs the task now or later, each in a turn of the event loop of its own; what is returned gives its place up. */
export type TakeTurn = (task: () => void) => () => void;

export const createTurns = (
  monotonic: () => number,
  wait: (next: () => void, milliseconds: number) => void = (next, milliseconds) =>
    void (milliseconds === 0 ? setImmediate(next) : setTimeout(next, milliseconds).unref()),
): TakeTurn => {
  const waiting = new Set<() => void>();
  let free = true;
  const run = (task: () => void): void => {
    free = false;
    const started = monotonic();
    task();
    const took = monotonic() - started;
    wait(next, took > LONG_MS ? took * REST : 0);
  };
  const next = (): void => {
    const [first] = waiting;
    free = first === undefined;
    if (first === undefined) return;
    waiting.delete(first);
    run(first);
  };
  return (task) => {
    if (free) run(task);
    else waiting.add(task);
    return () => void waiting.delete(task);
  };
};
