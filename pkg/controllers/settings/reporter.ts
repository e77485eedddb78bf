// Reports decisions when they change, and only then: a log line, an event, and the figures behind the metrics.
// Says in one sentence what was decided for a namespace, so that log lines and events of equal decisions are equal.
import { type DecisionSummary, summarize, summaryReasonOf } from './summary.ts';
import type { EventInput, EventRecorder } from '../../kubernetes/types.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { NamespaceDecision, ObjectDecision } from './context.ts';

interface Known {
  readonly summary: DecisionSummary;
  readonly owner: string;
  readonly reasons: readonly string[];
  readonly foreign: number;
  readonly fighting: boolean;
}

/** Events are cut at 1,024 characters by the API server, and a log line quotes what another writer wrote. */
const MAX_MESSAGE = 1_000;
const shorten = (message: string): string =>
  message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE - 1)}…` : message;

const eventOf = (decision: NamespaceDecision, { reason, message }: DecisionSummary): EventInput => ({
  regarding: decision.regarding,
  type: reason === 'Enabled' || reason === 'SettingDisabled' ? 'Normal' : 'Warning',
  reason: reason === 'Enabled' ? 'RoutingEnabled' : reason,
  message: shorten(message),
});

const fightOf = ({ regarding }: NamespaceDecision, fighting: readonly ObjectDecision[]): EventInput => {
  const names = fighting.map(({ kind, ref }) => `${kind} ${ref.name}`).join(', ');
  const message = `${names}: routing settings are overwritten repeatedly; they are repaired at most once a minute; metadata.managedFields names the other writer`;
  return { regarding, type: 'Warning', reason: 'SettingsOverwritten', message: shorten(message) };
};

export const createReporter = ({ logger, events }: { logger: Logger; events: Pick<EventRecorder, 'record'> }) => {
  const known = new Map<string, Known>();
  const adopted = new Set<string>();

  const announce = (decision: NamespaceDecision, summary: DecisionSummary, wrote: boolean): void => {
    const { namespace, owner } = decision;
    const before = known.get(namespace);
    const changed = before?.summary.fingerprint !== summary.fingerprint;
    const { reason, message } = summary;
    if (changed) logger.info('routing decided', { namespace, owner, reason, detail: shorten(message) });
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
      announce(decision, summary, written.length > 0 && before?.summary.fingerprint !== summary.fingerprint);
      for (const { kind, ref, plan } of written) {
        const changes = plan.kind === 'patch' ? plan.changes : [];
        logger.info('settings written', {
          kind,
          namespace,
          name: ref.name,
          changes: changes.map(
            ({ field, before: from, after }) => `${field}: ${from ?? '(unset)'} -> ${after ?? '(unset)'}`,
          ),
        });
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
        foreign: objects.reduce((sum, { plan }) => sum + plan.foreign.length, 0),
        fighting: fighting.length > 0,
      });
    },
    forget(namespace: string): void {
      known.delete(namespace);
      adopted.delete(namespace);
    },
    /** Objects by owner and reason, for metrics. */
    counts(): { owner: string; reason: string; objects: number }[] {
      const counts = new Map<string, { owner: string; reason: string; objects: number }>();
      for (const { owner, reasons } of known.values()) {
        for (const reason of reasons) {
          const entry = counts.get(`${owner}/${reason}`) ?? { owner, reason, objects: 0 };
          entry.objects += 1;
          counts.set(`${owner}/${reason}`, entry);
        }
      }
      return [...counts.values()];
    },
    /** Values of another writer that stand in the way. */
    foreignValues: (): number => [...known.values()].reduce((sum, { foreign }) => sum + foreign, 0),
    /** Namespaces whose settings are overwritten again and again. */
    fights: (): number => [...known.values()].filter(({ fighting }) => fighting).length,
  };
};

export type Reporter = ReturnType<typeof createReporter>;
