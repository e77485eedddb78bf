// What the suite beside a real Envoy plays and measures, how it is judged, and its tables.
import { median } from '../bench/statistics.ts';
import { markdownTable } from '../bench/table.ts';
import { AFTER, BEFORE, HOT, REACTED, REACTING, USUAL, measureService, phasesOf } from './closed-loop-results.ts';
import type { Lengths, Phase, PlanChange, ZoneRates } from './closed-loop-results.ts';
import type { Played } from './closed-loop-run.ts';
import type { TrafficReport } from './closed-loop-ledger.ts';

/** The rival, and ours by two sources. */
export const ENVOYS = 'envoy';
export const OURS = ['pods', 'pairs'] as const;
export const WAYS = [ENVOYS, ...OURS] as const;

export interface Contest {
  readonly name: string;
  readonly title: string;
  readonly phases: readonly Phase[];
}

const LENGTHS: Lengths = { warmUp: 10, before: 12, reacting: 12, reacted: 12, settle: 46, after: 10 };

const around = (usual: ZoneRates, happens: Omit<Phase, 'name' | 'seconds'>, lengths: Partial<Lengths> = {}): Phase[] =>
  phasesOf({ ...LENGTHS, ...lengths }, usual, happens);

const TWO_HOT: ZoneRates = { a: 60, b: 50, c: 30 };
const OUTAGE: ZoneRates = { a: 90, b: 75, c: 15 };
const UNEVEN: ZoneRates = { a: 100, b: 50, c: 15 };
const UNEVEN_AFTER: ZoneRates = { a: 112, b: 30, c: 30 };

export const CONTESTS: readonly Contest[] = [
  {
    name: 'surge',
    title: 'the load of zone a is tripled to 120 % of its capacity',
    phases: around(USUAL, { demand: HOT }),
  },
  {
    name: 'two hot zones',
    title: 'zones a and b ask for 120 and 100 % of their capacity, all together for 80 %',
    phases: around(TWO_HOT, { demand: { a: 180, b: 150, c: 30 } }),
  },
  {
    name: 'outage',
    title: 'the Pods of zone b hang and are NotReady three seconds later, its clients stay',
    phases: around(OUTAGE, { demand: OUTAGE, dead: 'b', hangs: true }, { settle: 15 }),
  },
  {
    name: 'uneven',
    title: '67, 33 and 10 % of the capacity of each zone, then 75, 20 and 20 %',
    phases: [
      { name: 'warm-up', seconds: LENGTHS.warmUp, demand: UNEVEN, warmUp: true },
      { name: BEFORE, seconds: LENGTHS.before, demand: UNEVEN },
      { name: 'settling', seconds: 8, demand: UNEVEN_AFTER, warmUp: true },
      { name: AFTER, seconds: LENGTHS.before, demand: UNEVEN_AFTER },
    ],
  },
];

/** Of one way in one run; shares are 0..1. */
export interface Outcome {
  readonly way: string;
  /** From the end of the warm-up on. */
  readonly sent: number;
  /** By endpoints with a full queue: what a share of the load decides. */
  readonly refused: number;
  /** In time by nothing, as of Pods that hang: what a way sends to them is lost until they are NotReady. */
  readonly unanswered: number;
  /** From the beginning of what happens to the last loss of its last second that lost more than 1 %; 0: none did, null: to its end. */
  readonly reacts: number | null;
  readonly crossesBefore: number;
  /** Once a loop has had the time to react; null where nothing happens. */
  readonly crossesDuring: number | null;
  readonly crossesAfter: number;
  /** From the end of what happens until no more crosses than before and 5 points; null where nothing happens, or not until the end. */
  readonly settles: number | null;
  readonly p99Ms: number | null;
  readonly plans: readonly PlanChange[];
}

/** A second in which more is lost shows that nothing has reacted yet. */
const LOST = 0.01;
const SETTLED = 0.05;
const SETTLED_SECONDS = 5;

const within = (reports: readonly TrafficReport[], from: number, to: number): TrafficReport[] =>
  reports.filter(({ second }) => second >= from && second < to);

/** Requests without a good answer: refused by an endpoint, and all others. */
const lostOf = (reports: readonly TrafficReport[], way: string) => {
  const errors = reports.flatMap(({ clients }) => Object.entries(clients[way]?.errors ?? {}));
  const count = (of: boolean): number =>
    errors.reduce((sum, [code, number]) => sum + ((code === 'REFUSED') === of ? number : 0), 0);
  return { refused: count(true), unanswered: count(false) };
};

const reactionOf = (reports: readonly TrafficReport[], way: string, from: number, to: number): number | null => {
  let last = 0;
  for (let second = from; second < to; second += 1) {
    const own = within(reports, second, second + 1);
    if (measureService(own, way).errors <= LOST) continue;
    last = Math.max(...own.map(({ clients }) => clients[way]?.lastErrorAt ?? 0)) / 1_000 - from;
  }
  return last > to - from - 1 ? null : last;
};

const settlingOf = (reports: readonly TrafficReport[], way: string, from: number, to: number, before: number) => {
  let last = 0;
  for (let second = from; second + SETTLED_SECONDS <= to; second += 1) {
    const { crossZone } = measureService(within(reports, second, second + SETTLED_SECONDS), way);
    if (crossZone > before + SETTLED) last = second - from + 1;
  }
  return from + last + SETTLED_SECONDS > to ? null : last;
};

/** `reports`: of the whole run. */
export const outcomeOf = (
  way: string,
  played: readonly Played[],
  reports: readonly TrafficReport[],
  plans: readonly PlanChange[],
): Outcome => {
  const of = (name: string): Played | undefined => played.find(({ phase }) => phase.name === name);
  const figures = (phase: Played | undefined) => phase && measureService(within(reports, phase.from, phase.to), way);
  const [before, reacting, reacted, after] = [BEFORE, REACTING, REACTED, AFTER].map(of);
  const [begin, end] = [before?.from ?? 0, after?.to ?? 0];
  const all = measureService(within(reports, begin, end), way);
  const crossesBefore = figures(before)?.crossZone ?? 0;
  return {
    way,
    sent: all.sent,
    ...lostOf(within(reports, begin, end), way),
    reacts: reactionOf(reports, way, reacting?.from ?? begin, reacted?.to ?? end),
    crossesBefore,
    crossesDuring: figures(reacted)?.crossZone ?? null,
    crossesAfter: figures(after)?.crossZone ?? 0,
    settles: reacted === undefined ? null : settlingOf(reports, way, reacted.to, end, crossesBefore),
    p99Ms: (figures(reacted) ?? all).p99Ms,
    plans,
  };
};

export interface ContestRun {
  readonly contest: string;
  readonly outcomes: readonly Outcome[];
  /** Services of ours whose plan was in the rules of all kube-proxies. */
  readonly reached: readonly string[];
  /** The longest time that a program of Pods and clients was kept from its work, in milliseconds. */
  readonly lateMs: number;
}

/** Of several runs. */
export type Medians = Readonly<Record<Exclude<keyof Outcome, 'way' | 'plans'> | 'plans', number>>;

/** What never happened is later than all that did. */
const orLast = (value: number | null): number => value ?? Infinity;

export const mediansOf = (runs: readonly ContestRun[], way: string): Medians => {
  const all = runs.flatMap(({ outcomes }) => outcomes.filter((one) => one.way === way));
  const of = (value: (outcome: Outcome) => number): number => median(all.map(value));
  return {
    sent: of(({ sent }) => sent),
    refused: of(({ refused }) => refused),
    unanswered: of(({ unanswered }) => unanswered),
    reacts: of(({ reacts }) => orLast(reacts)),
    crossesBefore: of(({ crossesBefore }) => crossesBefore),
    crossesDuring: of(({ crossesDuring }) => orLast(crossesDuring)),
    crossesAfter: of(({ crossesAfter }) => crossesAfter),
    settles: of(({ settles }) => orLast(settles)),
    p99Ms: of(({ p99Ms }) => orLast(p99Ms)),
    plans: of(({ plans }) => plans.length),
  };
};

/** What is kept of a contest: the medians of its runs by way. JSON has null for what never happened. */
interface ContestMedians {
  readonly contest: string;
  readonly runs: number;
  readonly ways: Readonly<Record<string, Readonly<Record<keyof Medians, number | null>>>>;
}

export interface EnvoyResults {
  readonly kubernetes: string;
  readonly envoy: string;
  readonly contests: readonly ContestMedians[];
}

export const contestMedians = (runs: readonly ContestRun[]): ContestMedians[] =>
  [...Map.groupBy(runs, ({ contest }) => contest)].map(([contest, own]) => ({
    contest,
    runs: own.length,
    ways: Object.fromEntries(WAYS.map((way) => [way, mediansOf(own, way)])),
  }));

/** By how much ours may do worse than the rival. */
const LIMITS = { lost: 25, lostShare: 0.2, reactsSeconds: 2.5 } as const;

const percentOf = (share: number): string => `${(100 * share).toFixed(1)} %`;
const secondsOf = (seconds: number): string => (Number.isFinite(seconds) ? `${seconds.toFixed(1)} s` : 'never');

/** All in which ours does worse than it may beside the rival, by medians; empty: all is well. */
export const findingsBeside = (contest: string, ours: string, own: Medians, rival: Medians): string[] => {
  const findings: string[] = [];
  const must = (holds: boolean, text: string): void => void (holds || findings.push(`${contest}, ${ours}: ${text}`));
  const [lost, theirs] = [own, rival].map(({ refused, unanswered }) => refused + unanswered) as [number, number];
  must(
    lost <= Math.max(theirs + LIMITS.lost, theirs * (1 + LIMITS.lostShare)),
    `lost ${lost} requests, Envoy ${theirs}`,
  );
  must(
    own.reacts <= rival.reacts + LIMITS.reactsSeconds,
    `reacts after ${secondsOf(own.reacts)}, Envoy after ${secondsOf(rival.reacts)}`,
  );
  for (const [when, key] of [
    ['at rest', 'crossesBefore'],
    ['after', 'crossesAfter'],
  ] as const)
    must(
      own[key] === 0 || own[key] < rival[key],
      `crosses ${percentOf(own[key])} ${when}, Envoy ${percentOf(rival[key])}`,
    );
  return findings;
};

/** A zone without endpoints is left by kube-proxies themselves, and nothing has to leave an uneven one. */
const PLANNED: ReadonlySet<string> = new Set(['surge', 'two hot zones']);

/** Of all runs: where a plan is needed it has to reach the proxies in each. */
export const findingsOfRuns = (runs: readonly ContestRun[]): string[] =>
  [...Map.groupBy(runs, ({ contest }) => contest)].flatMap(([contest, own]) =>
    OURS.flatMap((ours) => {
      const absent = PLANNED.has(contest) ? own.filter(({ reached }) => !reached.includes(ours)) : [];
      const text = `${contest}, ${ours}: in ${absent.length} of ${own.length} runs no plan reached the kube-proxies`;
      return [
        ...(absent.length > 0 ? [text] : []),
        ...findingsBeside(contest, ours, mediansOf(own, ours), mediansOf(own, ENVOYS)),
      ];
    }),
  );

const TITLES: Readonly<Record<string, string>> = {
  [ENVOYS]: 'Envoy, `load_aware_locality`',
  pods: 'ours, load of Pods',
  pairs: 'ours, pairs of zones',
};

const row = (title: string, way: string, kept: ContestMedians['ways'][string]): string[] => {
  const { sent, refused, unanswered, plans } = kept;
  const [reacts, settles, p99Ms] = [orLast(kept.reacts), orLast(kept.settles), orLast(kept.p99Ms)];
  const [crossesBefore, crossesDuring, crossesAfter] = [
    orLast(kept.crossesBefore),
    orLast(kept.crossesDuring),
    orLast(kept.crossesAfter),
  ];
  const crosses = [crossesBefore, crossesDuring, crossesAfter].map((one) =>
    Number.isFinite(one) ? percentOf(one) : '–',
  );
  return [
    title,
    TITLES[way] ?? way,
    String(refused),
    String(unanswered),
    String(sent),
    secondsOf(reacts),
    ...crosses,
    Number.isFinite(crossesDuring) ? secondsOf(settles) : '–',
    `${Math.round(p99Ms)} ms`,
    way === ENVOYS ? '–' : String(plans),
  ];
};

const runsOf = (count: number): string => (count === 1 ? 'one run' : `${count} runs`);

/** A line a contest and way. */
export const formatContests = (contests: readonly ContestMedians[]): string => {
  const head = [
    '',
    '',
    'refused',
    'unanswered',
    'of',
    'reacts in',
    'crosses before',
    'during',
    'after',
    'settles in',
    'p99',
    'plans',
  ];
  const rows = CONTESTS.flatMap(({ name, title }) => {
    const kept = contests.find(({ contest }) => contest === name);
    if (kept === undefined) return [];
    return Object.entries(kept.ways).map(([way, medians], index) =>
      row(index === 0 ? `**${name}** (${runsOf(kept.runs)}): ${title}` : '', way, medians),
    );
  });
  return markdownTable(head, rows);
};
