// What each phase may cost, and what it did cost against that.
import type { Phase, ReconcilerResults } from './types.ts';

type Facts = Pick<ReconcilerResults, 'scale' | 'changing'>;

const WRITES = new Set(['create', 'update', 'patch', 'delete']);

/** Requests that change something, renewals of the Lease left out. */
export const writesOf = ({ counts }: Pick<Phase, 'counts'>): number =>
  Object.entries(counts).reduce((sum, [kind, count]) => {
    const [verb = '', resource] = kind.split(' ');
    return WRITES.has(verb) && resource !== 'leases' ? sum + count : sum;
  }, 0);

const exactly = (phase: Phase, kind: string, wanted: number): string[] => {
  const count = phase.counts[kind] ?? 0;
  return count === wanted ? [] : [`${phase.name}: ${count} × ${kind} instead of ${wanted}`];
};

const atMost = (phase: Phase, kind: string, limit: number): string[] => {
  const count = phase.counts[kind] ?? 0;
  return count <= limit ? [] : [`${phase.name}: ${count} × ${kind}, at most ${limit}`];
};

/**
 * The sandbox has no webhook, so no slice gets hints: hint repair resyncs one slice in each of three namespaces, says so in one event
 * about its own namespace, and backs off for a minute (`WITNESSES` in pkg/controllers/hint-repair/resync.ts).
 */
const RESYNCS = 3;
const UNAVAILABLE_EVENTS = 1;

const checkFlip = (phase: Phase, { scale, changing }: Facts): string[] => {
  const twice = Object.entries(phase.mostPatchesPerObject).filter(
    ([resource, most]) => resource !== 'leases' && most > 1,
  );
  const expected = [
    'patch services',
    'patch etcds',
    'patch namespaces',
    'patch endpointslices',
    'create events',
    'patch events',
  ];
  const accounted = expected.reduce((sum, kind) => sum + (phase.counts[kind] ?? 0), 0);
  return [
    ...exactly(phase, 'patch services', changing.services),
    ...exactly(phase, 'patch etcds', changing.etcds),
    ...atMost(phase, 'patch namespaces', scale.shoots),
    ...atMost(phase, 'patch endpointslices', RESYNCS),
    ...(phase.mostEventsPerObject > 1 ? [`${phase.name}: ${phase.mostEventsPerObject} events about one Cluster`] : []),
    ...twice.map(([resource, most]) => `${phase.name}: one of the ${resource} was written ${most} times`),
    ...(writesOf(phase) === accounted
      ? []
      : [`${phase.name}: ${writesOf(phase) - accounted} writes of an unexpected kind`]),
  ];
};

const checkQuiet = (phase: Phase): string[] =>
  writesOf(phase) === 0 ? [] : [`${phase.name}: ${writesOf(phase)} writes instead of none`];

/** A process that takes over repeats no setting and no label. */
const checkRestart = (phase: Phase): string[] => {
  const {
    'patch endpointslices': resyncs = 0,
    'create events': created = 0,
    'patch events': repeated = 0,
  } = phase.counts;
  const others = writesOf(phase) - resyncs - created - repeated;
  return [
    ...atMost(phase, 'patch endpointslices', RESYNCS),
    ...(created + repeated <= UNAVAILABLE_EVENTS ? [] : [`${phase.name}: ${created + repeated} events, at most 1`]),
    ...(others === 0 ? [] : [`${phase.name}: ${others} writes instead of none`]),
  ];
};

const checkSteady = (phase: Phase): string[] =>
  Object.entries(phase.counts)
    .filter(([kind]) => !kind.startsWith('watch ') && !kind.endsWith(' leases') && kind !== 'raw /version')
    .map(([kind, count]) => `${phase.name}: ${count} × ${kind}`);

/** Everything that is not as it must be; empty is good. */
export const findProblems = (phases: readonly Phase[], facts: Facts): string[] =>
  phases.flatMap((phase) => {
    const connections =
      phase.connections === 1 ? [] : [`${phase.name}: ${phase.connections} connections instead of one`];
    switch (phase.name) {
      case 'on':
      case 'off':
        return [...checkFlip(phase, facts), ...connections];
      case 'start':
        return [...checkQuiet(phase), ...connections];
      case 'restart':
        return [...checkRestart(phase), ...connections];
      case 'steady':
        return [...checkSteady(phase), ...connections];
    }
  });
