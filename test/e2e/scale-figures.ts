// What the suites about load and scale measure, and its tables.
import type { Environment } from '../bench/environment.ts';
import { formatMegabytes, formatNumber } from '../bench/statistics.ts';
import { describeMachine, markdownTable } from '../bench/table.ts';
import type { Measurement } from './scale-commands.ts';
import type { HealthAnswers } from './scale-health.ts';
import type { Step } from './scale-objects.ts';

/** One thing that a controller did. */
export interface ControllerPhase {
  readonly name: string;
  readonly seconds: number;
  /** Its own. */
  readonly cpuSeconds: number;
  /** Of API server and etcd together; not in results of before it was counted. */
  readonly serverCpuSeconds?: number;
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
  readonly flow: readonly ControllerPhase[];
}

export interface ScaleCost {
  readonly endpointsPerService: number;
  /** The smallest first. */
  readonly steps: readonly StepCost[];
}

/** What was measured now takes the place of what was known of the same size; what was left out of the run stays. */
export const mergeScaleCost = (known: ScaleCost | undefined, now: ScaleCost): ScaleCost => {
  const steps = new Map(known?.steps.map((step) => [step.nodes, step]));
  for (const step of now.steps) {
    const { commands = [], flow = [] } = steps.get(step.nodes) ?? {};
    steps.set(step.nodes, {
      ...step,
      commands: step.commands.length === 0 ? commands : step.commands,
      flow: step.flow.length === 0 ? flow : step.flow,
    });
  }
  return { ...now, steps: [...steps.values()].sort((left, right) => left.nodes - right.nodes) };
};

const sizeOf = ({ nodes, services }: Step, { endpointsPerService }: ScaleCost): string[] =>
  [nodes, services, services * endpointsPerService].map((count) => formatNumber(count, 6));

const writesText = (writes: ControllerPhase['writes']): string => {
  const parts = Object.entries(writes).map(([kind, count]) => `${formatNumber(count, 6)} × ${kind}`);
  return parts.length === 0 ? 'none' : parts.join(', ');
};

const secondsText = (seconds: number): string => `${formatNumber(seconds)} s`;

const healthText = ({ asked, slowestSeconds, failed }: HealthAnswers): string =>
  asked === 0 ? '–' : `${secondsText(slowestSeconds)}${failed === 0 ? '' : `, ${failed} of ${asked} over 1 s`}`;

const PHASE_FIGURES = [
  'took',
  'CPU time',
  'cores',
  'CPU time of API server and etcd',
  'peak memory',
  'slowest health answer',
  'Lease, longest gap',
  'writes',
  'load',
];

const phaseFigures = (phase: ControllerPhase): string[] => {
  const { seconds, cpuSeconds, serverCpuSeconds, peakBytes, writes, health, leaseGapSeconds, load } = phase;
  return [
    secondsText(seconds),
    secondsText(cpuSeconds),
    formatNumber(cpuSeconds / seconds, 2),
    serverCpuSeconds === undefined ? '–' : secondsText(serverCpuSeconds),
    formatMegabytes(peakBytes),
    healthText(health),
    leaseGapSeconds === undefined ? '–' : secondsText(leaseGapSeconds),
    writesText(writes),
    formatNumber(load, 2),
  ];
};

const machineOf = (size: string, environment: Environment): string =>
  `- ${size}: ${describeMachine(environment).replace('Measured', 'measured')}`;

const limitText = ({ memoryBytes }: Step): string =>
  memoryBytes === undefined ? '' : ` The flow-controller had a memory limit of ${formatMegabytes(memoryBytes)}.`;

/** Everything in Markdown: cost against size of the commands, then of the flow-controller. */
export const formatScaleCost = (results: ScaleCost): string => {
  const { steps } = results;
  const commands = steps.flatMap((step) =>
    step.commands.map(({ command, wallMs, cpuSeconds, peakBytes, readBytes }) => [
      `\`${command}\``,
      sizeOf(step, results).join(' / '),
      secondsText(wallMs / 1_000),
      secondsText(cpuSeconds),
      formatMegabytes(peakBytes),
      formatMegabytes(readBytes),
    ]),
  );
  const flow = steps.flatMap((step) =>
    step.flow.map((phase) => [phase.name, sizeOf(step, results).join(' / '), ...phaseFigures(phase)]),
  );
  const size = 'Nodes / Services / endpoints';
  return [
    ...steps.map((step) => `${machineOf(`${formatNumber(step.nodes, 6)} Nodes`, step.environment)}${limitText(step)}`),
    '',
    markdownTable(['command', size, 'took', 'CPU time', 'peak memory', 'read'], commands),
    '',
    markdownTable(['flow-controller', size, ...PHASE_FIGURES], flow),
  ].join('\n');
};

/** The settings-reconciler with one number of shoots, measured in a run of its own. */
export interface ShootsStep {
  readonly shoots: number;
  /** Services that the setting changes. */
  readonly changing: number;
  readonly environment: Environment;
  readonly phases: readonly ControllerPhase[];
}

/** What was measured now takes the place of what was known of the same size. The smallest first. */
export const mergeShoots = (known: readonly ShootsStep[], now: ShootsStep): readonly ShootsStep[] =>
  [...known.filter(({ shoots }) => shoots !== now.shoots), now].sort((left, right) => left.shoots - right.shoots);

const writesPerSecond = ({ writes, seconds }: ControllerPhase): string =>
  formatNumber(Object.values(writes).reduce((sum, count) => sum + count, 0) / seconds, 3);

/** Cost against the number of shoots. */
export const formatShoots = (steps: readonly ShootsStep[]): string =>
  [
    ...steps.map(({ shoots, environment }) => machineOf(`${formatNumber(shoots, 6)} shoots`, environment)),
    '',
    markdownTable(
      ['settings-reconciler', 'shoots / Services to change', ...PHASE_FIGURES, 'writes a second'],
      steps.flatMap(({ shoots, changing, phases }) =>
        phases.map((phase) => [
          phase.name,
          `${formatNumber(shoots, 6)} / ${formatNumber(changing, 6)}`,
          ...phaseFigures(phase),
          writesPerSecond(phase),
        ]),
      ),
    ),
  ].join('\n');

/** A number of requests of one kind, from the first to the end of the last. */
export interface Phase {
  readonly name: string;
  readonly requests: number;
  readonly seconds: number;
}

/** PUTs of slices as their client sees them, with or without the webhook in the path, in turns. */
export interface SliceWrites {
  readonly atATime: number;
  readonly webhook: boolean;
  readonly writes: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface Process {
  readonly name: string;
  readonly residentBytes: number;
  readonly peakBytes: number;
  readonly cpuSeconds: number;
}

export interface LoadResults {
  readonly environment: Environment;
  readonly kubernetes: string;
  readonly scale: { readonly services: number; readonly endpoints: number; readonly namespaces: number };
  readonly phases: readonly Phase[];
  readonly writes: readonly SliceWrites[];
  readonly processes: readonly Process[];
  /** Requests of the settings reconciler over the whole run, by verb and resource. */
  readonly reconcilerRequests: Readonly<Record<string, number>>;
}

const milliseconds = (value: number): string => `${formatNumber(value)} ms`;

const addedBy = (writes: readonly SliceWrites[]): string[] =>
  [...new Set(writes.map(({ atATime }) => atATime))].map((atATime) => {
    const of = (webhook: boolean): SliceWrites | undefined =>
      writes.find((one) => one.atATime === atATime && one.webhook === webhook);
    const [without, through] = [of(false), of(true)];
    const added = (key: 'p50Ms' | 'p99Ms'): string => {
      const difference = (through?.[key] ?? 0) - (without?.[key] ?? 0);
      return difference > 0 ? milliseconds(difference) : 'nothing above the noise';
    };
    return `added with ${formatNumber(atATime)} at a time: p50 ${added('p50Ms')}, p99 ${added('p99Ms')}`;
  });

/** Everything in Markdown. */
export const formatLoad = (results: LoadResults): string => {
  const { environment, kubernetes, scale, phases, writes, processes, reconcilerRequests } = results;
  const requests = Object.entries(reconcilerRequests).map(([name, count]) => `${name} ${formatNumber(count, 6)}`);
  return [
    describeMachine(environment),
    `Kubernetes ${kubernetes}; ${formatNumber(scale.services, 6)} Services with ${formatNumber(scale.endpoints, 6)} endpoints in ${scale.namespaces} namespaces.`,
    '',
    markdownTable(
      ['phase', 'kind', 'requests', 'took', 'a second'],
      phases.map(({ name, requests: count, seconds }) => {
        const [what = '', kind = ''] = name.split(': ');
        return [what, kind, formatNumber(count, 6), `${formatNumber(seconds)} s`, formatNumber(count / seconds)];
      }),
    ),
    '',
    markdownTable(
      ['PUTs of a slice', 'webhook in the path', 'writes', 'a second', 'p50', 'p99'],
      writes.map(({ atATime, webhook, writes: count, perSecond, p50Ms, p99Ms }) => [
        `${atATime} at a time`,
        webhook ? 'yes' : 'no',
        formatNumber(count, 6),
        formatNumber(perSecond),
        milliseconds(p50Ms),
        milliseconds(p99Ms),
      ]),
    ),
    '',
    `${addedBy(writes).join('; ')}.`,
    '',
    markdownTable(
      ['process', '', 'resident', 'peak', 'CPU time'],
      processes.map(({ name, residentBytes, peakBytes, cpuSeconds }) => [
        name,
        '',
        formatMegabytes(residentBytes),
        formatMegabytes(peakBytes),
        `${formatNumber(cpuSeconds)} s`,
      ]),
    ),
    '',
    `Requests of the settings-reconciler over the whole run: ${requests.join(', ')}.`,
  ].join('\n');
};
