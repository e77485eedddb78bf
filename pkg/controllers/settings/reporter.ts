// Reports decisions when they change, and only then: a log line, an event, and the numbers behind the metrics.
import { sumBy } from '../../apis/values.ts';
import { isFaulty } from '../../gardener/decide.ts';
import type { EventInput, EventRecorder } from '../../kubernetes/types.ts';
import type { RoutingSettings } from '../../routing/types.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { WriteCause } from './apply.ts';
import type { NamespaceDecision, ObjectDecision } from './context.ts';

const titleOf = ({ kind, ref }: ObjectDecision): string => `${kind} ${ref.name}`;

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

const groupBySettings = (objects: readonly ObjectDecision[]): string[] =>
  [...Map.groupBy(objects, describeSettings)].map(([settings, own]) => `${own.map(titleOf).join(', ')}: ${settings}`);

const exceptionOf = (item: ObjectDecision): string =>
  `${titleOf(item)} is left out (${summaryReasonOf(item)}${item.decision.kind === 'refused' ? `: ${item.decision.message}` : ''})`;

const foreignOf = (item: ObjectDecision): string[] =>
  item.plan.foreign.map(
    ({ field, value }) => `${titleOf(item)} keeps a value of another writer: ${field}=${value} (ForeignValue)`,
  );

/** Equal decisions have equal words. `faulty`: the setting is on, but something is wrong that a person has to fix. */
export const summarize = ({ decision, source, objects }: NamespaceDecision) => {
  if (decision.kind === 'refused') {
    const details = (decision.violations ?? []).map(({ field, detail }) => `${field}: ${detail}`);
    const message = [decision.message, ...details].join('; ');
    return { reason: decision.reason, message, faulty: isFaulty(decision) };
  }
  const enabled = objects.filter((item) => item.decision.kind === 'enabled');
  const exceptions = objects.filter((item) => item.decision.kind === 'refused').map(exceptionOf);
  const parts = [
    enabled.length === 0 ? 'there is nothing to route by zone' : groupBySettings(enabled).join('; '),
    ...exceptions,
    ...objects.flatMap(foreignOf),
  ];
  const message = `routing by zone is on (setting read from ${source}); ${parts.join('; ')}`;
  return { reason: 'Enabled', message, faulty: objects.some((item) => isFaulty(item.decision)) };
};

type Summary = ReturnType<typeof summarize>;

const isSame = (one: Summary | undefined, { reason, message }: Summary): boolean =>
  one?.reason === reason && one.message === message;

interface Known {
  readonly summary: Summary;
  readonly owner: string;
  /** One for each object. */
  readonly reasons: readonly string[];
  /** Values of another writer that stand in the way. */
  readonly foreign: number;
  readonly fighting: boolean;
}

const eventOf = (decision: NamespaceDecision, { reason, message }: Summary): EventInput => ({
  regarding: decision.regarding,
  type: reason === 'Enabled' || reason === 'SettingDisabled' ? 'Normal' : 'Warning',
  reason: reason === 'Enabled' ? 'RoutingEnabled' : reason,
  message,
});

const fightOf = ({ regarding }: NamespaceDecision, fighting: readonly ObjectDecision[]): EventInput => {
  const names = fighting.map(titleOf).join(', ');
  const message = `${names}: routing settings are overwritten repeatedly; they are repaired at most once a minute; metadata.managedFields names the other writer`;
  return { regarding, type: 'Warning', reason: 'SettingsOverwritten', message };
};

export const createReporter = ({ logger, events }: { logger: Logger; events: Pick<EventRecorder, 'record'> }) => {
  const known = new Map<string, Known>();
  const adopted = new Set<string>();

  const announce = (decision: NamespaceDecision, summary: Summary, wrote: boolean): void => {
    const { namespace, owner } = decision;
    const before = known.get(namespace);
    const changed = !isSame(before?.summary, summary);
    const { reason, message } = summary;
    if (changed) logger.info('routing decided', { namespace, owner, reason, detail: message });
    // Nothing is written just because this process started: the process before reported the same decision.
    const firstLook = before === undefined && adopted.has(namespace) && !summary.faulty;
    const worthReporting = before !== undefined || reason !== 'SettingDisabled';
    if (wrote || (changed && !firstLook && worthReporting)) events.record(eventOf(decision, summary));
  };

  return {
    /** Namespaces that were there when this process became active: their unchanged decisions are logged, but no event repeats them. */
    adopt(namespaces: Iterable<string>): void {
      for (const namespace of namespaces) adopted.add(namespace);
    },
    report(decision: NamespaceDecision, written: readonly ObjectDecision[], fighting: readonly ObjectDecision[]): void {
      const { namespace, owner, objects } = decision;
      const summary = summarize(decision);
      const before = known.get(namespace);
      // A repair restores what was reported already.
      announce(decision, summary, written.length > 0 && !isSame(before?.summary, summary));
      for (const { kind, ref, plan } of written) {
        const changes = (plan.kind === 'patch' ? plan.changes : []).map(
          ({ field, before: from, after }) => `${field}: ${from ?? '(unset)'} -> ${after ?? '(unset)'}`,
        );
        logger.info('settings written', { kind, namespace, name: ref.name, changes });
      }
      if (fighting.length > 0 && before?.fighting !== true) {
        const event = fightOf(decision, fighting);
        logger.warn('settings are overwritten', { namespace, detail: event.message });
        events.record(event);
      }
      adopted.delete(namespace);
      known.set(namespace, {
        summary,
        owner,
        reasons: objects.map(summaryReasonOf),
        foreign: sumBy(objects, ({ plan }) => plan.foreign.length),
        fighting: fighting.length > 0,
      });
    },
    forget(namespace: string): void {
      known.delete(namespace);
      adopted.delete(namespace);
    },
    known: (): Iterable<Omit<Known, 'summary'>> => known.values(),
  };
};

export type Reporter = ReturnType<typeof createReporter>;

export const showSettings = (metrics: Metrics, known: Reporter['known']): void => {
  metrics.gauge({
    name: 'settings_objects',
    help: 'Services and Etcds by the mode that decides about them and by decision: Enabled, or the reason why not.',
    labels: ['owner', 'reason'],
    samples: () =>
      [...known()].flatMap(({ owner, reasons }) => reasons.map((reason) => [{ owner, reason }, 1] as const)),
  });
  metrics.gauge({
    name: 'settings_foreign_values',
    help: 'Topology settings of other writers that prevent zone-local routing.',
    samples: () => [[{}, sumBy([...known()], ({ foreign }) => foreign)]],
  });
  metrics.gauge({
    name: 'settings_fights',
    help: 'Namespaces whose settings another writer overwrites repeatedly.',
    samples: () => [[{}, [...known()].filter(({ fighting }) => fighting).length]],
  });
};

export const createWriteCounter = (metrics: Metrics): ((cause: WriteCause) => void) => {
  const writes = metrics.counter({
    name: 'settings_writes_total',
    help: 'Writes of Services by cause: a changed decision, repair of what another writer overwrote, or release.',
    labels: ['kind', 'cause'],
  });
  // The label is part of a stable metric; nothing but Services is written.
  return (cause) => writes.inc({ kind: 'Service', cause });
};
