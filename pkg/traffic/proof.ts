// From what meters judged to a verdict about a Service: do its connections go where hints say, on every Node with traffic?
import type { Outcome } from './hints.ts';

/** Connections by outcome. */
export type OutcomeCounts = Readonly<Partial<Record<Outcome, number>>>;
/** By Service (`namespace/name`). */
export type ServiceCounts = ReadonlyMap<string, OutcomeCounts>;
/** By Node. */
export type NodeCounts = ReadonlyMap<string, OutcomeCounts>;

/** Reasons of the condition. */
export type ProofReason =
  'Honored' | 'HintsIgnored' | 'HintsIncomplete' | 'EndpointMisplaced' | 'ProxyBypassed' | 'NoHints' | 'NoTraffic';

export interface Verdict {
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: ProofReason;
  readonly message: string;
  /** Nodes at fault, sorted; none unless False. */
  readonly nodes: readonly string[];
}

/** What counts: long enough for a Service with a connection a second on each Node, short enough to see a fault within a minute. */
export const WINDOW_MS = 60_000;

const FAULTS = {
  Ignored: ['HintsIgnored', 'went to endpoints that are not hinted for their zone'],
  Incomplete: ['HintsIncomplete', 'went to any zone, because a ready endpoint has no hints'],
  Misplaced: ['EndpointMisplaced', 'went to endpoints whose Nodes are in another zone than their slices say'],
  Bypassed: ['ProxyBypassed', 'addressed endpoints of other zones directly'],
} as const;
type Fault = keyof typeof FAULTS;
const FAULT_NAMES = Object.keys(FAULTS) as Fault[];

/** One or two may have raced a change; of many, a twentieth is a fault. */
const MIN_FAULTS = 3;
const MIN_SHARE = 0.05;
const MAX_NAMED = 5;

const at = (counts: OutcomeCounts, outcome: Outcome): number => counts[outcome] ?? 0;
const sum = (counts: OutcomeCounts, outcomes: readonly Outcome[]): number =>
  outcomes.reduce((total, outcome) => total + at(counts, outcome), 0);

const isAtFault = (counts: OutcomeCounts, fault: Fault): boolean => {
  const judged = sum(counts, ['Honored', 'Uncovered', ...FAULT_NAMES]);
  return at(counts, fault) >= MIN_FAULTS && at(counts, fault) >= judged * MIN_SHARE;
};

const faultyVerdict = (nodes: NodeCounts, fault: Fault): Verdict | undefined => {
  const faulty = [...nodes].filter(([, counts]) => isAtFault(counts, fault)).sort(([a], [b]) => (a < b ? -1 : 1));
  if (faulty.length === 0) return undefined;
  const [reason, what] = FAULTS[fault];
  const judged = ['Honored', 'Uncovered', ...FAULT_NAMES] as const;
  const named = faulty
    .slice(0, MAX_NAMED)
    .map(([node, counts]) => `${node} ${at(counts, fault)} of ${sum(counts, judged)}`);
  const more = faulty.length > MAX_NAMED ? ` and ${faulty.length - MAX_NAMED} more Nodes` : '';
  const message = `New connections ${what}: ${named.join(', ')}${more}.`;
  return { status: 'False', reason, message, nodes: faulty.map(([node]) => node) };
};

/** The verdict about one Service; `nodes` are those whose meters judged a connection to it. */
export const verdictOf = (nodes: NodeCounts): Verdict => {
  for (const fault of FAULT_NAMES) {
    const verdict = faultyVerdict(nodes, fault);
    if (verdict !== undefined) return verdict;
  }
  const honoring = [...nodes.values()].filter((counts) => at(counts, 'Honored') > 0);
  if (honoring.length > 0) {
    const message = `New connections of ${honoring.length} ${honoring.length === 1 ? 'Node' : 'Nodes'} follow the hints.`;
    return { status: 'True', reason: 'Honored', message, nodes: [] };
  }
  const unhinted = [...nodes.values()].some((counts) => sum(counts, ['Unhinted', 'Uncovered']) > 0);
  return unhinted
    ? { status: 'Unknown', reason: 'NoHints', message: 'No hint names a zone that connections come from.', nodes: [] }
    : { status: 'Unknown', reason: 'NoTraffic', message: 'No meter has judged a new connection recently.', nodes: [] };
};

/** A counter that went down began anew. */
const growth = (before: OutcomeCounts, after: OutcomeCounts): OutcomeCounts => {
  const began = Object.entries(before).some(([outcome, count]) => (after[outcome as Outcome] ?? 0) < count);
  if (began) return after;
  return Object.fromEntries(
    Object.entries(after).map(([outcome, count]) => [outcome, count - (before[outcome as Outcome] ?? 0)]),
  );
};

const isEmpty = (counts: OutcomeCounts): boolean => Object.values(counts).every((count) => count === 0);

const added = (left: OutcomeCounts, right: OutcomeCounts): OutcomeCounts => {
  const total: Partial<Record<Outcome, number>> = { ...left };
  for (const [outcome, count] of Object.entries(right))
    total[outcome as Outcome] = (total[outcome as Outcome] ?? 0) + count;
  return total;
};

interface Step {
  readonly at: number;
  readonly node: string;
  readonly service: string;
  readonly counts: OutcomeCounts;
}

export const createProofWindow = () => {
  const last = new Map<string, ServiceCounts>();
  let steps: Step[] = [];

  const grown = (now: number, node: string, counts: ServiceCounts): Step[] => {
    const before = last.get(node);
    last.set(node, counts);
    // What a meter counted before it was first read may be as old as the meter.
    if (before === undefined) return [];
    return [...counts]
      .map(([service, own]) => ({ at: now, node, service, counts: growth(before.get(service) ?? {}, own) }))
      .filter((step) => !isEmpty(step.counts));
  };

  return {
    /** Counters of each meter at a monotonic time in milliseconds. What is older than the window is forgotten. */
    add(now: number, readings: ReadonlyMap<string, ServiceCounts>): void {
      const kept = steps.filter((step) => now - step.at < WINDOW_MS);
      steps = [...kept, ...[...readings].flatMap(([node, counts]) => grown(now, node, counts))];
    },
    /** What was judged within the window, by Service and Node. */
    evidence(): Map<string, NodeCounts> {
      const services = new Map<string, Map<string, OutcomeCounts>>();
      for (const { service, node, counts } of steps) {
        const nodes = services.get(service) ?? new Map<string, OutcomeCounts>();
        services.set(service, nodes);
        nodes.set(node, added(nodes.get(node) ?? {}, counts));
      }
      return services;
    },
  };
};
