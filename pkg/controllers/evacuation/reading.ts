// Begins to read every slice when something is to be evacuated or returned, and stops when nothing is: else that would be held for nothing.
import type { EndpointSlice } from '../../apis/core.ts';
import { keyOf } from '../../apis/object.ts';
import { isMarked } from '../../evacuation/decide.ts';
import type { Cache } from '../../kubernetes/cache.ts';
import { sleep } from '../../kubernetes/sleep.ts';
import { createView, serviceKeyOf } from './view.ts';
import type { View, ViewOptions } from './view.ts';

export interface ReadingOptions extends ViewOptions {
  /** A cache of slices that is there anyway, which holds the marks. */
  readonly marked: Pick<Cache<EndpointSlice>, 'onChange'>;
  /** Whether there is an evacuation that is not over. */
  needed(): boolean;
  onFilled(): void;
  /** A slice came, changed or went, once all are there. */
  onSlice(service: string, slice: EndpointSlice): void;
}

export interface Reading {
  view(): View | undefined;
  /** Look again whether it is needed. */
  look(): void;
  run(signal: AbortSignal): Promise<void>;
}

const LOOK_MS = 5_000;
const FILLED_MS = 50;

export const createReading = (options: ReadingOptions): Reading => {
  const { clock } = options;
  const marked = new Set<string>();
  let view: View | undefined;
  let wake = new AbortController();

  options.marked.onChange(
    (slice, _previous, deleted) => {
      const key = keyOf(slice);
      if (deleted || !isMarked(slice)) marked.delete(key);
      else marked.add(key);
    },
    { replay: true },
  );

  const needed = (): boolean => marked.size > 0 || options.needed();
  const pause = async (milliseconds: number, signal: AbortSignal): Promise<void> => {
    // Rejects when aborted or woken, which ends the pause.
    await sleep(clock, milliseconds, AbortSignal.any([signal, wake.signal])).catch(() => undefined);
    if (wake.signal.aborted) wake = new AbortController();
  };

  const read = async (signal: AbortSignal): Promise<void> => {
    const stop = new AbortController();
    const current = createView(options);
    let filled = false;
    current.onSlice((slice) => {
      const key = serviceKeyOf(slice);
      if (filled && key !== undefined) options.onSlice(key, slice);
    });
    view = current;
    const running = current.run(AbortSignal.any([signal, stop.signal]));
    while (!signal.aborted && needed()) {
      if (!filled && current.ready()) {
        filled = true;
        options.onFilled();
      }
      await pause(filled ? LOOK_MS : FILLED_MS, signal);
    }
    view = undefined;
    stop.abort();
    await running;
  };

  return {
    view: () => view,
    look: () => wake.abort(),
    async run(signal) {
      while (!signal.aborted) {
        if (needed()) await read(signal);
        else await pause(LOOK_MS, signal);
      }
    },
  };
};
