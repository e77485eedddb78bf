// FlowPolicy: tuning and status of the closed loop of the Service that has the same name.
import type { ObjectMeta } from './meta.ts';

/** Durations are Go's, as metav1.Duration prints them (`30s`, `5m`); quantities are Kubernetes' (`500m`). */
export interface FlowPolicySpec {
  /** `Observe` plans and reports but writes nothing. Default `Enforce`. */
  mode?: 'Enforce' | 'Observe';
  /** Load that plans aim for, percent of capacity. Default 70. */
  targetUtilizationPercent?: number;
  /** Load from which on a new plan is made, percent of capacity; above the target. Default 80. */
  upperUtilizationPercent?: number;
  /** How long load has to stay above it where noise could explain that. Default 30s. */
  upDwell?: string;
  /** How long demand has to stay low enough for less traffic between zones. Default 5m. */
  downDwell?: string;
  /** At least this long between two plans, unless zones or endpoints change, endpoints are saturated or demand jumps. Default 30s. */
  planInterval?: string;
  metrics?: FlowPolicyMetrics;
  capacity?: FlowPolicyCapacity;
  /** Least number of endpoints for every zone with clients. Default 1. */
  minEndpointsPerZone?: number;
  /** A plan that saves less than this share of the demand from crossing zones is not worth a change. Default 2. */
  worthwhileSavingPercent?: number;
  /** Every pair that is not named costs 1. */
  zoneCosts?: FlowPolicyZoneCost[];
  /** When metrics are too old to act on. */
  staleness?: { /** Default 2m. */ holdAfter?: string; /** Default 10m. */ safeModeAfter?: string };
  /** What is done when metrics are too old for long. Default `Spread`. */
  safeMode?: 'Spread' | 'SameZone';
}

export interface FlowPolicyMetrics {
  /** `metrics.k8s.io` or the name of a source in the flow controller's configuration. Default: its first. */
  source?: string;
  /** PromQL for Prometheus sources: one sample per Pod, or per pair of zones. */
  query?: string;
  /** How often it is asked. Default: as its samples come, about 15s; traffic meters 2s. */
  interval?: string;
}

export interface FlowPolicyCapacity {
  /** CPU requests or limits of the Pod's containers, or `Value`. Default `Requests`. */
  from?: 'Requests' | 'Limits' | 'Value';
  /** Capacity of every Pod, for `Value`: cores, or whatever unit the query's samples have. */
  value?: string;
}

export interface FlowPolicyZoneCost {
  /** Zone of the clients. */
  from: string;
  /** Zone of the endpoints. */
  to: string;
  /** 0 or more. */
  cost: number;
}

export interface FlowPolicyCondition {
  type: 'Observed' | 'Effective' | 'Stable' | 'TrafficDistributionHonored';
  status: 'True' | 'False' | 'Unknown';
  reason: string;
  message: string;
  lastTransitionTime: string;
  observedGeneration?: number;
}

export interface FlowPolicyZoneStatus {
  zone: string;
  /** Decimal text, in the unit of capacity, as all numbers of a status that are no integers. */
  demand: string;
  /** That run in the zone. */
  endpoints: number;
  utilizationPercent: number;
  /** Share of the zone's demand that other zones serve. */
  spillPercent: number;
}

export interface FlowPolicyStatus {
  observedGeneration?: number;
  /** Where load comes from. */
  source?: string;
  /** Of all zones; decimal text, in the unit of capacity. */
  demand?: string;
  /** Ready endpoints. */
  endpoints?: number;
  /** Share of the demand that stays in its zone under the plan in force. */
  inZonePercent?: number;
  /** Load of the busiest endpoint under the plan, by its capacity. */
  maxUtilizationPercent?: number;
  /** At most so much could, at the target. */
  bounds?: { lpPercent: number; integralityPercent: number };
  zones?: FlowPolicyZoneStatus[];
  plan?: {
    spread: boolean;
    /** Endpoints that serve more or other zones than their own, 100 at most; the slices hold the whole plan. */
    endpoints: { name: string; forZones: string[] }[];
    /** Endpoints that would be listed as well, were there room. */
    omitted?: number;
  };
  /** CPU of one unit that a TrafficMeter source counts, as learned from the Pods. */
  learned?: {
    /** `Connection` or `Megabyte`. */
    unit: string;
    /** For one a second; decimal text. */
    cores: string;
    /** Standard deviation, percent of it; above 30 the load of the endpoints decides instead. */
    uncertaintyPercent: number;
  };
  conditions?: FlowPolicyCondition[];
  /** The newest first. */
  lastChanges?: { time: string; reason: string; message: string; sampleAgeSeconds?: number }[];
}

export interface FlowPolicy {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec?: FlowPolicySpec;
  status?: FlowPolicyStatus;
}
