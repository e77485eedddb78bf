// What `kubectl topology explain` is asked, and what it finds.
import type { KubernetesVersion } from '../../routing/types.ts';
import type { Reason } from '../../upstream/index.ts';
import type { HintSource } from '../models/hints.ts';
import type { Stated } from '../routers/types.ts';
import type { FlowLoopSummary } from '../snapshot.ts';
import type { DiagnosisReason } from './reasons.ts';

/** Stable code of a cause: one of the models', or one that only a diagnosis sees. */
export type CauseReason = Reason | DiagnosisReason;

/** Where on the way from wish to effect a cause sits. */
export type Stage = 'wanted' | 'given' | 'used' | 'effective' | 'prerequisite';

export interface Cause {
  readonly reason: CauseReason;
  readonly stage: Stage;
  /** What was found, with names and figures. */
  readonly evidence: string;
  readonly remedy: string;
  /** The commands for this Service and version; lines that begin with # are for who owns it. Only where there are any. */
  readonly fix?: readonly string[];
}

export interface ExplainOptions extends Stated {
  /** Milliseconds since the epoch: certificates expire. */
  readonly now: number;
  /** Of the control plane and every proxy; default: from the snapshot, for each. */
  readonly version?: KubernetesVersion;
  /** Traffic was measured to cross zones although everything here looks right. Default false. */
  readonly crossing?: boolean;
}

export interface WantedReport {
  readonly wanted: boolean;
  readonly source: HintSource;
  /** Annotation, field or label with its value; empty where nothing asks. */
  readonly by: string;
  /** Named by a label or the annotation: `same-zone`, `load-aware`, .... */
  readonly strategy?: string;
}

/** The closed loop of a Service that asks for one. */
export interface LoopReport extends FlowLoopSummary {
  /** The slices carry the plan: what crosses zones under it does so on purpose. */
  readonly inForce: boolean;
  /** The plan is to write no hints, by what is known of the load. */
  readonly spreadOnPurpose: boolean;
}

/**
 * `NotWanted`: not asked for; `Ineffective`: asked, without (full) effect; `Assumed`: effective if the router is as assumed; `Unknown`: who routes on some Node is not known, and nothing else is wrong.
 */
export type Verdict = 'Effective' | 'Assumed' | 'Unknown' | 'NotWanted' | 'Ineffective';
