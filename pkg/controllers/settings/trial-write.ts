// SPDX-License-Identifier: Apache-2.0
// Tries with a dry run whether every API server that answers accepts the field value of a newer Kubernetes version.
import type { Service } from '../../apis/core.ts';
import type { ObjectRef } from '../../apis/meta.ts';
import { SERVICES } from '../../apis/resources.ts';
import { ApiError } from '../../kubernetes/errors.ts';
import type { Client } from '../../kubernetes/types.ts';
import { routingSettings } from '../../routing/mechanism.ts';
import type { KubernetesVersion } from '../../routing/types.ts';
import type { Logger } from '../../telemetry/types.ts';

export interface TrialOptions {
  client: Pick<Client, 'patch'>;
  /** Some Service that has settings of ours; undefined: there is none, hence nothing that could be refused. */
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
