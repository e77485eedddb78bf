// What a fuzz target is: valid documents, a place that takes hostile ones, and an oracle that says what may come of it.
import type fc from 'fast-check';
import type { Random } from '../e2e/chaos-faults.ts';

/** A valid document: JSON, printed as such or as YAML. */
export interface Sample {
  readonly name: string;
  readonly value: unknown;
}

export interface Input {
  /** Name of the valid document that it began as. */
  readonly sample: string;
  readonly text: Buffer;
  /** For choices of the target, such as the flags of a command. */
  readonly random: Random;
}

/** A target that is ready to take inputs. */
export interface OpenTarget {
  readonly samples: readonly Sample[];
  /** Whole texts in place of samples that are changed. */
  readonly texts?: fc.Arbitrary<Buffer>;
  /** Default: JSON. What it throws is taken as "print it as JSON"; the value may hold text that stands for a value. */
  readonly print?: (value: unknown, random: Random, sample: string) => string;
  /** Throws whatever is not documented: a `Violation` of the oracle, or what the code under test threw itself. */
  run(input: Input): Promise<void> | void;
  /** What must hold after all inputs, for example that nothing is held any more. */
  finish?(): Promise<void> | void;
  close?(): Promise<void> | void;
}

export interface Target {
  /** False where only parsed objects arrive, so that damaged text would test JSON.parse. */
  readonly bytes: boolean;
  /** `folder` is temporary, and removed afterwards. */
  open(folder: string): Promise<OpenTarget> | OpenTarget;
}

/** Something that the protocol or the documentation rules out. */
export class Violation extends Error {
  override readonly name = 'Violation';
}

/** The condition holds, or it is a Violation. */
export const must = (condition: boolean, message: () => string): void => {
  if (!condition) throw new Violation(message());
};
