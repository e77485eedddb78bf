// What a step of the demo works with: the cluster, the last snapshot, and ways to wait for and judge the next one.
import type { Child } from './cast.ts';
import type { DemoCluster } from './cluster.ts';
import type { Plant } from './plant.ts';
import * as screen from './screen.ts';
import { type ServiceRow, takeSnapshot } from './snapshot.ts';
import { until } from './until.ts';
import type { DemoPod } from './world.ts';

/** A Service's state that a step expects. */
export type Expectation = 'routed' | 'untouched';

export interface Stage {
  readonly cluster: DemoCluster;
  /** Minor version of the cluster, 30 for 1.30. */
  readonly minor: number;
  readonly children: readonly Child[];
  /** Pods that run now; steps that replace some keep it current. */
  pods: DemoPod[];
  rows: ServiceRow[];
  /** Labels, annotations and fields of every Service before anything was switched on. */
  original: Record<string, unknown>;
  /** The shop's clients, once it has opened. */
  plant?: Plant;
}

/** Judges one row: undefined is as expected, a string says what is not. */
export const judge = (row: ServiceRow, expectation: Expectation): string | undefined => {
  const name = `${row.namespace}/${row.name}`;
  if (expectation === 'untouched') {
    if (row.settings !== '–') return `${name} has settings although it should have none: ${row.settings}`;
    return row.hintedEndpoints === 0 ? undefined : `${name} still has ${row.hintedEndpoints} hints`;
  }
  if (row.settings === '–') return `${name} has no settings yet`;
  if (row.readyEndpoints === 0) return `${name} has no ready endpoints`;
  if (row.hintedEndpoints < row.readyEndpoints)
    return `${name} has ${row.hintedEndpoints} of ${row.readyEndpoints} hints`;
  return row.inZoneShare === 1 ? undefined : `${name} keeps ${Math.round(row.inZoneShare * 100)} % in its zone`;
};

/** Waits until every Service is as `expected` says, then prints what changed (else the namespace in `focus`) and remembers it. */
export const reach = async (
  stage: Stage,
  what: string,
  expected: (row: ServiceRow) => Expectation,
  focus?: string,
): Promise<void> => {
  let rows: ServiceRow[] = [];
  const condition = async () => {
    rows = await takeSnapshot(stage.cluster.client, stage.minor);
    return rows.map((row) => judge(row, expected(row))).find((finding) => finding !== undefined) ?? true;
  };
  const before = stage.rows;
  await until(what, condition);
  const changed = rows.filter((row) => !before.some((old) => JSON.stringify(old) === JSON.stringify(row)));
  const shown =
    changed.length > 0 ? changed : rows.filter(({ namespace }) => focus === undefined || namespace === focus);
  screen.table(shown, before);
  const routed = rows.filter((row) => expected(row) === 'routed').length;
  screen.good(`${what}: ${routed} Services keep their traffic in its zone, ${rows.length - routed} are left alone`);
  stage.rows = rows;
};
