// SPDX-License-Identifier: Apache-2.0
// The reconcile of one Service with KubeEdge's annotation: label, our annotation beside it, and an event that says how far it goes.
import type { Service } from '../../apis/core.ts';
import { defined } from '../../apis/defined.ts';
import { SERVICES } from '../../apis/resources.ts';
import { planServiceTopology } from '../../kubeedge/service-topology.ts';
import type { ServiceTopologyReason, ServiceTopologyStatus } from '../../kubeedge/service-topology.ts';
import { isConflict, isNotFound } from '../../kubernetes/errors.ts';
import type { Client, Clock, EventRecorder, Reconciler, Result } from '../../kubernetes/types.ts';
import type { Logger } from '../../telemetry/types.ts';
import { createRewriteGuard } from '../../kubernetes/rewrite-guard.ts';

export interface ServiceReconcilerOptions {
  /** By `namespace/name`; undefined: there is none, or it must not be written. */
  service(key: string): Service | undefined;
  /** Undefined while NodeGroups cannot be read: nothing is decided then. */
  topologyEnabled(): boolean | undefined;
  edgeMesh(): boolean;
  client: Pick<Client, 'patch'>;
  events: Pick<EventRecorder, 'record'>;
  clock: Pick<Clock, 'monotonic'>;
  logger: Logger;
}

export interface ServiceTopology {
  readonly reconciler: Reconciler;
  /** Services with the annotation, by reason. */
  counts(): { state: string; services: number }[];
}

const DONE: Result = { kind: 'done' };
const CONFLICT_RETRY_MS = 1_000;
/** Least time between two rewrites of what another writer removes. */
const REWRITE_MS = 60_000;

/** What a person has to know; the others follow from what they wrote themselves. */
const ALARMING: ReadonlySet<ServiceTopologyReason> = new Set(['EdgeMeshIgnoresHints', 'ConflictingMode']);
const REPORTED: ReadonlySet<ServiceTopologyReason> = new Set([...ALARMING, 'NodeGroupPreferred']);

export const createServiceTopology = (options: ServiceReconcilerOptions): ServiceTopology => {
  const { client, events, clock, logger } = options;
  const known = new Map<string, ServiceTopologyReason>();
  const guard = createRewriteGuard({ clock, delayMs: () => REWRITE_MS });
  /** Written, perhaps: an answer can be lost, and the next reconcile then finds nothing to write. */
  const unreported = new Set<string>();

  const write = async (service: Service, patch: object, signal: AbortSignal): Promise<boolean> => {
    const { namespace = '', name = '', resourceVersion } = service.metadata ?? {};
    const { metadata } = patch as { metadata: object };
    const locked = { metadata: { ...metadata, resourceVersion } };
    try {
      await client.patch<Service>(SERVICES, { namespace, name }, 'merge', locked, {}, signal);
      return true;
    } catch (error) {
      if (isConflict(error) || isNotFound(error)) return false;
      throw error;
    }
  };

  const emit = ({ metadata }: Service, { reason, message }: ServiceTopologyStatus): void => {
    const { namespace = '', name = '', uid } = metadata ?? {};
    logger.info('topology of the Service decided', { service: `${namespace}/${name}`, reason });
    if (!REPORTED.has(reason)) return;
    const regarding = { apiVersion: 'v1', kind: 'Service', namespace, name, ...defined({ uid }) };
    events.record({ regarding, type: ALARMING.has(reason) ? 'Warning' : 'Normal', reason, message });
  };

  const forget = (key: string): Result => {
    known.delete(key);
    guard.forget(key);
    unreported.delete(key);
    return DONE;
  };

  return {
    reconciler: {
      async reconcile(key, signal) {
        const service = options.service(key);
        const topologyEnabled = options.topologyEnabled();
        if (topologyEnabled === undefined) return DONE;
        if (service === undefined) return forget(key);
        const { status, patch } = planServiceTopology({ service, topologyEnabled, edgeMesh: options.edgeMesh() });
        const changed = status?.reason !== known.get(key);
        if (patch !== undefined) {
          const wanted = status?.reason ?? '';
          const permit = guard.admit(key, wanted);
          if (permit.kind === 'wait') return { kind: 'requeue', afterMs: permit.afterMs };
          unreported.add(key);
          if (!(await write(service, patch, signal))) return { kind: 'requeue', afterMs: CONFLICT_RETRY_MS };
          guard.written(key, wanted);
        }
        if (status === undefined) return forget(key);
        // After a restart what is in order was reported before; the annotation shows it all the time.
        if (unreported.delete(key) || (changed && status.reason === 'ConflictingMode')) emit(service, status);
        known.set(key, status.reason);
        return DONE;
      },
    },
    counts() {
      const counts = new Map<string, number>();
      for (const state of known.values()) counts.set(state, (counts.get(state) ?? 0) + 1);
      return [...counts].map(([state, services]) => ({ state, services }));
    },
  };
};
