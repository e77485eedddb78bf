// SPDX-License-Identifier: Apache-2.0
// The version of the API server as settings need it: tried on Services that have settings of ours, resumed from what they carry.
import type { SettingsReconcilerConfiguration } from '../../apis/config/settings-reconciler.ts';
import type { Service } from '../../apis/core.ts';
import type { Client, Clock } from '../../kubernetes/types.ts';
import type { Logger } from '../../telemetry/types.ts';
import type { SettingsCaches } from './caches.ts';
import { carriedVersion } from './carried-version.ts';
import { carriesApplied } from './decide/objects.ts';
import { ownersIn } from './ownership.ts';
import { acceptsSettingsOf } from './trial-write.ts';
import { createVersionTracker } from './version-tracker.ts';
import type { VersionTracker } from './version-tracker.ts';

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
    ...(override === undefined ? {} : { override }),
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
