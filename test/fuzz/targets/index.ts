// The targets by name; one is loaded only in the thread that feeds it.
import type { Target } from '../types.ts';

/** How many inputs each gets, relative to the others: more where more parties may write what is read. */
export const SHARES: Readonly<Record<string, number>> = {
  admission: 40,
  configuration: 10,
  kubeconfig: 8,
  files: 12,
  load: 12,
  lists: 6,
  flow: 8,
  memory: 0.2,
  planner: 1,
  settings: 5,
};

/** Each file exports its target as `target`. */
export const loadTarget = async (name: string): Promise<Target> =>
  ((await import(`./${name}.ts`)) as { target: Target }).target;
