// What `kubectl topology audit --without` takes and answers.
import type { Service } from '../../apis/core.ts';
import type { Leave } from '../../evacuation/decide.ts';
import type { Measured } from '../../traffic/measured.ts';
import type { Part } from '../audit/types.ts';
import type { CauseReason, Explanation, ExplainOptions } from '../explain/types.ts';
import type { RoutersReport } from '../routers/report.ts';
import type { Answer, UnmovedReason } from './reasons.ts';

export interface SurvivalOptions extends ExplainOptions {
  /** That are lost, at least one. */
  readonly zones: readonly string[];
  /** What leaves of a Service, where that is not all of those zones. */
  readonly leavesOf?: (service: Service) => readonly Leave[];
  /** Where clients of Services are, as measured. Default: by the CPU of the Nodes. */
  readonly measured?: Measured;
  /** Services of this namespace only. Default: of all. */
  readonly namespace?: string;
  /** Default: every Service. */
  readonly selects?: (service: Service) => boolean;
  /** Most that the busiest endpoint may reach where load is measured, as a fraction of its capacity. Default 1. */
  readonly maxUtilization?: number;
  /** How far it may be above a fair share of today where load is not measured: 1 = twice as much. Default 1. */
  readonly maxOverload?: number;
}

/** Load of the busiest endpoint, before and after. */
export interface LoadReport {
  /** `measured`: fractions of its capacity; `fairShare`: multiples of what each endpoint gets today where all get the same. */
  readonly basis: 'measured' | 'fairShare';
  readonly now: number;
  /** Null where no endpoint is left. */
  readonly after: number | null;
  readonly limit: number;
  /** Clients of the Service are where they were measured. */
  readonly clientsMeasured: boolean;
  /** Zone of the busiest afterwards; empty where no endpoint is left, or where it has none. */
  readonly zone: string;
}

/** Clients or endpoints that hints do not move. */
export interface Unmoved {
  readonly reason: UnmovedReason | CauseReason;
  /** What shows it. */
  readonly evidence: string;
  readonly remedy: string;
  /** All of the Service's traffic goes this way. */
  readonly all: boolean;
}

export interface ServiceSurvival {
  readonly namespace: string;
  readonly name: string;
  readonly type: string;
  readonly answer: Answer;
  /** The answer as a sentence, with figures. */
  readonly message: string;
  /** Ready endpoints that leave, of all of the Service's. Of the port and family that is worst off. */
  readonly endpoints: Part;
  /** Ready endpoints without a zone; they count as being elsewhere. */
  readonly zoneless: number;
  /** Null where the Service has no endpoint, or none that is known. */
  readonly load: LoadReport | null;
  /** Endpoints to add by zone, so that the busiest stays within the limit. */
  readonly replicas: Readonly<Record<string, number>>;
  readonly unmoved: readonly Unmoved[];
}

/** Services to which the same applies. */
export interface UnmovedGroup {
  readonly reason: Unmoved['reason'];
  readonly services: number;
  /** Of the first Service. */
  readonly evidence: string;
  readonly remedy: string;
}

export interface SurvivalSum {
  readonly services: number;
  readonly answers: Readonly<Record<Answer, number>>;
  /** Services whose load is measured. */
  readonly measured: number;
  /** Services whose clients are where they were measured. */
  readonly clientsMeasured: number;
  /** How clients of the others are taken to be spread. */
  readonly clientsBy: 'cpu' | 'nodes';
  /** To add, of all Services. */
  readonly replicas: number;
  /** Ready endpoints in the zones, of all. */
  readonly endpoints: Part;
  /** Ready Nodes in the zones, of all. */
  readonly nodes: Part;
}

export interface SurvivalReport extends RoutersReport {
  readonly kubernetesVersion: string;
  readonly zones: readonly string[];
  /** Of all Services the one looked at; null for all. */
  readonly namespace: string | null;
  /** No Service is overloaded or left without endpoints. */
  readonly survives: boolean;
  /** Worst first. */
  readonly services: readonly ServiceSurvival[];
  readonly sum: SurvivalSum;
  /** What hints do not move, most Services first. */
  readonly unmoved: readonly UnmovedGroup[];
  readonly unseen: Explanation['unseen'];
}
