// SPDX-License-Identifier: Apache-2.0
// Keeps the chosen admission backend in place: installs, repairs and removes the policies, and records which backend is active.
import type { AdmissionCarrier } from '../../apis/config/admission.ts';
import type { OwnerReference } from '../../apis/meta.ts';
import { buildAdmissionPolicies } from '../../hints/policy/index.ts';
import type { AdmissionPoliciesOptions, Carrier } from '../../hints/policy/index.ts';
import { soleInstallation } from '../../installation/cluster-lock.ts';
import type { ClusterLock } from '../../installation/cluster-lock.ts';
import { isConflict } from '../../kubernetes/errors.ts';
import type { InstallationOwner } from '../../installation/owner.ts';
import type { LeaseWatch } from '../../kubernetes/lease-liveness.ts';
import type { Clock, EventInput, EventRecorder, Reconciler, Result } from '../../kubernetes/types.ts';
import type { Logger } from '../../telemetry/types.ts';
import type { Choice } from './choose.ts';
import { planCarrier } from './plan.ts';
import type { Plan } from './plan.ts';
import type { PolicyStore } from './store.ts';
import type { PolicyWriter } from './writer.ts';

export interface AdmissionPoliciesReconcilerOptions {
  admission: AdmissionCarrier;
  /** What the policies are made of at this moment, but for what this reconciler knows itself. */
  policies(): Omit<AdmissionPoliciesOptions, 'plannerAlive' | 'strategies'>;
  /** Whether slices are this installation's to change; where they are not, settings alone are kept. Default: they are. */
  claim?: Pick<ClusterLock, 'held' | 'known'>;
  /** The backend to bring in; undefined while that is not known. */
  choose(): Choice | undefined;
  /** Of the object that names the admission backend. */
  namespace: string;
  store: Pick<PolicyStore, 'list'>;
  writer: PolicyWriter;
  planner: Pick<LeaseWatch, 'alive' | 'known'>;
  /** Whether a backend acts now. */
  acts(carrier: Carrier, signal: AbortSignal): Promise<boolean>;
  /** What everything that is written goes with. Default: nothing. */
  owner?: InstallationOwner;
  clock: Pick<Clock, 'monotonic'>;
  events: Pick<EventRecorder, 'record'>;
  /** What events are about. */
  regarding: EventInput['regarding'];
  logger: Logger;
}

/** Who acts on slices. */
export interface Backends {
  readonly acting: Carrier;
  /** The one that was chosen and was not seen to act for long enough yet. */
  readonly awaited: Carrier | undefined;
}

/** Time that a backend must be observed to act without a break: one API server answers, the others follow within this. */
export const SETTLE_MS = 5_000;
const NEXT_STEP_MS = 1_000;
/** Poll interval for changes without events: a Lease that grows old, slices that grow. */
const LOOK_MS = 15_000;
/** A step that takes this long is reported; then it is tried less often. */
const PATIENCE_MS = 60_000;

const again = (afterMs: number): Result => ({ kind: 'requeue', afterMs });

/** Since when a backend was awaited, and observed to act without a break; monotonic milliseconds. */
interface Awaited {
  readonly carrier: Carrier;
  readonly from: number;
  readonly since: number | undefined;
}

/** Deduplicates consecutive messages. */
const createAnnouncer = ({ events, regarding, logger }: AdmissionPoliciesReconcilerOptions) => {
  let last = '';
  return (type: EventInput['type'], reason: string, message: string, asEvent = true): void => {
    if (last === `${reason}: ${message}`) return;
    last = `${reason}: ${message}`;
    logger[type === 'Normal' ? 'info' : 'warn']('admission', { reason, detail: message });
    if (asEvent) events.record({ regarding, type, reason, message });
  };
};

export interface AdmissionPoliciesReconciler extends Reconciler {
  /** Who acted on slices after the last step; undefined before the first. */
  backends(): Backends | undefined;
}

export const createAdmissionPoliciesReconciler = (
  options: AdmissionPoliciesReconcilerOptions,
): AdmissionPoliciesReconciler => {
  const { admission, namespace, store, writer, planner, acts, clock, logger } = options;
  const { claim = soleInstallation() } = options;
  const announce = createAnnouncer(options);
  let awaited: Awaited | undefined;
  let backends: Backends | undefined;
  /** Whether this process has written anything; what was so before it is no news. */
  let worked = false;

  const planOf = (choice: Choice, owner: OwnerReference | undefined): Plan => {
    const acting = (carrier: Carrier): boolean =>
      awaited?.carrier === carrier && awaited.since !== undefined && clock.monotonic() - awaited.since >= SETTLE_MS;
    return planCarrier({
      carrier: choice.carrier,
      wanted: buildAdmissionPolicies({
        ...options.policies(),
        plannerAlive: planner.alive(),
        ...(claim.held() ? {} : { strategies: [] }),
      }),
      namespace,
      current: writer.withCreated(store.list()),
      foreign: writer.foreign(),
      owner,
      acting: { policy: acting('policy'), webhook: acting('webhook') },
    });
  };

  /** One probe of the backend that is waited for. */
  const wait = async (carrier: Carrier, signal: AbortSignal): Promise<Result> => {
    const now = clock.monotonic();
    const before: Awaited = awaited?.carrier === carrier ? awaited : { carrier, from: now, since: undefined };
    // Probe by dry-run slice writes.
    const seen = !claim.held() || (await acts(carrier, signal));
    const late = !seen && now - before.from >= PATIENCE_MS;
    if (late) {
      announce(
        'Warning',
        'CarrierNotActing',
        `the ${carrier} does not act on slices yet; the previous backend stays until it does; check ${carrier === 'webhook' ? 'its registration and certificate' : 'status.typeChecking of the policies'}`,
      );
    }
    awaited = { ...before, since: seen ? (before.since ?? now) : undefined };
    return again(late ? LOOK_MS : NEXT_STEP_MS);
  };

  const report = ({ refused, says, awaits }: Plan, { carrier, reason, message }: Choice): void => {
    const [refusal] = refused;
    if (refusal !== undefined) announce('Warning', 'PolicyRefused', refusal);
    else if (admission === 'policy' && carrier === 'webhook')
      announce('Warning', reason, `webhook instead of policy: ${message}`);
    else if (awaits === undefined && says === carrier)
      announce('Normal', 'AdmissionCarrier', `${carrier}: ${message}`, worked);
  };

  return {
    backends: () => backends,
    async reconcile(_key, signal) {
      const choice = options.choose();
      if (choice === undefined || !planner.known() || !claim.known()) return again(NEXT_STEP_MS);
      const plan = planOf(choice, await options.owner?.(signal));
      try {
        await writer.perform(plan.actions, signal);
      } catch (error) {
        if (!isConflict(error)) throw error;
        logger.info('write conflict, retrying', { error });
        return again(NEXT_STEP_MS);
      }
      worked ||= plan.actions.length > 0;
      report(plan, choice);
      backends = { acting: plan.says, awaited: plan.awaits };
      if (plan.awaits !== undefined) return wait(plan.awaits, signal);
      awaited = undefined;
      return again(plan.actions.length > 0 ? NEXT_STEP_MS : LOOK_MS);
    },
  };
};
