// What the flow-controller's parts exchange about one Service.
import type { Service } from '../../apis/core.ts';
import type { FlowPolicy } from '../../apis/flow-policy.ts';
import type { PlannedStrategy } from '../../routing/strategy.ts';
import type { ClientZones } from '../../flow/assemble/nodes.ts';
import type { PodCpu } from '../../flow/assemble/observation.ts';
import type { FlowSlice } from '../../flow/assemble/slice.ts';
import type { PlanLimit } from '../../flow/assemble/conditions.ts';
import type { Turn } from '../../flow/assemble/turn.ts';
import type { Bounds } from '../../flow/types.ts';
import type { FlowSettings } from '../../flow/loop/from-spec.ts';
import type { KnownLoad } from './loads.ts';

/** What is cached of one Service and of what it depends on. */
export interface Snapshot {
  readonly service: Service;
  readonly slices: readonly FlowSlice[];
  readonly policy: FlowPolicy | undefined;
  readonly zones: ClientZones;
  podCpu(pod: string): PodCpu | undefined;
}

/** Why a Service has no plan, or a plan that is not in force. */
export interface Refusal {
  readonly reason: string;
  readonly message: string;
}

/** The result of one reconcile of a Service. */
export interface Outcome {
  readonly key: string;
  readonly strategy: PlannedStrategy;
  readonly snapshot: Snapshot;
  readonly settings: FlowSettings;
  /** Wall clock of the reconcile, seconds since 1970. */
  readonly time: number;
  readonly refused: Refusal | undefined;
  readonly turn: Turn | undefined;
  /** What no plan could beat. */
  readonly bounds?: Bounds | undefined;
  /** The plan in force is what was found until its search was ended. */
  readonly limited?: PlanLimit | undefined;
  readonly load: KnownLoad | undefined;
  /** The slices carry the plan, as far as is known. */
  readonly inForce: boolean;
  /** It is overwritten again and again. */
  readonly losing: boolean;
}
