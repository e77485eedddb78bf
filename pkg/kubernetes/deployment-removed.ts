// SPDX-License-Identifier: Apache-2.0
// Tells the end of an installation from the end of one replica: whether the Deployment that this process belongs to is gone.
import type { KubernetesObject, ObjectRef } from '../apis/meta.ts';
import { DEPLOYMENTS } from '../apis/resources.ts';
import type { Logger } from '../telemetry/types.ts';
import { createDeadline } from './deadline.ts';
import { isNotFound } from './errors.ts';
import type { Client, Clock } from './types.ts';

export interface DeploymentRemovedOptions {
  client: Pick<Client, 'get'>;
  deployment: Required<ObjectRef>;
  clock: Clock;
  /** How long the answer is waited for, milliseconds. */
  timeoutMs: number;
  logger: Logger;
}

interface Deployment extends KubernetesObject {
  spec?: { replicas?: number };
}

/** True where it is gone, being deleted, or scaled to nothing. False where nobody says so: a restart changes nothing then. */
export const isDeploymentRemoved = async (options: DeploymentRemovedOptions): Promise<boolean> => {
  const { client, deployment, clock, timeoutMs, logger } = options;
  const deadline = createDeadline(clock, timeoutMs);
  try {
    const { metadata, spec } = await client.get<Deployment>(DEPLOYMENTS, deployment, deadline.signal);
    return metadata?.deletionTimestamp !== undefined || spec?.replicas === 0;
  } catch (error) {
    if (isNotFound(error)) return true;
    logger.warn('cannot tell whether this is the end of the installation; what is registered stays', { error });
    return false;
  } finally {
    deadline.dispose();
  }
};
