// What `kubectl topology simulate` takes and answers; the report is its JSON, field by field.
import type { Demand } from '../../flow/types.ts';
import type { KubernetesVersion } from '../../routing/types.ts';
import type { PriceTable } from '../prices.ts';
import type { RoutersReport } from '../routers/report.ts';
import type { Stated } from '../routers/types.ts';
import type { Carrier, ModeName } from './modes.ts';
import type { VerdictReason, RecommendationReason } from './reasons.ts';

/** Weights of the zones: allocatable CPU of their Nodes as the control plane counts it, number of Nodes, or as given. */
export type Weights = 'cpu' | 'nodes' | Demand;

export interface SimulateOptions extends Stated {
  /** Of the control plane and every proxy; default: from the snapshot, for each. */
  readonly version?: KubernetesVersion;
  /** Name of the Service's port; default: its first. */
  readonly port?: string;
  /** addressType; default: the Service's first family. */
  readonly family?: string;
  /**
   * How clients are taken to be spread over the zones, and what the strategy `proportional` plans by. Default `cpu`, and
   * `nodes` where the CPU of the zones is not known.
   */
  readonly weights?: Weights;
  /**
   * Demand of the clients by zone, in cores: where it is given, `weights` are the plan's only. Default, where there are
   * no `weights` either: what the FlowPolicy of the Service observed.
   */
  readonly demand?: Demand;
  /** What each endpoint can serve, in cores; default: the CPU requests of its Pod. Used with `demand`. */
  readonly capacity?: number;
  /** How much of its capacity an endpoint should carry at most, as a fraction. Default 0.7. */
  readonly targetUtilization?: number;
  /**
   * How far an endpoint may be above its fair share, as a fraction: what counts as overload where capacity is not known,
   * and what `proportional` keeps to. Default 0.2, upstream's limit.
   */
  readonly maxOverload?: number;
  /** What if: ready endpoints by zone. */
  readonly replicas?: Readonly<Record<string, number>>;
  /** What if: allocatable cores by Node, or by zone for each of its Nodes. */
  readonly nodeCpu?: Readonly<Record<string, number>>;
  /** Traffic of the Service, requests and responses together; without it there is no money in the report. */
  readonly gigabytesPerDay?: number;
  /** Default: the built-in table of AWS. */
  readonly prices?: PriceTable;
}

/** Shares of all connections, by the client's zone, then the endpoint's; the empty name is for no zone. */
export type Matrix = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** Where traffic goes. */
export interface Outcome {
  /** Ready endpoints that carry a hint. */
  readonly hinted: number;
  readonly matrix: Matrix;
  /** Fraction of the connections that arrive which stay in their zone. */
  readonly inZoneShare: number;
  /** Fraction of the connections that find no endpoint. */
  readonly lostShare: number;
  /** How far the busiest endpoint is above its fair share of the traffic: 0 = all alike, 1 = twice the fair share. */
  readonly worstOverload: number;
  /** Zone of that endpoint. */
  readonly busiestZone: string;
  /** Load of the busiest endpoint as a fraction of its capacity; null where demand or capacity is not known. */
  readonly maxUtilization: number | null;
  /** Only with gigabytes a day. */
  readonly costPerMonth?: number;
}

export interface Verdict {
  readonly reason: VerdictReason;
  /** One sentence. */
  readonly message: string;
}

export interface ModeReport {
  readonly mode: ModeName;
  /** Kubernetes version since which the mode exists, `1.34`. */
  readonly since: string;
  readonly carrier: Carrier;
  /** What to set on the Service, `field=value` each. */
  readonly settings: readonly string[];
  /** What the Service asks for as it is. */
  readonly inForce: boolean;
  readonly recommended: boolean;
  /** Null where the mode cannot be simulated; the verdict says why. */
  readonly outcome: Outcome | null;
  readonly verdict: Verdict;
}

export interface DemandReport {
  /** `demand`: cores, as given; `flowPolicy`: cores, as observed; `weights`: as given. */
  readonly source: 'demand' | 'flowPolicy' | 'weights' | 'cpu' | 'nodes';
  /** What was asked for and could not be had, one sentence; empty if nothing. */
  readonly note: string;
  /** Sum over the zones; null where weights are no cores. */
  readonly cores: number | null;
  readonly zones: Readonly<Record<string, ZoneReport>>;
}

export interface ZoneReport {
  /** Fraction of all demand. */
  readonly share: number;
  /** Null where weights are no cores. */
  readonly cores: number | null;
  /** Ready Nodes with clients. */
  readonly nodes: number;
  /** Ready endpoints. */
  readonly endpoints: number;
}

export interface CapacityReport {
  readonly source: 'given' | 'flowPolicy' | 'requests';
  /** Sum over the ready endpoints, in cores. */
  readonly cores: number;
  readonly targetUtilization: number;
}

export interface WhatIfReport {
  readonly replicas: Readonly<Record<string, { readonly before: number; readonly after: number }>>;
  /** By Node, in cores; null where the Node reports none. */
  readonly nodeCpu: Readonly<Record<string, { readonly before: number | null; readonly after: number }>>;
}

export interface PricesReport {
  readonly gigabytesPerDay: number;
  readonly currency: string;
  readonly source: string;
  readonly date: string;
}

export interface Recommendation {
  readonly mode: ModeName;
  readonly reason: RecommendationReason;
  /** One sentence. */
  readonly message: string;
  /** It is better than what happens now, by more than a hundredth of what crosses in the worst mode. */
  readonly improves: boolean;
}

export interface SimulationReport extends RoutersReport {
  readonly namespace: string;
  readonly name: string;
  readonly kubernetesVersion: string;
  /** As `router`, which came later. */
  readonly proxy: RoutersReport['router'];
  readonly addressType: string;
  readonly port: string;
  /** Null where nothing but the cluster as it is was asked about. */
  readonly whatIf: WhatIfReport | null;
  /** Ready endpoints. */
  readonly endpoints: number;
  readonly demand: DemandReport;
  /** How far an endpoint may be above its fair share: what counts as overload where `capacity` is null. */
  readonly maxOverload: number;
  /** Null where demand or capacity is not known. */
  readonly capacity: CapacityReport | null;
  /** Only with gigabytes a day. */
  readonly prices?: PricesReport;
  /** With the hints as they are stored; in a what-if with those that the Service's own settings lead to. */
  readonly now: Outcome & { readonly mode: ModeName };
  readonly modes: readonly ModeReport[];
  readonly recommendation: Recommendation;
}

/** Why there is nothing to simulate. */
export type RefusalReason =
  | 'ExternalName'
  | 'Headless'
  | 'NotProxied'
  | 'NoNodes'
  | 'RouterUnknown'
  | 'NoReadyEndpoints'
  | 'EndpointWithoutZone'
  | 'UnknownZone'
  | 'UnknownNode'
  | 'NoDemand';

export type Simulation =
  | { readonly kind: 'simulated'; readonly report: SimulationReport }
  | { readonly kind: 'refused'; readonly reason: RefusalReason; readonly message: string };
