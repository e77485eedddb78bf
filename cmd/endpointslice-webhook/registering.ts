// Keeps the registration while the installation exists; its last replicas remove it.
import { createDeadline } from '../../pkg/kubernetes/deadline.ts';
import type { ClusterLock } from '../../pkg/installation/cluster-lock.ts';
import type { DeploymentWatch } from '../../pkg/installation/deployment-removed.ts';
import { sleep } from '../../pkg/kubernetes/sleep.ts';
import type { Clock } from '../../pkg/kubernetes/types.ts';
import type { HealthCheck, Logger } from '../../pkg/telemetry/types.ts';
import type { RegistrationKeeper } from '../../pkg/webhook/register.ts';

export interface RegisteringOptions {
  /** Removes the registration; true if there was one. */
  unregister(signal: AbortSignal): Promise<boolean>;
  deployment: DeploymentWatch;
  /** Undefined: the registration is managed elsewhere. */
  keeper: RegistrationKeeper | undefined;
  claim: ClusterLock;
  clock: Clock;
  logger: Logger;
}

export interface Registering {
  readonly readiness: readonly HealthCheck[];
  /** Until the signal aborts; rejects never. */
  run(signal: AbortSignal): Promise<void>;
  /** After the signal that ends this replica: removes registration and lock if the installation is being removed. Rejects never. */
  goodbye(): Promise<void>;
}

/** For each of the requests of a goodbye. */
const PATIENCE_MS = 3_000;
/** How long an abandoned write may take to be stored. */
const LAST_WRITE_MS = 1_000;

export const createRegistering = (options: RegisteringOptions): Registering => {
  const { unregister, deployment, keeper, claim, clock, logger } = options;
  const leaving = new AbortController();
  let running: Promise<unknown> = Promise.resolve();

  const keep = async (signal: AbortSignal): Promise<void> => {
    if (keeper === undefined) return;
    // Otherwise the first registration would be changed a moment later.
    await claim.settled(signal);
    await keeper.run(signal);
  };

  const remove = async (): Promise<void> => {
    const deadline = createDeadline(clock, PATIENCE_MS);
    try {
      if (keeper !== undefined) {
        await unregister(deadline.signal);
        // A write that was given up a moment ago may still take effect.
        await sleep(clock, LAST_WRITE_MS, deadline.signal);
        await unregister(deadline.signal);
      }
      logger.info('installation removed; webhook configuration deleted');
    } catch (error) {
      logger.warn('cannot delete the webhook configuration; garbage collection removes it with its owner', { error });
    } finally {
      deadline.dispose();
    }
  };

  return {
    readiness:
      keeper === undefined
        ? []
        : [
            {
              name: 'registration',
              check: () => (keeper.registered ? undefined : 'the webhooks are not registered yet'),
            },
          ],
    async run(signal) {
      const until = AbortSignal.any([signal, leaving.signal]);
      running = Promise.all([claim.run(until), keep(until)]);
      await running;
    },
    async goodbye() {
      if (!(await deployment.removed())) return;
      leaving.abort();
      await running;
      await remove();
      await claim.release();
    },
  };
};
