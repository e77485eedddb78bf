// Kubernetes versions as this project compares them: by minor, whatever pre-release or vendor suffix follows.
import { isFields, orElse } from '../apis/values.ts';
import type { KubernetesVersion } from './types.ts';

/** Oldest Kubernetes minor that is supported: hints are beta and on by default from here on. */
export const OLDEST_SUPPORTED_VERSION: KubernetesVersion = { major: 1, minor: 24 };
/** Newest Kubernetes minor that was examined; newer ones are treated alike. */
export const NEWEST_KNOWN_VERSION: KubernetesVersion = { major: 1, minor: 36 };

/** A version that is missing or is not one; `value` is what was given. */
export class InvalidVersionError extends Error {
  override readonly name = 'InvalidVersionError';
  readonly value: unknown;

  constructor(value: unknown) {
    super(
      `${describeValue(value)} is not a Kubernetes version; expected something like 1.30, v1.30.4 or {"major":"1","minor":"33+"}`,
    );
    this.value = value;
  }
}

/** A version that can be read but is older than what is supported; `reason` says why there is a limit. */
export class UnsupportedVersionError extends Error {
  override readonly name = 'UnsupportedVersionError';
  readonly version: KubernetesVersion;
  readonly reason: string;

  constructor(version: KubernetesVersion) {
    const reason = 'before it, EndpointSlice hints are not enabled by default and traffic cannot be kept in its zone';
    super(
      `Kubernetes ${formatVersion(version)} is not supported; the oldest is ${formatVersion(OLDEST_SUPPORTED_VERSION)}: ${reason}`,
    );
    this.version = version;
    this.reason = reason;
  }
}

const MAX_DESCRIPTION = 80;

// The value may be anything that a caller without types hands over: bigints and cycles have no JSON.
const describeValue = (value: unknown): string => {
  if (value === undefined) return 'A missing value (undefined)';
  const shown = typeof value === 'string' ? value.slice(0, MAX_DESCRIPTION) : value;
  const text = orElse(() => JSON.stringify(shown) as string | undefined, undefined);
  return (text ?? `A ${typeof value}`).slice(0, MAX_DESCRIPTION + 2);
};

/** `1.30`, without `v` and without patch. */
export const formatVersion = ({ major, minor }: KubernetesVersion): string => `${major}.${minor}`;

/** Negative, zero or positive, like a sort function. */
export const compareVersions = (left: KubernetesVersion, right: KubernetesVersion): number =>
  left.major - right.major || left.minor - right.minor;

export const atLeast = (version: KubernetesVersion, minor: number): boolean =>
  compareVersions(version, { major: 1, minor }) >= 0;

// Major and minor are what decides; a patch, then anything that starts with "-", "+" or "~" may follow, as in Gardener's Normalize.
const VERSION = /^v?(\d{1,4})\.(\d{1,4})(?:\.\d{1,9})?(?:[-+~].*)?$/s;
const NUMBER = /^\d{1,4}$/;
// The `/version` endpoint of some vendors answers minor as "33+".
const NUMBER_WITH_PLUS = /^(\d{1,4})\+?$/;

const fromParts = (major: unknown, minor: unknown): KubernetesVersion | undefined => {
  const majorText = String(typeof major === 'number' || typeof major === 'string' ? major : '');
  const minorText = NUMBER_WITH_PLUS.exec(
    String(typeof minor === 'number' || typeof minor === 'string' ? minor : ''),
  )?.[1];
  if (!NUMBER.test(majorText) || minorText === undefined) return undefined;
  return { major: Number(majorText), minor: Number(minorText) };
};

/** As `parseVersion`; undefined if it is missing or malformed. */
export const versionIn = (value: unknown): KubernetesVersion | undefined => {
  if (typeof value !== 'string') return isFields(value) ? fromParts(value['major'], value['minor']) : undefined;
  const [, major, minor] = VERSION.exec(value.trim()) ?? [];
  return fromParts(major, minor);
};

/**
 * Reads any version, supported or not: a kubelet's, Gardener's. Pre-releases and vendor suffixes count as their minor.
 *
 * @param value `1.30`, `v1.30.4`, `1.34.0-alpha.1`, `v1.34.1-gke.100`, `1.33+`, or the object that `/version` answers.
 * @throws InvalidVersionError if it is missing or malformed.
 */
export const parseVersion = (value: unknown): KubernetesVersion => {
  const parsed = versionIn(value);
  if (parsed === undefined) throw new InvalidVersionError(value);
  return parsed;
};

/**
 * Reads the version of the cluster whose API server stores the Service (the runtime cluster, never the shoot).
 *
 * @throws InvalidVersionError if it is missing or malformed; UnsupportedVersionError if it is older than 1.24.
 */
export const parseKubernetesVersion = (value: unknown): KubernetesVersion => {
  const version = parseVersion(value);
  if (compareVersions(version, OLDEST_SUPPORTED_VERSION) < 0) throw new UnsupportedVersionError(version);
  return version;
};

/** True for a minor after the newest one examined: it behaves as that one, and the caller logs so once. */
export const isNewerThanKnown = (version: KubernetesVersion): boolean =>
  compareVersions(version, NEWEST_KNOWN_VERSION) > 0;

/**
 * Whether a kube-proxy of this version looks at the Service's annotation before it uses hints: up to 1.30 it does.
 *
 * @param kubeletVersion `status.nodeInfo.kubeletVersion` of a Node, the stand-in for its proxy.
 * @throws InvalidVersionError if it is missing or malformed.
 */
export const proxyNeedsAnnotation = (kubeletVersion: unknown): boolean => !atLeast(parseVersion(kubeletVersion), 31);
