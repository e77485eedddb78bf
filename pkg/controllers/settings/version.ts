// Follows the API server's version: older at once, newer when it is stable.
import type { SettingsReconcilerConfiguration } from '../../apis/config/settings-reconciler.ts';
import { pause } from '../../kubernetes/wait.ts';
import type { Uses } from '../../kubernetes/types.ts';
import type { KubernetesVersion } from '../../routing/types.ts';
import { compareVersions, formatVersion, isNewerThanKnown, parseKubernetesVersion } from '../../routing/version.ts';

export interface VersionState {
  /** The version that decides the mechanism; undefined until the first answer. */
  readonly current?: KubernetesVersion;
  /** A newer version that is answered without a break since `since` (monotonic milliseconds). */
  readonly candidate?: { readonly version: KubernetesVersion; readonly since: number };
}

/**
 * One answer of `/version`. Older takes effect at once, because its API server may refuse the newer values; newer waits
 * until nothing else was answered for `stableMs`, because a write may still reach an API server of the old version.
 */
export const stepVersion = (
  { current, candidate }: VersionState,
  answer: KubernetesVersion,
  now: number,
  stableMs: number,
): VersionState => {
  if (current === undefined || compareVersions(answer, current) < 0) return { current: answer };
  if (compareVersions(answer, current) === 0) return { current };
  const since = candidate !== undefined && compareVersions(candidate.version, answer) === 0 ? candidate.since : now;
  return now - since >= stableMs ? { current: answer } : { current, candidate: { version: answer, since } };
};

/** A watch that broke is often one of many: they cause one more read together. */
const POKE_DELAY_MS = 1_000;
/** Nothing is done before the version is known, so it is asked for more often until then. */
const FIRST_READ_INTERVAL_MS = 5_000;

export const followVersion = (
  options: Uses<'client' | 'clock' | 'logger', 'raw'> & {
    readonly config: Pick<SettingsReconcilerConfiguration, 'kubernetesVersion'>;
  },
) => {
  const { client, clock, logger } = options;
  const { kubernetesVersion } = options.config;
  const { rereadSeconds, stableSeconds } = kubernetesVersion;
  const callbacks: ((version: KubernetesVersion) => void)[] = [];
  /** Taken instead of what `/version` answers; then nothing is ever read. */
  const override =
    kubernetesVersion.override === undefined ? undefined : parseKubernetesVersion(kubernetesVersion.override);
  let state: VersionState = override === undefined ? {} : { current: override };
  let wake = new AbortController();

  const enter = (next: VersionState): void => {
    const before = state.current;
    const { current, candidate } = next;
    if (candidate !== undefined && state.candidate === undefined)
      logger.info('API server answers a newer version, waiting until it is stable', {
        version: formatVersion(candidate.version),
      });
    state = next;
    if (current === undefined || (before !== undefined && compareVersions(before, current) === 0)) return;
    const version = formatVersion(current);
    logger.info('Kubernetes version', { version, ...(before && { before: formatVersion(before) }) });
    if (isNewerThanKnown(current))
      logger.warn('Kubernetes is newer than the newest known version and is treated as that one', { version });
    for (const callback of callbacks) callback(current);
  };

  /** Asks the server once; what goes wrong is logged and the version stays as it was. */
  const read = async (signal: AbortSignal): Promise<void> => {
    if (override !== undefined) return;
    try {
      const answer = parseKubernetesVersion(await client.raw('/version', signal));
      enter(stepVersion(state, answer, clock.monotonic(), stableSeconds * 1_000));
    } catch (error) {
      if (!signal.aborted) logger.warn("cannot read the API server's version", { error });
    }
  };

  return {
    get current() {
      return state.current;
    },
    read,
    /** Calls back when another version counts. */
    onChange: (callback: (version: KubernetesVersion) => void) => void callbacks.push(callback),
    /** Asks again soon, for example because a watch broke. */
    poke: () => wake.abort(),
    async run(signal: AbortSignal): Promise<void> {
      while (override === undefined && !signal.aborted) {
        wake = new AbortController();
        const rereadMs = rereadSeconds * 1_000;
        const waitMs = state.current === undefined ? Math.min(rereadMs, FIRST_READ_INTERVAL_MS) : rereadMs;
        await pause(clock, waitMs, AbortSignal.any([signal, wake.signal]));
        if (wake.signal.aborted) await pause(clock, POKE_DELAY_MS, signal);
        if (!signal.aborted) await read(signal);
      }
    },
  };
};
