// SPDX-License-Identifier: Apache-2.0
// Reads now and then what shows who load-balances Services: DaemonSets of kube-system, Cilium's ConfigMap, Calico's switch.
// Where it may not be read nothing is known, and kube-proxy is assumed, as it was before there was any evidence.
import type { KubernetesObject } from '../../apis/meta.ts';
import { CONFIG_MAPS, DAEMON_SETS } from '../../apis/resources.ts';
import type { Resource } from '../../apis/resources.ts';
import { FieldError, isFields } from '../../diagnosis/project/fields.ts';
import { daemonSetOf, routerConfigOf, settingsObjectOf } from '../../diagnosis/project/routers.ts';
import type { RouterObject } from '../../diagnosis/routers/types.ts';
import { ApiError } from '../../kubernetes/errors.ts';
import { sleep } from '../../kubernetes/sleep.ts';
import type { Client, Clock } from '../../kubernetes/types.ts';
import type { Logger } from '../../telemetry/types.ts';

const SYSTEM = 'kube-system';
const FELIX: Resource = {
  group: 'crd.projectcalico.org',
  version: 'v1',
  kind: 'FelixConfiguration',
  plural: 'felixconfigurations',
  namespaced: false,
};
/** Data planes change with an upgrade of the cluster. */
const PERIOD_MS = 600_000;

export interface RouterEvidenceOptions {
  readonly client: Pick<Client, 'list' | 'get'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface RouterEvidence {
  objects(): readonly RouterObject[];
  /** Calls back when what was read became another. */
  onChange(callback: () => void): void;
  /** Resolves when the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
}

const named = (kind: string, object: KubernetesObject): KubernetesObject => ({ ...object, kind });

/** Objects whose fields are not what the API has there say nothing. */
const readWith = (
  read: (object: Readonly<Record<string, unknown>>) => RouterObject | undefined,
  object: unknown,
): RouterObject[] => {
  try {
    const found = isFields(object) ? read(object) : undefined;
    return found === undefined ? [] : [found];
  } catch (error) {
    if (error instanceof FieldError) return [];
    throw error;
  }
};

export const createRouterEvidence = ({ client, clock, logger }: RouterEvidenceOptions): RouterEvidence => {
  let known: readonly RouterObject[] = [];
  const callbacks: (() => void)[] = [];

  const optional = async (what: string, read: () => Promise<RouterObject[]>): Promise<RouterObject[]> => {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      logger.debug('evidence of who routes not read', { what, status: error.status });
      return [];
    }
  };

  const look = async (signal: AbortSignal): Promise<void> => {
    const sets = await optional('daemonsets', async () => {
      const { items } = await client.list(DAEMON_SETS, { namespace: SYSTEM }, signal);
      return items.flatMap((item) => readWith(daemonSetOf, named('DaemonSet', item)));
    });
    const config = await optional('cilium-config', async () => {
      const object = await client.get(CONFIG_MAPS, { namespace: SYSTEM, name: 'cilium-config' }, signal);
      return readWith(routerConfigOf, named('ConfigMap', object));
    });
    const felix = await optional('felixconfigurations', async () => {
      const object = await client.get(FELIX, { name: 'default' }, signal);
      return readWith(settingsObjectOf, named('FelixConfiguration', object));
    });
    const found = [...sets, ...config, ...felix];
    const changed = JSON.stringify(found) !== JSON.stringify(known);
    known = found;
    if (changed) for (const callback of callbacks) callback();
  };

  return {
    objects: () => known,
    onChange: (callback) => void callbacks.push(callback),
    async run(signal) {
      while (!signal.aborted) {
        try {
          await look(signal);
          await sleep(clock, PERIOD_MS, signal);
        } catch (error) {
          if (signal.aborted) return;
          // A connection that fails is looked at again by others; here the last knowledge stays.
          logger.debug('evidence of who routes not read', { error });
          await sleep(clock, PERIOD_MS, signal).catch(() => undefined);
        }
      }
    },
  };
};
