// Follows the API server's version: older at once, newer when it is stable and a trial write of its settings was accepted.
import { sleep } from '../../kubernetes/sleep.ts';
import type { Client, Clock } from '../../kubernetes/types.ts';
import type { KubernetesVersion } from '../../routing/types.ts';
import { compareVersions, formatVersion, isNewerThanKnown, parseKubernetesVersion } from '../../routing/version.ts';
import type { Logger } from '../../telemetry/types.ts';

/** What is known about the API server's version. */
export interface VersionState {
  /** The version that decides the mechanism; undefined until the first answer. */
  readonly current?: KubernetesVersion;
  /** A newer version that is answered without a break since `since` (monotonic milliseconds). */
  readonly candidate?: { readonly version: KubernetesVersion; readonly since: number };
  /** Without `current`: objects carry settings of this version, which a process before this one wrote. */
  readonly carried?: KubernetesVersion;
}

/** `ready`: the candidate was stable for long enough; it may be taken once a trial write is accepted. */
interface VersionStep {
  readonly state: VersionState;
  readonly ready?: KubernetesVersion;
}

export const INITIAL_VERSION: VersionState = {};

/**
 * One answer of `/version`. Older takes effect at once, because its API server may refuse the newer values; newer waits
 * until nothing else was answered for `stableMs`, because a write may still reach an API server of the old version.
 */
export const stepVersion = (
  state: VersionState,
  answer: KubernetesVersion,
  now: number,
  stableMs: number,
): VersionStep => {
  const { carried, candidate } = state;
  const waits = carried !== undefined && compareVersions(answer, carried) > 0;
  const current = state.current ?? (waits ? carried : undefined);
  if (current === undefined || compareVersions(answer, current) < 0) return { state: { current: answer } };
  if (compareVersions(answer, current) === 0) return { state: { current } };
  const same = candidate !== undefined && compareVersions(candidate.version, answer) === 0;
  const since = same ? candidate.since : now;
  const next: VersionState = { current, candidate: { version: answer, since } };
  return now - since >= stableMs ? { state: next, ready: answer } : { state: next };
};

/**
 * The state of a process that has just learnt what its predecessor wrote. A newer answer than that is only a candidate:
 * the restart may have happened in the middle of a rolling upgrade.
 */
export const resumeVersion = (state: VersionState, carried: KubernetesVersion, now: number): VersionState => {
  const { current } = state;
  if (current === undefined) return { carried };
  return compareVersions(current, carried) > 0
    ? { current: carried, candidate: { version: current, since: now } }
    : state;
};

/** The state after the trial write of the candidate was accepted. */
export const acceptCandidate = (version: KubernetesVersion): VersionState => ({ current: version });

export interface VersionTrackerOptions {
  client: Pick<Client, 'raw'>;
  clock: Clock;
  logger: Logger;
  /** Taken instead of what `/version` answers; then nothing is ever read. */
  override?: string;
  rereadMs: number;
  stableMs: number;
  /** Whether the API server accepts the settings of a newer version (a dry-run write). */
  trial(version: KubernetesVersion, signal: AbortSignal): Promise<boolean>;
}

export interface VersionTracker {
  readonly current: KubernetesVersion | undefined;
  /** Asks the server once; what goes wrong is logged and the version stays as it was. */
  read(signal: AbortSignal): Promise<void>;
  /** Once, before anything is decided: objects carry settings of this version, so a newer answer has to prove stable. */
  resume(carried: KubernetesVersion | undefined): void;
  /** Calls back when another version counts. */
  onChange(callback: (version: KubernetesVersion) => void): void;
  /** Asks again soon, for example because a watch broke. */
  poke(): void;
  run(signal: AbortSignal): Promise<void>;
}

/** A watch that broke is often one of many: they cause one more read together. */
const POKE_DELAY_MS = 1_000;
/** Nothing is done before the version is known, so it is asked for more often until then. */
const FIRST_READ_INTERVAL_MS = 5_000;

export const createVersionTracker = (options: VersionTrackerOptions): VersionTracker => {
  const { client, clock, logger, rereadMs, stableMs, trial } = options;
  const callbacks: ((version: KubernetesVersion) => void)[] = [];
  const override = options.override === undefined ? undefined : parseKubernetesVersion(options.override);
  let state: VersionState = override === undefined ? INITIAL_VERSION : acceptCandidate(override);
  let wake = new AbortController();

  const enter = (next: VersionState): void => {
    const before = state.current;
    const { current, candidate } = next;
    if (candidate !== undefined && state.candidate === undefined) {
      logger.info('API server answers a newer version, waiting until it is stable', {
        version: formatVersion(candidate.version),
      });
    }
    state = next;
    if (current === undefined || (before !== undefined && compareVersions(before, current) === 0)) return;
    logger.info('Kubernetes version', {
      version: formatVersion(current),
      ...(before === undefined ? {} : { before: formatVersion(before) }),
    });
    if (isNewerThanKnown(current)) {
      logger.warn('Kubernetes is newer than the newest known version and is treated as that one', {
        version: formatVersion(current),
      });
    }
    for (const callback of callbacks) callback(current);
  };

  const tracker: VersionTracker = {
    get current() {
      return state.current;
    },
    async read(signal) {
      if (override !== undefined) return;
      try {
        const answer = parseKubernetesVersion(await client.raw('/version', signal));
        const step = stepVersion(state, answer, clock.monotonic(), stableMs);
        const accepted = step.ready !== undefined && (await trial(step.ready, signal)) ? step.ready : undefined;
        enter(accepted === undefined ? step.state : acceptCandidate(accepted));
      } catch (error) {
        if (!signal.aborted) logger.warn("cannot read the API server's version", { error });
      }
    },
    resume(carried) {
      if (override === undefined && carried !== undefined) enter(resumeVersion(state, carried, clock.monotonic()));
    },
    onChange: (callback) => void callbacks.push(callback),
    poke: () => wake.abort(),
    async run(signal) {
      while (override === undefined && !signal.aborted) {
        wake = new AbortController();
        const waitMs = state.current === undefined ? Math.min(rereadMs, FIRST_READ_INTERVAL_MS) : rereadMs;
        await sleep(clock, waitMs, AbortSignal.any([signal, wake.signal])).catch(() => undefined);
        if (wake.signal.aborted) await sleep(clock, POKE_DELAY_MS, signal).catch(() => undefined);
        if (!signal.aborted) await tracker.read(signal);
      }
    },
  };
  return tracker;
};
