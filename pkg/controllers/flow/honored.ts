// Reads all meters periodically: whether measured connections to a Service go where hints say, for the status of its FlowPolicy.
import { keptIn } from '../../apis/values.ts';
import { pause } from '../../kubernetes/wait.ts';
import type { Uses } from '../../kubernetes/types.ts';
import { type ServiceCounts, type Verdict, createProofWindow, verdictOf } from '../../traffic/proof.ts';

/** A verdict holds for a Service that is quiet for less than this. */
const HOLDS_MS = 600_000;
/** A Service that was quiet for so long may be gone. */
const FORGOTTEN_MS = 86_400_000;
/** A status is written, so a verdict changes at most once in this time. */
const LEAST_BETWEEN_MS = 60_000;

interface Known {
  seenAt: number;
  /** The last reading found it honored. */
  honored: boolean;
  published?: { readonly verdict: Verdict; readonly at: number };
}

const isSame = (left: Verdict, right: Verdict): boolean =>
  left.status === right.status && left.reason === right.reason && left.nodes.join() === right.nodes.join();

export const createHonored = (
  options: Uses<'clock' | 'logger'> & {
    /** What each Node's meter judged since it began; rejects where none can be read. */
    read(signal: AbortSignal): Promise<ReadonlyMap<string, ServiceCounts>>;
    readonly intervalMs: number;
  },
) => {
  const { read, clock, intervalMs, logger } = options;
  const window = createProofWindow();
  const services = new Map<string, Known>();

  const publish = (known: Known, verdict: Verdict, now: number): void => {
    const { published: before } = known;
    if (before === undefined || (!isSame(before.verdict, verdict) && now - before.at >= LEAST_BETWEEN_MS))
      known.published = { verdict, at: now };
  };

  const once = async (signal: AbortSignal): Promise<void> => {
    // Without a reading verdicts grow old like those of quiet Services.
    const readings = await read(signal).catch((error: unknown) => {
      if (!signal.aborted) logger.warn('cannot read the traffic-meters', { error });
      return new Map<string, ServiceCounts>();
    });
    if (signal.aborted) return;
    const now = clock.monotonic();
    window.add(now, readings);
    for (const [key, nodes] of window.evidence()) {
      const known = keptIn<string, Known>(services, key, () => ({ seenAt: now, honored: false }));
      known.seenAt = now;
      const verdict = verdictOf(nodes);
      // True after two readings: the first may hold a handful of connections.
      if (verdict.status !== 'True' || known.honored) publish(known, verdict, now);
      known.honored = verdict.status === 'True';
    }
    for (const [key, known] of services) {
      if (now - known.seenAt >= FORGOTTEN_MS) services.delete(key);
      else if (now - known.seenAt >= HOLDS_MS) {
        known.honored = false;
        publish(known, verdictOf(new Map()), now);
      }
    }
  };

  return {
    /** What is known of a Service (`namespace/name`); undefined before anything is. */
    verdict: (key: string): Verdict | undefined => services.get(key)?.published?.verdict,
    /** Reads and judges until the signal aborts. */
    async run(signal: AbortSignal): Promise<void> {
      do await once(signal);
      while (await pause(clock, intervalMs, signal));
    },
  };
};
