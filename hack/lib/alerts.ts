// The alert rules of the chart as data, for the docs and for tests.
import { readFileSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parse } from 'yaml';

export const CHART = 'charts/gardener-extension-topology-aware-routing';
const FOLDER = `${CHART}/monitoring/alerts`;
const root = resolve(import.meta.dirname, '../..');

export interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  /** Prometheus' duration, for example `5m`. */
  readonly for: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

export interface AlertFile {
  /** Name of the command that the file's alerts are about; `commands`: all of them. */
  readonly about: string;
  readonly path: string;
  readonly rules: readonly AlertRule[];
  /** How many rules beside them record sums. */
  readonly records: number;
}

export const alertFiles = (): AlertFile[] =>
  readdirSync(join(root, FOLDER))
    .sort()
    .map((name) => {
      const path = `${FOLDER}/${name}`;
      const { groups } = parse(readFileSync(join(root, path), 'utf8')) as { groups: { rules: Partial<AlertRule>[] }[] };
      const all = groups.flatMap(({ rules }) => rules);
      const rules = all.filter((rule): rule is AlertRule => rule.alert !== undefined);
      return { about: name.replace('.yaml', ''), path, rules, records: all.length - rules.length };
    });
