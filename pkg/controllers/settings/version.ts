// The version of the API server as settings need it: tried on managed Services, resumed from the settings that they carry.
// Follows the API server's version: older at once, newer when it is stable and a trial write of its settings was accepted.
import type { SettingsReconcilerConfiguration } from '../../apis/config/settings-reconciler.ts';
import type { Service } from '../../apis/core.ts';
import { defined } from '../../apis/values.ts';
import type { ObjectRef } from '../../apis/meta.ts';
import {
  ANNOTATION_APPLIED,
  ANNOTATION_TOPOLOGY_AWARE_HINTS,
  ANNOTATION_TOPOLOGY_MODE,
  LABEL_CONSIDER,
} from '../../apis/names.ts';
import { SERVICES } from '../../apis/resources.ts';
import { ApiError } from '../../kubernetes/errors.ts';
import { sleep } from '../../kubernetes/wait.ts';
import type { Client, Clock } from '../../kubernetes/types.ts';
import { parseApplied } from '../../routing/slots.ts';
import { domainPrefixedMode, routingSettings } from '../../routing/plan.ts';
import type { AppliedRecord, KubernetesVersion } from '../../routing/types.ts';
import { compareVersions, formatVersion, isNewerThanKnown, parseKubernetesVersion } from '../../routing/version.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { SettingsCaches } from './caches.ts';
import { carriesApplied } from './decide/objects.ts';
import { ownersIn } from './context.ts';

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

interface VersionTrackerOptions {
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

/** The values of the field in the newest mechanism: whatever is newer than they are writes the same. */
const NEWEST_VALUES = new Set(['PreferSameZone', 'PreferSameNode']);
const UNLIMITED = Number.POSITIVE_INFINITY;

/** The newest minor that writes what is recorded; undefined where the record says nothing about the version. */
const newestMinorOf = ({ trafficDistribution, labels = {}, annotations = {} }: AppliedRecord): number | undefined => {
  if (trafficDistribution !== undefined) {
    if (NEWEST_VALUES.has(trafficDistribution)) return UNLIMITED;
    return LABEL_CONSIDER in labels ? 31 : 33;
  }
  if (ANNOTATION_TOPOLOGY_AWARE_HINTS in annotations) return 26;
  // Other strategies are named in this annotation on newer versions too, for the sake of old proxies.
  const mode = annotations[ANNOTATION_TOPOLOGY_MODE];
  return mode === 'auto' || mode === domainPrefixedMode('same-zone') ? 30 : undefined;
};

/**
 * The newest version whose settings some Service carries because we wrote them. Undefined: nothing shows one, or the
 * settings are those of the newest mechanism. The newest, not the oldest: what was written once had been found stable
 * and accepted, and an interrupted pass over thousands of Services should go on, not back.
 */
export const carriedVersion = (services: Iterable<Service>): KubernetesVersion | undefined => {
  let newest: number | undefined;
  for (const { metadata } of services) {
    const text = metadata?.annotations?.[ANNOTATION_APPLIED];
    const minor = text === undefined ? undefined : newestMinorOf(parseApplied(text).record);
    if (minor !== undefined && (newest === undefined || minor > newest)) newest = minor;
  }
  return newest === undefined || newest === UNLIMITED ? undefined : { major: 1, minor: newest };
};

interface TrialOptions {
  client: Pick<Client, 'patch'>;
  /** Some managed Service; undefined: there is none, hence nothing that could be refused. */
  subject: Required<ObjectRef> | undefined;
  version: KubernetesVersion;
  logger: Logger;
}

/** False if the value is refused, or dropped by an API server that does not know the field. */
export const acceptsSettingsOf = async (options: TrialOptions, signal: AbortSignal): Promise<boolean> => {
  const { client, subject, version, logger } = options;
  const { trafficDistribution } = routingSettings(version);
  if (trafficDistribution === undefined || subject === undefined) return true;
  try {
    const patch = { spec: { trafficDistribution } };
    const answer = await client.patch<Service>(SERVICES, subject, 'merge', patch, { dryRun: true }, signal);
    return answer.spec?.trafficDistribution === trafficDistribution;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    logger.info('the newer settings are not accepted yet', { service: `${subject.namespace}/${subject.name}`, error });
    return false;
  }
};

interface FollowVersionOptions {
  /** Every replica tries new settings by dry run, also those that do not lead. */
  readonly client: Pick<Client, 'raw' | 'patch'>;
  readonly config: Pick<SettingsReconcilerConfiguration, 'kubernetesVersion' | 'modes' | 'excludedNamespaces'>;
  readonly caches: Pick<SettingsCaches, 'namespaces' | 'services'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface FollowedVersion extends Omit<VersionTracker, 'resume'> {
  /** Once the caches are filled, before anything is decided: asks, and goes on from the version whose settings Services carry. */
  begin(signal: AbortSignal): Promise<void>;
}

export const followVersion = ({ client, config, caches, clock, logger }: FollowVersionOptions): FollowedVersion => {
  const { override, rereadSeconds, stableSeconds } = config.kubernetesVersion;
  const ownerOf = ownersIn(caches, config);
  const managed = (): Service[] =>
    caches.services
      .list()
      .filter((service) => carriesApplied(service) && ownerOf(service.metadata?.namespace ?? '') !== undefined);
  const subject = (): { namespace: string; name: string } | undefined => {
    const { namespace = '', name = '' } = managed()[0]?.metadata ?? {};
    return name === '' ? undefined : { namespace, name };
  };
  const version = createVersionTracker({
    client,
    clock,
    logger,
    ...defined({ override }),
    rereadMs: rereadSeconds * 1_000,
    stableMs: stableSeconds * 1_000,
    trial: (candidate, signal) => acceptsSettingsOf({ client, subject: subject(), version: candidate, logger }, signal),
  });
  return {
    ...version,
    get current() {
      return version.current;
    },
    async begin(signal) {
      await version.read(signal);
      version.resume(carriedVersion(managed()));
    },
  };
};
