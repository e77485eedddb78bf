// SPDX-License-Identifier: Apache-2.0
// The life of the registration: kept while the installation is there, taken back by its last replicas.
import { createDeadline } from '../../pkg/kubernetes/deadline.ts';
import type { ClusterLock } from '../../pkg/installation/cluster-lock.ts';
import type { DeploymentWatch } from '../../pkg/installation/deployment-removed.ts';
import { sleep } from '../../pkg/kubernetes/sleep.ts';
import type { Clock } from '../../pkg/kubernetes/types.ts';
import type { HealthCheck, Logger } from '../../pkg/telemetry/types.ts';
import type { CarrierWatch } from '../../pkg/webhook/carrier-watch.ts';
import type { RegistrationKeeper } from '../../pkg/webhook/register.ts';
import type { Cluster } from './cluster.ts';

export interface RegisteringOptions {
  cluster: Pick<Cluster, 'cleanup'>;
  deployment: DeploymentWatch;
  /** Undefined: somebody else registers. */
  keeper: RegistrationKeeper | undefined;
  /** Undefined: who carries admission is configured. */
  watch: Pick<CarrierWatch, 'settled' | 'run'> | undefined;
  claim: ClusterLock;
  clock: Clock;
  logger: Logger;
}

export interface Registering {
  readonly readiness: readonly HealthCheck[];
  /** Until the signal aborts; rejects never. */
  run(signal: AbortSignal): Promise<void>;
  /** After the signal that ends this replica: takes registration and claim back if it is the end of all. Rejects never. */
  goodbye(): Promise<void>;
}

/** For each of the requests of a goodbye. */
const PATIENCE_MS = 3_000;
/** How long a write that nobody waits for any more may take to be stored. */
const LAST_WRITE_MS = 1_000;

export const createRegistering = (options: RegisteringOptions): Registering => {
  const { cluster, deployment, keeper, watch, claim, clock, logger } = options;
  const leaving = new AbortController();
  let running: Promise<unknown> = Promise.resolve();

  const keep = async (signal: AbortSignal): Promise<void> => {
    if (keeper === undefined) return;
    // What is registered first shall not have to be changed a moment later.
    await Promise.all([watch?.settled(signal), claim.settled(signal)]);
    await keeper.run(signal);
  };

  const takeBack = async (): Promise<void> => {
    const deadline = createDeadline(clock, PATIENCE_MS);
    try {
      if (keeper !== undefined) {
        await cluster.cleanup(deadline.signal);
        // A write that was given up a moment ago may still take effect.
        await sleep(clock, LAST_WRITE_MS, deadline.signal);
        await cluster.cleanup(deadline.signal);
      }
      logger.info('this is the end of the installation: the webhooks are registered no more');
    } catch (error) {
      logger.warn('cannot take back the registration; it goes with its owner', { error });
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
      running = Promise.all([watch?.run(until), claim.run(until), keep(until)]);
      await running;
    },
    async goodbye() {
      if (!(await deployment.removed())) return;
      leaving.abort();
      await running;
      await takeBack();
      await claim.release();
    },
  };
};
