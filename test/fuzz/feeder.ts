// Feeds inputs to one target, one after the other, and turns what goes wrong into a failure that can be played again.
import { createInputs } from './inputs.ts';
import type { Inputs } from './inputs.ts';
import type { Failure, FeedOptions, FeedResult } from './protocol.ts';
import { shrink } from './shrink.ts';
import type { Input, OpenTarget, Target } from './types.ts';
import { must, Violation } from './types.ts';

export interface FeederOptions extends FeedOptions {
  readonly target: Target;
  /** Bytes in use after collection. */
  readonly heapBytes: () => Promise<number>;
  /** Called before each input with its index. */
  readonly onInput: (index: number) => void;
  /** Called before each try to make an input that fails smaller. */
  readonly onTry?: () => void;
  readonly onFailure: (failure: Failure) => void;
}

/** More ways to fail than anyone reads at a time; the rest is counted. */
const MAX_FAILURES = 8;
const MAX_SHOWN = 700;

const framesOf = (error: Error): string[] =>
  (error.stack ?? '')
    .slice(error.message.length)
    .split('\n    at ')
    .slice(1)
    .filter((frame) => !/fuzz\/(?:feeder|worker|types)\.ts|process\.processTicks/.test(frame));

/** What two failures have in common: where they come from, and for a crash the message without what differs. */
const signatureOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  const [first = ''] = framesOf(error);
  const message = error.message.replaceAll(/"[^"]*"|'[^']*'|\d+/g, '…').slice(0, 60);
  return error instanceof Violation ? first : `${error.name} ${message} ${first}`;
};

const describe = (error: unknown): string =>
  error instanceof Error
    ? [
        `${error.name}: ${error.message.slice(0, MAX_SHOWN)}`,
        ...framesOf(error)
          .slice(0, 8)
          .map((frame) => `    at ${frame}`),
      ].join('\n')
    : String(error);

/** Every object has what is added to this one. */
const checkPrototypes = (): void => {
  const added = [Object.prototype, Array.prototype].flatMap((prototype) => Object.keys(prototype));
  for (const name of added) {
    Reflect.deleteProperty(Object.prototype, name);
    Reflect.deleteProperty(Array.prototype, name);
  }
  must(added.length === 0, () => `the prototype of all objects has ${added.join(', ')} now`);
};

/** What an input throws; undefined where all is well. */
const errorOf = async (opened: OpenTarget, input: Input): Promise<{ error: unknown } | undefined> => {
  try {
    await opened.run(input);
    checkPrototypes();
    return undefined;
  } catch (error) {
    return { error };
  }
};

/** First fewer changes, then less text. */
const smallest = async (
  opened: OpenTarget,
  inputs: Inputs,
  failed: Input,
  signature: string,
  onTry: () => void,
): Promise<Input> => {
  const failsAlike = async (input: Input): Promise<boolean> => {
    onTry();
    const outcome = await errorOf(opened, input);
    return outcome !== undefined && signatureOf(outcome.error) === signature;
  };
  let input = failed;
  const leftOut = new Set<number>();
  for (let change = 0; failed.kind === 'fields' && change < 3; change += 1) {
    const without = inputs.make(failed.index, new Set([...leftOut, change]));
    if (without.changes.length === 0 || !(await failsAlike(without))) continue;
    leftOut.add(change);
    input = without;
  }
  const text = await shrink(input.text, (shorter) =>
    failsAlike({ ...inputs.make(failed.index, leftOut), text: shorter }),
  );
  return { ...input, text };
};

export interface Feeder {
  run(): Promise<FeedResult>;
}

export const createFeeder = async (options: FeederOptions): Promise<Feeder> => {
  const { target, seed, count, only, folder, heapBytes, onInput, onTry = () => undefined, onFailure } = options;
  const opened = await target.open(folder);
  const inputs = createInputs(target, opened, seed);
  const known = new Set<string>();
  let failed = 0;

  const tell = async (input: Input, error: unknown): Promise<void> => {
    failed += 1;
    const signature = signatureOf(error);
    if (known.has(signature) || known.size >= MAX_FAILURES) return;
    known.add(signature);
    const { index, kind, sample } = input;
    const found = await smallest(opened, inputs, input, signature, onTry);
    const text = found.text.toString().slice(0, MAX_SHOWN);
    onFailure({ index, kind, sample, changes: found.changes, error: describe(error), text });
  };

  const counts = { fields: 0, bytes: 0 };
  let slowest = { index: 0, milliseconds: 0 };
  const one = async (index: number): Promise<void> => {
    onInput(index);
    const input = inputs.make(index);
    counts[input.kind] += 1;
    const startedAt = performance.now();
    const outcome = await errorOf(opened, input);
    const milliseconds = performance.now() - startedAt;
    if (milliseconds > slowest.milliseconds) slowest = { index, milliseconds };
    if (outcome !== undefined) await tell(input, outcome.error);
  };

  const finish = async (): Promise<void> => {
    try {
      await opened.finish?.();
    } catch (error) {
      failed += 1;
      const nothing = { sample: '', changes: ['seen after all inputs'], text: '' };
      onFailure({ index: count, kind: 'fields', ...nothing, error: describe(error) });
    } finally {
      await opened.close?.();
    }
  };

  return {
    async run() {
      const startedAt = performance.now();
      let early = await heapBytes();
      for (let index = only ?? 0; index < (only === undefined ? count : only + 1); index += 1) {
        await one(index);
        if (index === Math.floor(count / 10)) early = await heapBytes();
      }
      const end = await heapBytes();
      await finish();
      const milliseconds = performance.now() - startedAt;
      return { inputs: counts, failed, slowest, milliseconds, heap: { early, end } };
    },
  };
};
