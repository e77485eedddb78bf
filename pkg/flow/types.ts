// What the planner takes and gives: endpoints with their capacity, demand by client zone, hints and what they lead to.

/** Demand, capacity and load are all in cores; shares and utilisations are fractions, 1 = all, or the whole capacity. */
export interface FlowEndpoint {
  /** Unique among the endpoints of a Service, e.g. the Pod's name. Ties between plans are broken in its order. */
  readonly name: string;
  /** Zone the endpoint runs in; empty where it has none, and then no traffic to it is in-zone. */
  readonly zone: string;
  /** What it can serve, in cores; above 0. */
  readonly capacity: number;
  /** Hints in force. Absent or empty: none. */
  readonly forZones?: readonly string[];
}

/** Demand of the clients of each zone, in cores. The empty name is for clients on Nodes without zone: proxies give them every endpoint. */
export type Demand = Readonly<Record<string, number>>;

/**
 * What it costs to serve a core of demand of `clientZone` from `endpointZone`, in any unit: 0 or more, finite. Asked for
 * different zones only: traffic inside a zone costs nothing. Must give the same answer whenever it is asked.
 */
export type ZoneCost = (clientZone: string, endpointZone: string) => number;

export interface PlanInput {
  /** Ready endpoints, in any order. */
  readonly endpoints: readonly FlowEndpoint[];
  readonly demand: Demand;
  /** How much of its capacity an endpoint should carry at most, as a fraction of capacity: above 0. */
  readonly targetUtilization: number;
  /** At least so many endpoints for each zone with demand, or all there are. Default 1. */
  readonly minEndpoints?: number;
  /** Default: every pair of different zones costs 1. */
  readonly cost?: ZoneCost | undefined;
  /**
   * Hints in force stay while a better plan would save less than this fraction of the demand (times the dearest cost
   * where `cost` is given). Never at the price of overload. Default 0: they stay only where nothing is better.
   */
  readonly stickiness?: number;
  /** No hints, and on purpose: distinguishes a spread in force from endpoints that have no hints yet. Default false. */
  readonly spreadInForce?: boolean;
  /**
   * How many looks at classes and groups of endpoints the search may take before the best plan found so far has to do: counted and not timed, so that
   * the same input gives the same plan. Default 12 million, some tenths of a second; 0 leaves own zones, no hints and those in force to choose from.
   */
  readonly effort?: number | undefined;
}

export interface ZoneFigures {
  /** Of the clients of this zone, in cores. */
  readonly demand: number;
  /** How many endpoints, wherever they run, serve the clients of this zone: all where hints are ignored. */
  readonly endpoints: number;
  /** Load of the endpoints that run in this zone, from any client, by their capacity. 0 where none runs here. */
  readonly utilization: number;
}

/** What hints lead to, if proxies do what kube-proxy does and clients open many connections. */
export interface PlanFigures {
  /** By zone, in name order: zones with clients and zones with endpoints. */
  readonly zones: Readonly<Record<string, ZoneFigures>>;
  /** Fraction of the demand that is served in its own zone; 1 without demand, 0 without endpoints. */
  readonly inZoneShare: number;
  /** Load of the busiest endpoint as a fraction of its capacity. */
  readonly maxUtilization: number;
  /** Load above the target, in cores, summed over the endpoints; the whole demand without endpoints. */
  readonly overload: number;
  /** Demand served from other zones times what the pair costs; in cores by default. */
  readonly crossZoneCost: number;
}

export interface PlannedEndpoint {
  readonly name: string;
  /** In name order; empty when spread, never otherwise; 8 zones at most, as the API allows. */
  readonly forZones: readonly string[];
}

/**
 * Upper bounds on the `inZoneShare` of every plan that has no more overload than this one, integrality <= lp. Where a plan
 * without overload exists, they are bounds at the target.
 */
export interface Bounds {
  /** If traffic could be divided at will: only the capacity of the zones counts. */
  readonly lp: number;
  /**
   * Also: a zone's traffic is divided evenly over a whole number of endpoints, and every endpoint serves some zone. The same as
   * `lp` for a plan with overload.
   */
  readonly integrality: number;
}

export interface Plan extends PlanFigures {
  /** No hints at all: every endpoint serves every zone. */
  readonly spread: boolean;
  /** In name order. */
  readonly endpoints: readonly PlannedEndpoint[];
  readonly bounds: Bounds;
  /**
   * No other hints have less overload, nor the same and cost less: shown by a bound or by trying all. Hints name zones with
   * clients, or for endpoints of a zone without clients their own.
   */
  readonly exact: boolean;
  /** The search ended where its effort did: a better plan might have been found with more. */
  readonly cutShort: boolean;
  /** Endpoints whose hints differ from those in force. */
  readonly changes: number;
}

/** `forZones` is what is evaluated. One endpoint without makes proxies ignore all hints. */
export type EvaluateInput = Pick<PlanInput, 'endpoints' | 'demand' | 'targetUtilization' | 'cost'>;

export interface ProportionalInput extends Omit<PlanInput, 'endpoints' | 'demand' | 'targetUtilization'> {
  /** Weight of each client zone, in any unit, e.g. the cores of its Nodes. */
  readonly weights: Readonly<Record<string, number>>;
  /** All alike: capacity does not count. `forZones` are the hints in force. */
  readonly endpoints: readonly Omit<FlowEndpoint, 'capacity'>[];
  /** How far an endpoint may be above its fair share of the load: 0.2 = 20 %, which upstream names and does not keep. */
  readonly maxOverload?: number;
}

/** What the record holds under the key; undefined where it holds nothing there. */
export const ownValue = <T>(record: Readonly<Record<string, T>>, key: string): T | undefined =>
  Object.hasOwn(record, key) ? record[key] : undefined;

/** The number that the record holds under the key; 0 where it holds none. */
export const amountOf = (amounts: Readonly<Record<string, number>>, key: string): number => ownValue(amounts, key) ?? 0;
