// SPDX-License-Identifier: Apache-2.0
// Decides which Kubernetes version counts while API servers of two versions answer (a rolling upgrade). Pure.
import { compareVersions } from '../../routing/version.ts';
import type { KubernetesVersion } from '../../routing/types.ts';

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
export interface VersionStep {
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
