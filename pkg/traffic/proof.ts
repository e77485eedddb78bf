// From what meters judged to a verdict about a Service: do its connections go where hints say, on every Node with traffic?
import { byText, firstFew, keptIn, sumBy } from '../apis/values.ts';
import { type Judgement, OUTCOMES, type Outcome } from './hints.ts';

export type OutcomeCounts = Readonly<Partial<Record<Outcome, number>>>;
/** By Service (`namespace/name`). */
export type ServiceCounts = ReadonlyMap<string, OutcomeCounts>;
export type NodeCounts = ReadonlyMap<string, OutcomeCounts>;

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

const JUDGED: readonly Outcome[] = ['Honored', 'Uncovered', ...FAULT_NAMES];

const at = (counts: OutcomeCounts, outcome: Outcome): number => counts[outcome] ?? 0;
const sum = (counts: OutcomeCounts, outcomes: readonly Outcome[]): number =>
  sumBy(outcomes, (outcome) => at(counts, outcome));

const isAtFault = (counts: OutcomeCounts, fault: Fault): boolean =>
  at(counts, fault) >= MIN_FAULTS && at(counts, fault) >= sum(counts, JUDGED) * MIN_SHARE;

const faultyVerdict = (nodes: NodeCounts, fault: Fault): Verdict | undefined => {
  const faulty = [...nodes].filter(([, counts]) => isAtFault(counts, fault)).sort(([a], [b]) => byText(a, b));
  if (faulty.length === 0) return undefined;
  const [reason, what] = FAULTS[fault];
  const named = faulty.map(([node, counts]) => `${node} ${at(counts, fault)} of ${sum(counts, JUDGED)}`);
  const message = `New connections ${what}: ${firstFew(named, MAX_NAMED)}.`;
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
    const message = `New connections through the cluster IP follow the hints on ${honoring.length} ${honoring.length === 1 ? 'Node' : 'Nodes'}.`;
    return { status: 'True', reason: 'Honored', message, nodes: [] };
  }
  const unhinted = [...nodes.values()].some((counts) => sum(counts, ['Unhinted', 'Uncovered']) > 0);
  return unhinted
    ? { status: 'Unknown', reason: 'NoHints', message: 'No hint names a zone that connections come from.', nodes: [] }
    : { status: 'Unknown', reason: 'NoTraffic', message: 'No meter has judged a new connection recently.', nodes: [] };
};

/** Connections that a meter judged between two readings. */
interface Step extends Pick<Judgement, 'service' | 'outcome'> {
  readonly at: number;
  readonly node: string;
  readonly count: number;
}

export const createProofWindow = () => {
  const last = new Map<string, ServiceCounts>();
  let steps: Step[] = [];

  const grown = (now: number, node: string, counts: ServiceCounts): Step[] => {
    const before = last.get(node);
    last.set(node, counts);
    // What a meter counted before it was first read may be as old as the meter.
    if (before === undefined) return [];
    return [...counts].flatMap(([service, own]) => {
      const known = before.get(service) ?? {};
      // A counter that went down began anew.
      const old = OUTCOMES.some((outcome) => at(own, outcome) < at(known, outcome)) ? {} : known;
      const step = { at: now, node, service };
      return OUTCOMES.map((outcome) => ({ ...step, outcome, count: at(own, outcome) - at(old, outcome) }));
    });
  };

  return {
    /** Counters of each meter at a monotonic time in milliseconds. What is older than the window is forgotten. */
    add(now: number, readings: ReadonlyMap<string, ServiceCounts>): void {
      const all = Array.from(readings, ([node, counts]) => grown(now, node, counts)).flat();
      const fresh = all.filter(({ count }) => count > 0);
      steps = [...steps.filter((step) => now - step.at < WINDOW_MS), ...fresh];
    },
    /** What was judged within the window, by Service and Node. */
    evidence(): Map<string, NodeCounts> {
      const services = new Map<string, Map<string, OutcomeCounts>>();
      for (const { service, node, outcome, count } of steps) {
        const nodes = keptIn(services, service, () => new Map<string, OutcomeCounts>());
        const counts = nodes.get(node) ?? {};
        nodes.set(node, { ...counts, [outcome]: at(counts, outcome) + count });
      }
      return services;
    },
  };
};
