// The version of the API server as settings need it: tried on managed Services, resumed from the settings that they carry.
import type { SettingsReconcilerConfiguration } from '../../apis/config/settings-reconciler.ts';
import type { Service } from '../../apis/core.ts';
import { defined } from '../../apis/defined.ts';
import type { ObjectRef } from '../../apis/meta.ts';
import {
  ANNOTATION_APPLIED,
  ANNOTATION_TOPOLOGY_AWARE_HINTS,
  ANNOTATION_TOPOLOGY_MODE,
  LABEL_CONSIDER,
} from '../../apis/names.ts';
import { SERVICES } from '../../apis/resources.ts';
import { ApiError } from '../../kubernetes/errors.ts';
import type { Client, Clock } from '../../kubernetes/types.ts';
import { parseApplied } from '../../routing/applied.ts';
import { domainPrefixedMode, routingSettings } from '../../routing/mechanism.ts';
import type { AppliedRecord, KubernetesVersion } from '../../routing/types.ts';
import type { Logger } from '../../telemetry/types.ts';
import type { SettingsCaches } from './caches.ts';
import { carriesApplied } from './decide/objects.ts';
import { ownersIn } from './ownership.ts';
import { createVersionTracker } from './version-tracker.ts';
import type { VersionTracker } from './version-tracker.ts';

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

export interface FollowVersionOptions {
  /** Every replica tries new settings by dry run, also those that do not lead. */
  readonly client: Pick<Client, 'raw' | 'patch'>;
  readonly config: Pick<SettingsReconcilerConfiguration, 'kubernetesVersion' | 'modes' | 'excludedNamespaces'>;
  readonly caches: Pick<SettingsCaches, 'namespaces' | 'services'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface FollowedVersion extends Omit<VersionTracker, 'resume'> {
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
