// The targets by name; one is loaded only in the thread that feeds it.
import type { Target } from '../types.ts';

/** How many inputs each gets, relative to the others: more where more parties may write what is read. */
export const SHARES: Readonly<Record<string, number>> = {
  admission: 40,
  configuration: 10,
  kubeconfig: 8,
  files: 12,
  names: 2,
  load: 12,
  lists: 6,
  flow: 8,
  memory: 0.2,
  planner: 1,
  settings: 5,
};

const LOADERS: Readonly<Record<string, () => Promise<Target>>> = {
  admission: async () => (await import('./admission.ts')).admission,
  configuration: async () => (await import('./configuration.ts')).configuration,
  kubeconfig: async () => (await import('./kubeconfig.ts')).kubeconfigs,
  files: async () => (await import('./files.ts')).files,
  names: async () => (await import('./names.ts')).names,
  load: async () => (await import('./load.ts')).load,
  lists: async () => (await import('./lists.ts')).lists,
  flow: async () => (await import('./flow.ts')).flow,
  memory: async () => (await import('./memory.ts')).memory,
  planner: async () => (await import('./planner.ts')).planner,
  settings: async () => (await import('./settings.ts')).settings,
};

export const loadTarget = async (name: string): Promise<Target> => {
  const load = LOADERS[name];
  if (load === undefined) throw new Error(`there is no target ${name}: ${Object.keys(LOADERS).join(', ')}`);
  return load();
};
