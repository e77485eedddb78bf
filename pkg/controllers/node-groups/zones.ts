// Reconciles one Node: decides its zone, checks its volumes if that moves it, writes, reports.
import type { NodeGroup } from '../../apis/kubeedge.ts';
import { nameOf } from '../../apis/object.ts';
import { decideZone } from '../../kubeedge/decide.ts';
import type { ZoneDecision } from '../../kubeedge/decide.ts';
import type { GroupNode } from '../../kubeedge/node.ts';
import { unlessBound } from '../../kubeedge/volumes.ts';
import { createRewriteGuard } from '../../kubernetes/rewrite-guard.ts';
import type { Client, Clock, Reconciler, Result } from '../../kubernetes/types.ts';
import type { Reports } from './reports.ts';
import { readVolumesAgainst } from './volumes.ts';
import { writeZone } from './write-zone.ts';

export interface ZoneReconcilerOptions {
  /** From the cache. */
  node(name: string): GroupNode | undefined;
  /** Undefined while they cannot be read: then nothing is decided, since a group that is not seen is not gone. */
  groups(): readonly NodeGroup[] | undefined;
  client: Pick<Client, 'patch' | 'pages'>;
  reports: Pick<Reports, 'report' | 'forget'>;
  clock: Pick<Clock, 'now' | 'monotonic'>;
}

const DONE: Result = { kind: 'done' };
/** After a conflict the watch brings the newer Node; a safety resync. */
const CONFLICT_RETRY_MS = 1_000;
/** Pods and volumes are not watched: a Node that waits for them is looked at this often. */
const VOLUME_RETRY_MS = 60_000;
/** Least time between two reassertions of one zone. */
const REASSERT_MS = 60_000;

export const createZoneReconciler = (options: ZoneReconcilerOptions): Reconciler => {
  const { client, reports, clock } = options;
  const guard = createRewriteGuard({ clock, delayMs: () => REASSERT_MS });

  const carryOut = async (
    node: GroupNode,
    decision: Extract<ZoneDecision, { kind: 'write' }>,
    signal: AbortSignal,
  ): Promise<Result> => {
    const name = nameOf(node);
    const zone = decision.zone ?? '';
    const permit = guard.admit(name, zone);
    if (permit.kind === 'wait') return { kind: 'requeue', afterMs: permit.afterMs };
    if (decision.moves) {
      const checked = unlessBound(decision, name, await readVolumesAgainst(client, name, decision.zone, signal));
      if (checked.kind === 'refused') {
        reports.report(node, checked);
        return { kind: 'requeue', afterMs: VOLUME_RETRY_MS };
      }
    }
    const written = await writeZone(node, decision, client, signal);
    if (written === undefined) return { kind: 'requeue', afterMs: CONFLICT_RETRY_MS };
    guard.written(name, zone);
    reports.report(written, decision);
    return DONE;
  };

  return {
    async reconcile(name, signal) {
      const node = options.node(name);
      const groups = options.groups();
      if (groups === undefined) return DONE;
      if (node === undefined) {
        reports.forget(name);
        guard.forget(name);
        return DONE;
      }
      const decision = decideZone(node, groups, Math.floor(clock.now() / 1_000));
      if (decision.kind === 'write') return carryOut(node, decision, signal);
      reports.report(node, decision);
      return DONE;
    },
  };
};
