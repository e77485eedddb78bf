// Says in one sentence what was decided for a namespace, so that log lines and events of equal decisions are equal. Pure.
import type { RoutingSettings } from '../../routing/types.ts';
import type { NamespaceDecision, ObjectDecision } from './context.ts';

/** What is reported about a namespace. Two summaries with the same `fingerprint` report the same. */
export interface DecisionSummary {
  /** `Enabled`, or the reason of the refusal. */
  readonly reason: string;
  readonly message: string;
  readonly fingerprint: string;
  /** The setting is on, but something is wrong that a person has to fix. */
  readonly faulty: boolean;
}

/** Refusals that are no state of normal operation. */
const FAULTS = new Set([
  'SingleZone',
  'DuplicateZones',
  'NotHighlyAvailable',
  'ConflictingMode',
  'ConfigurationInvalid',
]);

const titleOf = ({ kind, ref }: ObjectDecision): string => `${kind} ${ref.name}`;

/** `Enabled` or the reason of the refusal. */
export const summaryReasonOf = ({ decision }: Pick<ObjectDecision, 'decision'>): string =>
  decision.kind === 'enabled' ? 'Enabled' : decision.reason;

/** `trafficDistribution=PreferSameZone`, or the labels and annotations where there is no field. */
export const describeSettings = ({ kind, want }: Pick<ObjectDecision, 'kind' | 'want'>): string => {
  if (want === undefined) return 'nothing';
  if (kind === 'Etcd') return `hints at once, ${settingsText(want)} with etcd-druid's next write of the client Service`;
  return settingsText(want);
};

const settingsText = (want: RoutingSettings): string => {
  const maps = Object.entries({ ...want.labels, ...want.annotations }).map(([key, value]) => `${key}=${value}`);
  const field = want.trafficDistribution === undefined ? [] : [`trafficDistribution=${want.trafficDistribution}`];
  return [...field, ...maps].join(', ');
};

const groupBySettings = (objects: readonly ObjectDecision[]): string[] => {
  const groups = new Map<string, string[]>();
  for (const item of objects) {
    const settings = describeSettings(item);
    groups.set(settings, [...(groups.get(settings) ?? []), titleOf(item)]);
  }
  return [...groups].map(([settings, titles]) => `${titles.join(', ')}: ${settings}`);
};

const exceptionOf = (item: ObjectDecision): string =>
  `${titleOf(item)} is left out (${summaryReasonOf(item)}${item.decision.kind === 'refused' ? `: ${item.decision.message}` : ''})`;

const foreignOf = (item: ObjectDecision): string[] =>
  item.plan.foreign.map(
    ({ field, value }) => `${titleOf(item)} keeps a value of another writer: ${field}=${value} (ForeignValue)`,
  );

export const summarize = ({ decision, source, objects }: NamespaceDecision): DecisionSummary => {
  const faultyObject = objects.some((item) => FAULTS.has(summaryReasonOf(item)));
  if (decision.kind === 'refused') {
    const details = (decision.violations ?? []).map(({ field, detail }) => `${field}: ${detail}`);
    const message = [decision.message, ...details].join('; ');
    const { reason } = decision;
    return { reason, message, fingerprint: `${reason}|${message}`, faulty: FAULTS.has(reason) };
  }
  const enabled = objects.filter((item) => item.decision.kind === 'enabled');
  const exceptions = objects.filter((item) => item.decision.kind === 'refused').map(exceptionOf);
  const parts = [
    enabled.length === 0 ? 'there is nothing to route by zone' : groupBySettings(enabled).join('; '),
    ...exceptions,
    ...objects.flatMap(foreignOf),
  ];
  const message = `routing by zone is on (setting read from ${source}); ${parts.join('; ')}`;
  return { reason: 'Enabled', message, fingerprint: `Enabled|${message}`, faulty: faultyObject };
};
