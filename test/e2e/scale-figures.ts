// SPDX-License-Identifier: Apache-2.0
// What the suite scale measures, step by step, as tables.
import type { Environment } from '../bench/environment.ts';
import type { Measurement } from '../bench/kubectl-topology/types.ts';
import { formatMegabytes, formatNumber } from '../bench/statistics.ts';
import { describeMachine, markdownTable } from '../bench/table.ts';
import type { Step } from './scale-world.ts';

/** One thing that the flow-controller did. */
export interface FlowPhase {
  readonly name: string;
  readonly seconds: number;
  /** Its own. */
  readonly cpuSeconds: number;
  /** Largest resident memory so far. */
  readonly peakBytes: number;
  /** Its writes by verb and resource, but for the Lease. */
  readonly writes: Readonly<Record<string, number>>;
}

export interface StepCost extends Step {
  /** How long the suite took to write the objects that this step added. */
  readonly writtenSeconds: number;
  readonly commands: readonly Measurement[];
  readonly flow: readonly FlowPhase[];
}

export interface ScaleCost {
  readonly environment: Environment;
  readonly endpointsPerService: number;
  readonly steps: readonly StepCost[];
}

const sizeOf = ({ nodes, services }: Step, { endpointsPerService }: ScaleCost): string[] =>
  [nodes, services, services * endpointsPerService].map((count) => formatNumber(count, 6));

const writesText = (writes: FlowPhase['writes']): string => {
  const parts = Object.entries(writes).map(([kind, count]) => `${formatNumber(count, 6)} × ${kind}`);
  return parts.length === 0 ? 'none' : parts.join(', ');
};

const secondsText = (seconds: number): string => `${formatNumber(seconds)} s`;

/** Everything in Markdown: cost against size of the commands, then of the flow-controller. */
export const formatScaleCost = (results: ScaleCost): string => {
  const { environment, steps } = results;
  const commands = steps.flatMap((step) =>
    step.commands.map(({ command, wallMs, cpuSeconds, peakBytes, readBytes = 0 }) => [
      `\`${command}\``,
      sizeOf(step, results).join(' / '),
      secondsText(wallMs / 1_000),
      secondsText(cpuSeconds),
      formatMegabytes(peakBytes),
      formatMegabytes(readBytes),
    ]),
  );
  const flow = steps.flatMap((step) =>
    step.flow.map(({ name, seconds, cpuSeconds, peakBytes, writes }) => [
      name,
      sizeOf(step, results).join(' / '),
      secondsText(seconds),
      secondsText(cpuSeconds),
      formatNumber(cpuSeconds / seconds),
      formatMegabytes(peakBytes),
      writesText(writes),
    ]),
  );
  const size = 'Nodes / Services / endpoints';
  return [
    describeMachine(environment),
    '',
    markdownTable(['command', size, 'took', 'CPU time', 'peak memory', 'read'], commands),
    '',
    markdownTable(['flow-controller', size, 'took', 'CPU time', 'cores', 'peak memory', 'writes'], flow),
  ].join('\n');
};
