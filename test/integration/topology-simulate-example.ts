// The shipped example of `kubectl topology simulate`, as its tests ask it.
import { resolve } from 'node:path';
import type { ModeReport, SimulationReport } from '../../pkg/diagnosis/simulate/simulate.ts';
import { topologyJson } from '../fixtures/topology-command.ts';

export const root = resolve(import.meta.dirname, '../..');
export const EXAMPLE = resolve(root, 'example/topology/cluster.yaml');
export const PRICES = resolve(root, 'example/topology/prices.yaml');
export const example = (...flags: string[]): string[] => ['simulate', 'checkout', '-f', EXAMPLE, ...flags];
export const DEMAND = 'eu-central-1a=2,eu-central-1b=0.5,eu-central-1c=0.5';

export const simulated = (...flags: string[]): Promise<SimulationReport> =>
  topologyJson<SimulationReport>(example(...flags));

export const modeOf = ({ modes }: SimulationReport, mode: string): ModeReport => {
  const found = modes.find((candidate) => candidate.mode === mode);
  if (found === undefined) throw new Error(`no mode ${mode}`);
  return found;
};
