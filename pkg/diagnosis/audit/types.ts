// What `kubectl topology audit` takes and answers.
import type { Measured } from '../../traffic/measured.ts';
import type { Explanation } from '../explain/explain.ts';
import type { Cause, CauseReason, ExplainOptions, Verdict, WantedReport } from '../explain/types.ts';
import type { MeasuredReport, MeasuredService } from '../measured.ts';
import type { Tariff } from '../prices.ts';
import type { RoutersReport } from '../routers/types.ts';

export const AUDIT_REASONS = {
  EndpointZoneDiffers: {
    sentence:
      'An endpoint names another zone than its Node has now: hints follow the endpoint, and traffic crosses zones while everything looks right.',
    remedy:
      'Find out who changed the zone label of the Node; a restart of the Pod rewrites the endpoint; endpoints that other controllers write have to be fixed there.',
  },
} as const satisfies Readonly<Record<string, { readonly sentence: string; readonly remedy: string }>>;

/** Stable code of a finding that only an audit sees. */
type AuditReason = keyof typeof AUDIT_REASONS;

/** What traffic costs, and how much there is: measured, or assumed for all Services that are audited together. */
export type Bill = { readonly tariff: Tariff } & (
  | { readonly gigabytesPerDay: number; readonly measured?: undefined }
  | { readonly measured: Measured; readonly gigabytesPerDay?: undefined }
);

export interface AuditOptions extends ExplainOptions {
  /** Services of this namespace only. Default: of all. */
  readonly namespace?: string;
  /** Default: shares only, no money. */
  readonly bill?: Bill;
}

/** Fractions of connections that would stay in their zone and do not. */
export interface Saving {
  /** By routing by zone with the endpoints as they are. */
  readonly routing: number;
  /** Beyond that, by endpoints in the client zones that have none. */
  readonly endpoints: number;
}

/** In the currency of the price table. */
export interface MonthlyCost {
  /** What crossing costs now. */
  readonly current: number;
  readonly saving: Saving;
  /** What routing by zone saves already, compared with evenly chosen endpoints; only where traffic was measured. */
  readonly saved?: number;
}

/** Of Nodes, endpoints or zones: how many of them all. */
export interface Part {
  readonly count: number;
  readonly of: number;
}

/**
 * In the order in which to look: `Fails`: connections fail, or the Service requests routing by zone without effect; `Costs`: traffic crosses
 * that could stay; `NotSavable`: routing by zone cannot keep it (one endpoint, the API server, clients that bypass the proxies);
 * `NotKnown`: who routes, or where clients are; `Kept`: nothing crosses that could stay.
 */
export type AuditGroup = 'Fails' | 'Costs' | 'NotSavable' | 'NotKnown' | 'Kept';

export interface ServiceAudit {
  readonly group: AuditGroup;
  readonly namespace: string;
  readonly name: string;
  readonly type: string;
  readonly verdict: Verdict;
  readonly wanted: WantedReport;
  /** Ready endpoints, of every family, that carry a zone hint. */
  readonly given: Part;
  /** Ready Nodes whose proxy keeps to the hints. */
  readonly used: Part;
  /** Client zones that keep their traffic. */
  readonly effective: Part;
  /** Ready ones, of the first family. */
  readonly endpoints: number;
  /** Zones with a ready endpoint. */
  readonly zones: number;
  /** Predicted, clients as `sum.clientsBy` says; null where no proxy routes (headless, no endpoints) or no Node is known. */
  readonly inZoneShare: number | null;
  readonly crossZoneShare: number | null;
  /** How far the busiest endpoint is above its fair share: 0 = all alike, 1 = twice the average. */
  readonly worstOverload: number | null;
  /** The same if every endpoint were hinted for its own zone and every proxy kept to it. */
  readonly overloadRoutedByZone: number | null;
  /** Null also where clients go around its proxies: nothing can be promised of them. */
  readonly saving: Saving | null;
  /** Clients that go around its proxies, as `explain` names them. */
  readonly bypasses: readonly string[];
  /** Its part of all ready endpoints, which stands in for its part of the traffic. */
  readonly weight: number;
  readonly monthlyCost?: MonthlyCost;
  /** Only where traffic was measured. */
  readonly measured?: MeasuredService;
  /** The one to look at first; null where there is none. */
  readonly cause: Cause | null;
  /** The others, in the order in which to look at them. */
  readonly alsoFound: readonly CauseReason[];
}

/** Services of one group whose first cause is the same. */
export interface CauseGroup {
  readonly group: AuditGroup;
  readonly reason: CauseReason;
  readonly services: number;
  /** Of all connections: those of these Services that cross zones; null where nothing is predicted of any of them. */
  readonly crossZoneShare: number | null;
  /** Fractions of all connections; null where nothing is predicted or promised of any of them. */
  readonly saving: Saving | null;
  readonly monthlyCost?: MonthlyCost;
  readonly remedy: string;
}

/** Something about the cluster as a whole, which may concern every Service. */
export interface ClusterFinding {
  readonly reason: CauseReason | AuditReason;
  /** It is there; `possible`: objects cannot show whether it is. */
  readonly certainty: 'seen' | 'possible';
  readonly evidence: string;
  readonly remedy: string;
}

export interface AuditSum {
  readonly services: number;
  readonly verdicts: Readonly<Record<Verdict, number>>;
  /** How clients are taken to be spread, as in `simulate`: by the CPU of the Nodes, or alike on every Node where that is not known. */
  readonly clientsBy: 'cpu' | 'nodes';
  /** Services that clients bypass the proxies of, by the client's name; no saving is predicted of them. */
  readonly bypassed: Readonly<Record<string, number>>;
  /** Services without a prediction; they do not count below. */
  readonly unpredicted: number;
  readonly endpoints: number;
  readonly nodes: number;
  /** Fractions of all connections, Services weighted by their ready endpoints; null where nothing is predicted. */
  readonly inZoneShare: number | null;
  readonly crossZoneShare: number | null;
  readonly saving: Saving;
  readonly monthlyCost?: MonthlyCost;
}

export interface AuditReport extends RoutersReport {
  readonly kubernetesVersion: string;
  /** Of all Services the one audited; null for all. */
  readonly namespace: string | null;
  readonly services: readonly ServiceAudit[];
  readonly sum: AuditSum;
  readonly causes: readonly CauseGroup[];
  /** Fractions of all connections by client zone, then endpoint zone; the empty name is for no zone. */
  readonly matrix: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly findings: readonly ClusterFinding[];
  readonly prices?: {
    readonly currency: string;
    readonly source: string;
    readonly date: string;
    /** Of all audited Services together. */
    readonly gigabytesPerDay: number;
    /** `Assumed`: given as a flag, and divided among Services by their ready endpoints. */
    readonly basis: 'Assumed' | 'Measured';
  };
  readonly measured?: MeasuredReport;
  readonly unseen: Explanation['unseen'];
}
