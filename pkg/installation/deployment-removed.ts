// Distinguishes the end of an installation from the end of one replica: whether the Deployment that this process belongs to is gone.
import type { KubernetesObject, ObjectRef } from '../apis/meta.ts';
import { DEPLOYMENTS } from '../apis/resources.ts';
import { createDeadline } from '../kubernetes/wait.ts';
import { isNotFound } from '../kubernetes/errors.ts';
import type { Uses } from '../kubernetes/types.ts';

export interface DeploymentWatchOptions extends Uses<'client' | 'clock' | 'logger', 'get'> {
  deployment: Required<ObjectRef>;
  /** How long the answer is waited for, milliseconds. */
  timeoutMs: number;
}

interface Deployment extends KubernetesObject {
  spec?: { replicas?: number };
}

/** `leaving`: being deleted, or scaled to nothing. `unknown`: not known. */
type Sight = 'there' | 'leaving' | 'missing' | 'unknown';

const look = async ({ client, deployment, clock, timeoutMs, logger }: DeploymentWatchOptions): Promise<Sight> => {
  using deadline = createDeadline(clock, timeoutMs);
  try {
    const { metadata, spec } = await client.get<Deployment>(DEPLOYMENTS, deployment, deadline.signal);
    return metadata?.deletionTimestamp !== undefined || spec?.replicas === 0 ? 'leaving' : 'there';
  } catch (error) {
    if (isNotFound(error)) return 'missing';
    logger.warn('cannot determine whether the installation is being removed; the webhook configuration stays', {
      error,
    });
    return 'unknown';
  }
};

/** Looks at the Deployment for the first time at once. Rejects never. */
export const watchDeployment = (options: DeploymentWatchOptions) => {
  const first = look(options);
  return {
    /**
     * True where it was there when the watch began and is gone, being deleted, or scaled to nothing now. False where that is unknown, and
     * for a process that never had one: a restart changes nothing then.
     */
    async removed(): Promise<boolean> {
      const before = await first;
      const now = await look(options);
      return now === 'leaving' || (now === 'missing' && (before === 'there' || before === 'leaving'));
    },
  };
};
