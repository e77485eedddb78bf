// SPDX-License-Identifier: Apache-2.0
// What the suite scale measures, step by step, as tables.
import type { Environment } from '../bench/environment.ts';
import type { Measurement } from '../bench/kubectl-topology/types.ts';
import { formatMegabytes, formatNumber } from '../bench/statistics.ts';
import { describeMachine, markdownTable } from '../bench/table.ts';
import type { HealthAnswers } from './scale-health.ts';
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
  readonly health: HealthAnswers;
  /** Longest time between two renewals of the Lease. */
  readonly leaseGapSeconds?: number;
  /** 1-minute load average of the machine at the end. */
  readonly load: number;
}

/** A size, measured in a run of its own. */
export interface StepCost extends Step {
  readonly environment: Environment;
  readonly commands: readonly Measurement[];
  /** Empty where only the commands were measured. */
  readonly flow: readonly FlowPhase[];
}

export interface ScaleCost {
  readonly endpointsPerService: number;
  /** The smallest first. */
  readonly steps: readonly StepCost[];
}

/** What was measured now takes the place of what was known of the same size; what was left out of the run stays. */
export const mergeScaleCost = (known: ScaleCost | undefined, now: ScaleCost): ScaleCost => {
  const before = new Map(known?.steps.map((step) => [step.nodes, step]));
  for (const step of now.steps) {
    const { flow = [] } = before.get(step.nodes) ?? {};
    before.set(step.nodes, step.flow.length === 0 ? { ...step, flow } : step);
  }
  return { ...now, steps: [...before.values()].sort((left, right) => left.nodes - right.nodes) };
};

const sizeOf = ({ nodes, services }: Step, { endpointsPerService }: ScaleCost): string[] =>
  [nodes, services, services * endpointsPerService].map((count) => formatNumber(count, 6));

const writesText = (writes: FlowPhase['writes']): string => {
  const parts = Object.entries(writes).map(([kind, count]) => `${formatNumber(count, 6)} × ${kind}`);
  return parts.length === 0 ? 'none' : parts.join(', ');
};

const secondsText = (seconds: number): string => `${formatNumber(seconds)} s`;

const healthText = ({ asked, slowestSeconds, failed }: HealthAnswers): string =>
  asked === 0 ? '–' : `${secondsText(slowestSeconds)}${failed === 0 ? '' : `, ${failed} of ${asked} over 1 s`}`;

const machinesOf = ({ steps }: ScaleCost): string =>
  steps
    .map(({ nodes, environment }) => `- ${formatNumber(nodes, 6)} Nodes: ${describeMachine(environment).toLowerCase()}`)
    .join('\n');

/** Everything in Markdown: cost against size of the commands, then of the flow-controller. */
export const formatScaleCost = (results: ScaleCost): string => {
  const { steps } = results;
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
    step.flow.map(({ name, seconds, cpuSeconds, peakBytes, writes, health, leaseGapSeconds, load }) => [
      name,
      sizeOf(step, results).join(' / '),
      secondsText(seconds),
      secondsText(cpuSeconds),
      formatNumber(cpuSeconds / seconds, 2),
      formatMegabytes(peakBytes),
      healthText(health),
      leaseGapSeconds === undefined ? '–' : secondsText(leaseGapSeconds),
      writesText(writes),
      formatNumber(load, 2),
    ]),
  );
  const size = 'Nodes / Services / endpoints';
  const figures = ['took', 'CPU time', 'cores', 'peak memory', 'slowest health answer', 'Lease, longest gap', 'writes'];
  return [
    machinesOf(results),
    '',
    markdownTable(['command', size, 'took', 'CPU time', 'peak memory', 'read'], commands),
    '',
    markdownTable(['flow-controller', size, ...figures, 'load'], flow),
  ].join('\n');
};
