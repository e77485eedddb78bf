// Two replicas of a controller, of which one leads: who, and how leadership is passed on.
import type { Lease } from '../../pkg/apis/core.ts';
import { LEASES } from '../../pkg/apis/resources.ts';
import { isNotFound } from '../../pkg/kubernetes/errors.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import type { Component } from './bed/component.ts';
import { waitFor } from './bed/wait-for.ts';
import { ownNamespace } from './commands.ts';

export interface Replica {
  readonly component: Component;
  ready(): Promise<void>;
}

export interface Pair {
  readonly components: readonly Component[];
  /** Starts both; the first leads. */
  start(): Promise<void>;
  /** Ends the leader by `end`, waits until the other leads, and starts it again as the second. */
  changeLeader(end: (leader: Component) => Promise<void>): Promise<void>;
  /** Restarts both, one after the other: the way of an upgrade. */
  roll(): Promise<void>;
}

/** `lease`: its name, in the namespace of the commands. */
export const createPair = (client: Client, lease: string, replicas: readonly [Replica, Replica]): Pair => {
  /** Index of the replica that leads. */
  let leading: 0 | 1 = 0;
  const standby = (): 0 | 1 => (leading === 0 ? 1 : 0);
  const holder = async (): Promise<string> => {
    try {
      const { spec } = await client.get<Lease>(LEASES, { namespace: ownNamespace, name: lease });
      return spec?.holderIdentity ?? '';
    } catch (error) {
      if (isNotFound(error)) return '';
      throw error;
    }
  };
  const restart = async ({ component, ready }: Replica): Promise<void> => {
    component.start();
    await ready();
  };
  const pair: Pair = {
    components: replicas.map(({ component }) => component),
    async start() {
      for (const replica of replicas) {
        await restart(replica);
        await waitFor(`a leader by ${lease}`, holder, (name) => name !== '');
      }
    },
    async changeLeader(end) {
      const leader = replicas[leading];
      const old = await holder();
      await end(leader.component);
      // One that was killed keeps its Lease until that has run out.
      const another = (name: string): boolean => name !== '' && name !== old;
      await waitFor(`another leader by ${lease}`, holder, another, { timeoutSeconds: 120 });
      await restart(leader);
      leading = standby();
    },
    async roll() {
      const second = replicas[standby()];
      await second.component.stop();
      await restart(second);
      await pair.changeLeader((leader) => leader.stop());
    },
  };
  return pair;
};
