// Reads all meters now and then, and writes a condition on each Service that asks for routing by zone: do its connections go there?
import type { Service } from '../../apis/core.ts';
import { ANNOTATION_TOPOLOGY_AWARE_HINTS, ANNOTATION_TOPOLOGY_MODE } from '../../apis/names.ts';
import { LABEL_CONSIDER, LABEL_STRATEGY } from '../../apis/names.ts';
import { keyOf } from '../../apis/values.ts';
import { sleep } from '../../kubernetes/wait.ts';
import type { Clock } from '../../kubernetes/types.ts';
import type { Logger } from '../../telemetry/log.ts';
import { createProofWindow, verdictOf } from '../../traffic/proof.ts';
import type { NodeCounts, ServiceCounts, Verdict } from '../../traffic/proof.ts';
import { type ConditionWriter, LEAST_BETWEEN_MS, honoredIn } from './condition-writer.ts';

export interface AggregatorOptions {
  /** What each Node's meter judged since it began; rejects where none can be read. */
  read(signal: AbortSignal): Promise<ReadonlyMap<string, ServiceCounts>>;
  /** All Services of the cluster. */
  services(): readonly Service[];
  /** Namespaces whose Services are never written. */
  readonly excludedNamespaces: readonly string[];
  /** Undefined: Services are not written, and only `verdict` shows the result. */
  readonly writer: ConditionWriter | undefined;
  readonly clock: Clock;
  readonly intervalMs: number;
  readonly logger: Logger;
}

/** A verdict holds for a Service that is quiet for less than this. */
const HOLDS_MS = 600_000;

/** Whether anything that the project recognises asks for hints. */
export const asksForHints = ({ metadata = {}, spec = {} }: Service): boolean => {
  const { labels = {}, annotations = {} } = metadata;
  const mode = annotations[ANNOTATION_TOPOLOGY_MODE] ?? annotations[ANNOTATION_TOPOLOGY_AWARE_HINTS] ?? '';
  return (
    (spec.trafficDistribution ?? '') !== '' ||
    labels[LABEL_STRATEGY] !== undefined ||
    labels[LABEL_CONSIDER] === 'true' ||
    mode.toLowerCase() === 'auto'
  );
};

const isSame = (left: Verdict, right: Verdict): boolean =>
  left.status === right.status && left.reason === right.reason && left.nodes.join() === right.nodes.join();

export const createAggregator = (options: AggregatorOptions) => {
  const { read, services, excludedNamespaces, writer, clock, intervalMs, logger } = options;
  const window = createProofWindow();
  const seenAt = new Map<string, number>();
  /** Services that one reading found honored. */
  const honoredOnce = new Set<string>();
  const published = new Map<string, { readonly verdict: Verdict; readonly at: number }>();

  /** True after two readings: the first may hold a handful of connections, and what is written stands for a minute. */
  const confirmed = (key: string, verdict: Verdict): Verdict | undefined => {
    const isSecond = honoredOnce.has(key);
    if (verdict.status === 'True') honoredOnce.add(key);
    else honoredOnce.delete(key);
    return verdict.status === 'True' && !isSecond ? undefined : verdict;
  };

  /** What FlowPolicies say: changed as seldom as conditions are written, and for the same reasons. */
  const publish = (key: string, verdict: Verdict): void => {
    writer?.set(key, verdict);
    const before = published.get(key);
    const now = clock.monotonic();
    if (before === undefined || (!isSame(before.verdict, verdict) && now - before.at >= LEAST_BETWEEN_MS))
      published.set(key, { verdict, at: now });
  };

  const forget = (key: string): void => {
    published.delete(key);
    seenAt.delete(key);
    honoredOnce.delete(key);
  };

  /** Undefined: what was said stays. */
  const decide = (key: string, nodes: NodeCounts | undefined): Verdict | undefined => {
    const now = clock.monotonic();
    if (nodes !== undefined) {
      seenAt.set(key, now);
      return confirmed(key, verdictOf(nodes));
    }
    const seen = seenAt.get(key);
    if (seen === undefined || now - seen < HOLDS_MS) return undefined;
    seenAt.delete(key);
    honoredOnce.delete(key);
    return verdictOf(new Map());
  };

  const judge = (): void => {
    const evidence = window.evidence();
    const present = new Set<string>();
    for (const service of services()) {
      const key = keyOf(service);
      present.add(key);
      if (excludedNamespaces.includes(service.metadata?.namespace ?? '')) continue;
      if (!asksForHints(service)) {
        // Also what a leader before this one wrote.
        if (honoredIn(service) !== undefined || published.has(key)) writer?.withdraw(key);
        forget(key);
        continue;
      }
      const verdict = decide(key, evidence.get(key));
      if (verdict !== undefined) publish(key, verdict);
    }
    writer?.keep(present);
    for (const key of [...seenAt.keys(), ...published.keys()]) if (!present.has(key)) forget(key);
  };

  const once = async (signal: AbortSignal): Promise<void> => {
    // Without a reading verdicts grow old like those of quiet Services.
    const readings = await read(signal).catch((error: unknown) => {
      signal.throwIfAborted();
      logger.warn('cannot read the traffic-meters', { error });
      return new Map<string, ServiceCounts>();
    });
    window.add(clock.monotonic(), readings);
    judge();
  };

  return {
    /** What is known of a Service (`namespace/name`); undefined before anything is. */
    verdict: (key: string): Verdict | undefined => published.get(key)?.verdict,
    /** Reads and judges until the signal aborts. */
    async run(signal: AbortSignal): Promise<void> {
      const writing = writer?.run(signal);
      try {
        while (!signal.aborted) {
          await once(signal);
          await sleep(clock, intervalMs, signal);
        }
      } catch (error) {
        if (!signal.aborted) throw error;
      } finally {
        await writing;
      }
    },
  };
};
