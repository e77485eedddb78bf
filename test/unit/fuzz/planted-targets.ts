// Targets that go wrong in the ways that end a thread.
import type { Target } from '../../fuzz/types.ts';

const AT = 3;

const targetOf = (name: string, goWrong: () => Promise<void> | void): Target => ({
  name,
  bytes: false,
  covers: [],
  open: () =>
    Promise.resolve({
      samples: [{ name: 'one', value: { a: 1 } }],
      async run({ index }) {
        if (index === AT) await goWrong();
        await new Promise((resolve) => setImmediate(resolve));
      },
    }),
});

const forever = (): void => {
  for (;;);
};

/** Something keeps the thread alive, and nothing ever comes. */
const waiting = (): Promise<void> =>
  new Promise(() => {
    setInterval(() => undefined, 1_000);
  });

const TARGETS: Readonly<Record<string, Target>> = {
  hangs: targetOf('hangs', forever),
  waits: targetOf('waits', waiting),
  rejects: targetOf('rejects', () => void Promise.reject(new Error('nobody waits for me'))),
  exits: targetOf('exits', () => process.exit(7)),
  well: targetOf('well', () => undefined),
};

export const loadTarget = (name: string): Promise<Target> => {
  const target = TARGETS[name];
  return target === undefined ? Promise.reject(new Error(name)) : Promise.resolve(target);
};
