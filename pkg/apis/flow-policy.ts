// FlowPolicy: tuning and status of the closed loop of the Service that has the same name.
// Checks FlowPolicies that no API server has checked: files, and objects under an older definition. The same rules, without CEL.
import { Ajv, type SchemaObject } from 'ajv';
import { type ConfigKind, type CrossFieldProblem, loadConfiguration } from './config/load.ts';
import { FLOW_POLICY_API_VERSION, FLOW_POLICY_SPEC_SCHEMA } from './flow-policy-schema.ts';
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

/** The schema without the keywords of API servers; unlike there, fields that it does not know are refused. */
const closed = (schema: SchemaObject): SchemaObject =>
  Object.fromEntries(
    Object.entries(schema)
      .filter(([key]) => !key.startsWith('x-kubernetes-'))
      .map(([key, value]: [string, unknown]) => {
        if (key === 'items') return [key, closed(value as SchemaObject)];
        if (key !== 'properties') return [key, value];
        const properties = Object.entries(value as Record<string, SchemaObject>);
        return [key, Object.fromEntries(properties.map(([name, property]) => [name, closed(property)]))];
      })
      .concat(schema['type'] === 'object' ? [['additionalProperties', false]] : []),
  );

const SECONDS: Readonly<Record<string, number>> = { h: 3_600, m: 60, s: 1, ms: 1e-3 };

const secondsOf = (text: string): number =>
  [...text.matchAll(/([0-9.]+)(h|ms|m|s)/g)].reduce(
    (sum, [, value = '', unit = '']) => sum + Number(value) * (SECONDS[unit] ?? 0),
    0,
  );

type Path = CrossFieldProblem['path'];

const durationsOf = ({ upDwell, downDwell, planInterval, metrics, staleness }: FlowPolicySpec) =>
  [
    [['upDwell'], upDwell],
    [['downDwell'], downDwell],
    [['planInterval'], planInterval],
    [['metrics', 'interval'], metrics?.interval],
    [['staleness', 'holdAfter'], staleness?.holdAfter],
    [['staleness', 'safeModeAfter'], staleness?.safeModeAfter],
  ] as const satisfies readonly (readonly [Path, string | undefined])[];

const zoneCostProblems = ({ zoneCosts = [] }: FlowPolicySpec): CrossFieldProblem[] => {
  const seen = new Set<string>();
  return zoneCosts.flatMap(({ from, to }, index): CrossFieldProblem[] => {
    const pair = `${from}\n${to}`;
    const twice = seen.has(pair);
    seen.add(pair);
    if (from === to)
      return [{ path: ['zoneCosts', index, 'to'], message: 'is the zone of the clients too: name two zones.' }];
    return twice ? [{ path: ['zoneCosts', index], message: `repeats the pair ${from} and ${to}.` }] : [];
  });
};

/** The rules between fields; paths begin at the spec. */
const ruleProblems = (spec: FlowPolicySpec): CrossFieldProblem[] => {
  const problems: CrossFieldProblem[] = durationsOf(spec).flatMap(([path, text]) =>
    text !== undefined && secondsOf(text) < 1 ? [{ path, message: 'must be at least 1s.' }] : [],
  );
  const {
    targetUtilizationPercent: target = 70,
    upperUtilizationPercent: upper = 80,
    metrics,
    capacity,
    staleness,
  } = spec;
  const holdAfter = secondsOf(staleness?.holdAfter ?? '2m');
  const say = (path: Path, message: string): void => void problems.push({ path, message });
  if (upper <= target) {
    const path = spec.upperUtilizationPercent === undefined ? 'targetUtilizationPercent' : 'upperUtilizationPercent';
    say([path], `upperUtilizationPercent (${upper}) must be above targetUtilizationPercent (${target}).`);
  }
  if (secondsOf(staleness?.safeModeAfter ?? '10m') <= holdAfter)
    say(['staleness'], 'safeModeAfter (default 10m) must be longer than holdAfter (default 2m).');
  if (secondsOf(metrics?.interval ?? '15s') > holdAfter)
    say(['metrics'], 'interval (default 15s) must not be longer than staleness.holdAfter (default 2m).');
  if (metrics?.query !== undefined && (metrics.source ?? 'metrics.k8s.io') === 'metrics.k8s.io')
    say(['metrics', 'query'], 'needs a source that takes one: name a Prometheus source.');
  if ((capacity?.from === 'Value') !== (capacity?.value !== undefined))
    say(['capacity'], 'value belongs to from: Value, and from: Value needs a value.');
  if (capacity?.value !== undefined && !/[1-9]/.test(capacity.value)) say(['capacity', 'value'], 'must be above 0.');
  return [...problems, ...zoneCostProblems(spec)];
};

const SPEC = closed(FLOW_POLICY_SPEC_SCHEMA);

/** What `loadConfiguration` needs to read a FlowPolicy from a file. */
const FLOW_POLICY: ConfigKind<FlowPolicy> = {
  apiVersion: FLOW_POLICY_API_VERSION,
  kind: 'FlowPolicy',
  schema: {
    type: 'object',
    properties: { metadata: { type: 'object' }, spec: SPEC, status: { type: 'object' } },
  },
  check: ({ spec = {} }) => ruleProblems(spec).map((problem) => ({ ...problem, path: ['spec', ...problem.path] })),
};

/** Reads a FlowPolicy from YAML or JSON. Throws ConfigError with file, line, column and field of all that is wrong. */
export const readFlowPolicy = (text: string, file: string): FlowPolicy => loadConfiguration(FLOW_POLICY, text, file);

/**
 * A check of specs that is made once and used often: what is wrong first, or undefined. Takes anything, and never throws.
 * Unknown fields pass: a newer definition may know them.
 */
export const createSpecCheck = (): ((spec: unknown) => string | undefined) => {
  const ajv = new Ajv({ strict: true, strictTypes: false });
  const open = JSON.parse(
    JSON.stringify(SPEC).replaceAll('"additionalProperties":false', '"additionalProperties":true'),
  );
  const validate = ajv.compile<FlowPolicySpec>(open as SchemaObject);
  return (spec) => {
    if (!validate(spec)) {
      const [error] = validate.errors ?? [];
      return `spec${error?.instancePath.replaceAll('/', '.') ?? ''} ${error?.message ?? 'is not valid'}`;
    }
    const [problem] = ruleProblems(spec);
    return problem === undefined ? undefined : `spec.${problem.path.join('.')}: ${problem.message}`;
  };
};
