// The benchmark of rules in pieces that know nothing of each other: one rule in one scenario, one workload of SLATE's experiment.
import { DEFAULT_LOOP_POLICY } from '../../../pkg/flow/loop/from-spec.ts';
import { simulate } from '../loop/plant.ts';
import { loopRule } from '../loop/rules.ts';
import { SCENARIOS } from '../loop/scenarios.ts';
import { COMPARED } from './rules.ts';
import * as slate from './slate.ts';
import { best, ENVOYS, meanExperience, OURS } from './table.ts';
import type { RuleScenario, SlateRow } from './table.ts';

const CAPS = [300, 500, 700];
const ENDPOINTS = [3, 6];
/** Each with the threshold as far above it as by default. */
const TARGETS = [0.6, 0.7, 0.8];
const SLATE_SEED = 1;

/** What is run of everything. */
export interface Selection {
  /** Only scenarios and rules whose name contains the text. */
  readonly scenario: string;
  readonly rule: string;
  readonly seeds: number;
}

export type Piece =
  | { readonly kind: 'rule'; readonly rule: string; readonly scenario: string }
  | { readonly kind: 'slate'; readonly delays: string; readonly workload: string };

export type PieceOutcome =
  | { readonly kind: 'rule'; readonly rule: string; readonly scenario: RuleScenario }
  | { readonly kind: 'slate'; readonly delays: string; readonly row: SlateRow };

const DELAYS: Readonly<Record<string, slate.Delay>> = {
  'Clusters 10 to 33 ms apart, as published': slate.publishedDelay,
  'Zones of one region, 0.5 to 1.5 ms apart': slate.regionalDelay,
};

/** In the order of the tables; the same for the same selection. */
export const piecesOf = ({ scenario, rule }: Selection): Piece[] => {
  const scenarios = SCENARIOS.filter(({ name }) => name.includes(scenario));
  const rules = COMPARED.filter(({ name }) => name.includes(rule));
  return [
    ...rules.flatMap((one) =>
      scenarios.map((each) => ({ kind: 'rule', rule: one.name, scenario: each.name }) as const),
    ),
    ...Object.keys(DELAYS).flatMap((delays) =>
      slate.WORKLOADS.map(({ name }) => ({ kind: 'slate', delays, workload: name }) as const),
    ),
  ];
};

const named = <T extends { readonly name: string }>(all: readonly T[], name: string): T => {
  const found = all.find((one) => one.name === name);
  if (found === undefined) throw new Error(`nothing is named ${name}`);
  return found;
};

const slateRow = (load: slate.Workload, delay: slate.Delay): SlateRow => {
  const fixed = (split: slate.Split): slate.SlateOutcome => slate.runFixed(load, split, delay, SLATE_SEED);
  const withTarget = (targetUtilization: number, endpointsEach: number): slate.SlateOutcome => {
    const { upperUtilization, targetUtilization: usual } = DEFAULT_LOOP_POLICY;
    const policy = {
      ...DEFAULT_LOOP_POLICY,
      targetUtilization,
      upperUtilization: targetUtilization + upperUtilization - usual,
    };
    return slate.runRule(load, loopRule(policy), { endpointsEach, delay }, SLATE_SEED);
  };
  const followed = (name: string, endpointsEach: number): slate.SlateOutcome => {
    const { rule, everySeconds } = named(COMPARED, name);
    return slate.runRule(load, rule, { endpointsEach, delay, ...(everySeconds && { everySeconds }) }, SLATE_SEED);
  };
  return {
    name: load.name,
    published: load.published,
    local: fixed(slate.local),
    waterfall: CAPS.map((cap) => fixed(slate.waterfallByClass(load, cap, delay))),
    optimum: fixed(slate.classBlindOptimum(load, delay)),
    envoy: followed(ENVOYS, Math.max(...ENDPOINTS)),
    ours: ENDPOINTS.map((count) => followed(OURS, count)),
    tuned: ENDPOINTS.map((count) => best(TARGETS.map((target) => withTarget(target, count)))),
  };
};

export const runPiece = (piece: Piece, { seeds }: Selection): PieceOutcome => {
  if (piece.kind === 'slate') {
    const delay = DELAYS[piece.delays] ?? slate.publishedDelay;
    return { kind: 'slate', delays: piece.delays, row: slateRow(named(slate.WORKLOADS, piece.workload), delay) };
  }
  const { rule, everySeconds } = named(COMPARED, piece.rule);
  const scenario = named(SCENARIOS, piece.scenario);
  const runs = Array.from({ length: seeds }, (_, index) => simulate(scenario, rule, index + 1, everySeconds));
  const metrics = scenario.metricsGap === undefined;
  return { kind: 'rule', rule: piece.rule, scenario: { name: scenario.name, metrics, ...meanExperience(runs) } };
};
