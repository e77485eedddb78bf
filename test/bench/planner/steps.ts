// SPDX-License-Identifier: Apache-2.0
// How much of the gap between whole endpoints and traffic that divides at will is closed by hints for Nodes, for all small Services.
import { planHints } from '../../../pkg/flow/index.ts';
import { planNodeSteps } from '../../../pkg/flow/node-steps.ts';
import type { ClientNode } from '../../../pkg/flow/node-steps.ts';
import { percentile } from '../statistics.ts';
import { markdownTable } from '../table.ts';
import { smallCounts, smallShares } from './brute-force.ts';

const NAMES = ['a', 'b', 'c'];
const THETA = 0.2;
const MOST = 3;

const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);

/** Nodes of a zone that all ask for the same, or each for a part of its own: one, two, three, … parts. */
const nodesOf = (zone: string, demand: number, count: number, equal: boolean): ClientNode[] => {
  const parts = Array.from({ length: count }, (_, index) => (equal ? 1 : index + 1));
  return parts.map((part, index) => ({ name: `${zone}-node-${index}`, zone, demand: (demand * part) / sumOf(parts) }));
};

interface Outcome {
  readonly zones: number;
  readonly nodes: number;
  readonly lp: number;
  readonly milliseconds: number;
}

export const stepsOf = (shares: readonly number[], counts: readonly number[], per: number, equal: boolean): Outcome => {
  const total = sumOf(counts);
  const demandOf = (zone: number): number => ((shares[zone] ?? 0) * total) / sumOf(shares);
  const endpoints = counts.flatMap((count, zone) =>
    Array.from({ length: count }, (_, index) => ({
      name: `${NAMES[zone]}${index}`,
      zone: NAMES[zone] ?? '',
      capacity: 1,
    })),
  );
  const demand = Object.fromEntries(NAMES.map((name, zone) => [name, demandOf(zone)]));
  const plan = planHints({ endpoints, demand, targetUtilization: 1 + THETA });
  const hints = new Map(plan.endpoints.map(({ name, forZones }) => [name, forZones]));
  const nodes = NAMES.flatMap((name, zone) => nodesOf(name, demandOf(zone), (shares[zone] ?? 0) * per, equal));
  // CPU time: what else the machine does is not part of it.
  const begin = process.cpuUsage();
  const steps = planNodeSteps({
    endpoints: endpoints.map((endpoint) => ({ ...endpoint, forZones: hints.get(endpoint.name) ?? [] })),
    nodes,
    targetUtilization: 1 + THETA,
  });
  return {
    zones: plan.inZoneShare,
    nodes: steps?.inZoneShare ?? plan.inZoneShare,
    lp: plan.bounds.lp,
    milliseconds: process.cpuUsage(begin).user / 1_000,
  };
};

/** A row for each number of Nodes. */
export const stepsMarkdown = (): string => {
  const rows = [
    [1, true],
    [2, true],
    [4, true],
    [1, false],
  ].map(([per, equal]) => {
    const outcomes = smallShares().flatMap((shares) =>
      smallCounts(MOST).map((counts) => stepsOf(shares, counts, Number(per), equal === true)),
    );
    const mean = (value: (outcome: Outcome) => number): number => sumOf(outcomes.map(value)) / outcomes.length;
    const [zones, nodes, lp] = [mean((one) => one.zones), mean((one) => one.nodes), mean((one) => one.lp)];
    const times = outcomes.map(({ milliseconds }) => milliseconds);
    return [
      `${3 * Number(per)} to ${15 * Number(per)}${equal === true ? '' : ', unlike'}`,
      zones.toFixed(3),
      nodes.toFixed(3),
      lp.toFixed(3),
      `${((100 * (nodes - zones)) / (lp - zones)).toFixed(0)} %`,
      `${mean((one) => one.milliseconds).toPrecision(2)} ms`,
      `${percentile(times, 100).toPrecision(2)} ms`,
    ];
  });
  return markdownTable(
    ['Nodes with clients', 'in zone by zones', 'and by Nodes', 'bound', 'of the gap', 'CPU, mean', 'most'],
    rows,
  );
};
