// FlowPolicy: tuning and status of the closed loop of the Service that has the same name; the schema, and the types that are derived from it.
import type { SchemaObject } from 'ajv';
import * as Type from '@sinclair/typebox';
import { type ConfigKind, loadConfiguration } from './config/load.ts';
import { GROUP } from './names.ts';
import { parseDuration } from './quantity.ts';
import {
  CLOSED,
  byKeys,
  checkOf,
  fields,
  generation,
  listOf,
  oneOf,
  optional,
  rule,
  ruled,
  rules,
  dateTime,
  whole,
  written,
} from './schema.ts';
import type { KubernetesObject } from './meta.ts';

export const FLOW_POLICY_API_VERSION = `${GROUP}/v1alpha1`;

/** Seconds; endless for what is no duration, which its pattern refuses. */
const secondsOf = (text: unknown, fallback: string): number =>
  parseDuration(typeof text === 'string' ? text : fallback) ?? Infinity;

/** Go's, as metav1.Duration prints them. */
const duration = (description: string) =>
  Type.String({
    description,
    maxLength: 32,
    pattern: '^([0-9]+(\\.[0-9]+)?(h|m|s|ms))+$',
    ...ruled<string>("duration(self) >= duration('1s')", 'must be at least 1s', (self) => secondsOf(self, '') >= 1),
  });

const zoneName = (description: string) => Type.String({ minLength: 1, maxLength: 63, description });

const metrics = fields(
  'Where load comes from.',
  optional({
    source: Type.String({
      minLength: 1,
      maxLength: 63,
      description:
        "`metrics.k8s.io`, or the name of a source in the flow controller's configuration. Default: the first one there.",
    }),
    query: Type.String({
      minLength: 1,
      maxLength: 4096,
      description: 'PromQL for a Prometheus source: one sample for each Pod, or for each pair of zones.',
    }),
    interval: duration(
      'How often it is read. Default: about every 15s, when its samples are due; traffic meters every 2s.',
    ),
  }),
  ruled<{ query?: unknown; source?: unknown }>(
    "!has(self.query) || (has(self.source) && self.source != 'metrics.k8s.io')",
    'query needs a source that takes one: name a Prometheus source',
    ({ query, source = 'metrics.k8s.io' }) => query === undefined || source !== 'metrics.k8s.io',
  ),
);

const capacity = fields(
  'What one endpoint can serve.',
  optional({
    from: oneOf(['Requests', 'Limits', 'Value'], {
      description: "CPU requests or limits of the Pod's containers, or `value`. Default `Requests`.",
    }),
    value: Type.String({
      description: 'Capacity of every Pod, with from: Value. In cores, or in the unit that the samples have.',
      maxLength: 32,
      pattern: '^[0-9]+(\\.[0-9]+)?(m|k|M)?$',
      ...ruled<string>("self.matches('[1-9]')", 'must be above 0', (self) => /[1-9]/.test(self)),
    }),
  }),
  ruled<{ from?: unknown; value?: unknown }>(
    "(has(self.from) && self.from == 'Value') == has(self.value)",
    'value belongs to from: Value, and from: Value needs a value',
    ({ from, value }) => (from === 'Value') === (value !== undefined),
  ),
);

const zoneCost = fields(
  'The cost from the zone of the clients to the zone of the endpoints.',
  {
    from: zoneName('Zone of the clients.'),
    to: zoneName('Zone of the endpoints.'),
    cost: Type.Number({ minimum: 0, maximum: 1_000_000, description: 'In any unit.' }),
  },
  ruled<{ from: unknown; to: unknown }>(
    'self.from != self.to',
    'traffic inside a zone costs nothing: name two zones',
    ({ from, to }) => from !== to,
  ),
);

const staleness = fields(
  'When metrics are too old to act on.',
  optional({
    holdAfter: duration('From this age on zones get endpoints for four times the demand last seen. Default 2m.'),
    safeModeAfter: duration('From this age on `safeMode` is in force. Default 10m.'),
  }),
  ruled<{ holdAfter?: unknown; safeModeAfter?: unknown }>(
    "duration(has(self.safeModeAfter) ? self.safeModeAfter : '10m') > duration(has(self.holdAfter) ? self.holdAfter : '2m')",
    'safeModeAfter (default 10m) must be longer than holdAfter (default 2m)',
    ({ holdAfter, safeModeAfter }) => secondsOf(safeModeAfter, '10m') > secondsOf(holdAfter, '2m'),
  ),
);

/** Every field has a default that the controller knows, so that an empty spec says all. */
const spec = fields(
  'Settings of the closed loop of the Service with the same name.',
  optional({
    mode: oneOf(['Enforce', 'Observe'], {
      description: '`Observe` plans and reports, and writes no hints. Default `Enforce`.',
    }),
    targetUtilizationPercent: whole(1, 95, 'Load that plans aim for, percent of capacity. Default 70.'),
    upperUtilizationPercent: whole(2, 100, 'Load from which on a new plan is made, percent of capacity. Default 80.'),
    upDwell: duration(
      'How long load has to stay above it if noise could explain that. Jumps, saturation and load far above it do not wait. Default 30s.',
    ),
    downDwell: duration(
      'How long demand has to stay low enough for less traffic between zones. Default 5m, and once an hour 30s after a fall that no noise explains; a value that is set always holds.',
    ),
    planInterval: duration(
      'Least time between two plans, unless zones or endpoints change, endpoints are saturated or demand jumps. Default 30s.',
    ),
    metrics,
    capacity,
    minEndpointsPerZone: whole(1, 1_000, 'Least number of endpoints for every zone with clients. Default 1.'),
    worthwhileSavingPercent: whole(
      0,
      100,
      'A plan that saves less than this share of the demand from crossing zones is not worth a change. Default 2.',
    ),
    zoneCosts: listOf('What traffic between zones costs; a pair that is not listed costs 1.', zoneCost, {
      maxItems: 900,
      ...byKeys('from', 'to'),
    }),
    staleness,
    safeMode: oneOf(['Spread', 'SameZone'], {
      description: 'What to do when metrics are lost: no hints, or every endpoint for its own zone. Default `Spread`.',
    }),
  }),
  rules(
    rule<Record<string, unknown>>(
      '(has(self.upperUtilizationPercent) ? self.upperUtilizationPercent : 80) > (has(self.targetUtilizationPercent) ? self.targetUtilizationPercent : 70)',
      'upperUtilizationPercent (default 80) must be above targetUtilizationPercent (default 70)',
      ({ upperUtilizationPercent: upper = 80, targetUtilizationPercent: target = 70 }) =>
        Number(upper) > Number(target),
    ),
    rule<{ metrics?: { interval?: unknown }; staleness?: { holdAfter?: unknown } }>(
      "duration(has(self.metrics) && has(self.metrics.interval) ? self.metrics.interval : '15s') <= duration(has(self.staleness) && has(self.staleness.holdAfter) ? self.staleness.holdAfter : '2m')",
      'metrics.interval (default 15s) must not be longer than staleness.holdAfter (default 2m)',
      (self) => secondsOf(self.metrics?.interval, '15s') <= secondsOf(self.staleness?.holdAfter, '2m'),
    ),
  ),
);

const text = (description: string) => Type.String({ description });
const integer = (description: string) => Type.Integer({ description });

const zone = written(
  'One zone.',
  {
    zone: text('Its name.'),
    demand: text('Of its clients, in the unit of capacity.'),
    endpoints: integer('Ready endpoints that run in it.'),
    utilizationPercent: integer('Their load from all clients, divided by their capacity.'),
    spillPercent: integer('Share of its demand that endpoints of other zones serve.'),
  },
  ['zone'],
);

const plan = written('The plan in force; with mode Observe, the plan that would be.', {
  spread: Type.Boolean({ description: 'No hints: every endpoint serves every zone.' }),
  endpoints: listOf(
    'Endpoints that serve other zones than only their own; the EndpointSlices hold the whole plan.',
    written(
      'One endpoint.',
      {
        name: text('Of its Pod, or its address.'),
        forZones: listOf('Zones whose clients it serves.', text('A zone.')),
      },
      ['name', 'forZones'],
    ),
  ),
  omitted: Type.Optional(integer('Number of endpoints missing from this list, which holds at most 100.')),
});

const condition = written(
  'One condition.',
  {
    type: Type.Unsafe<'Observed' | 'Effective' | 'Stable' | 'TrafficDistributionHonored'>(text('Its name.')),
    status: oneOf(['True', 'False', 'Unknown'], { description: 'Whether the condition is met.' }),
    reason: text('Reason, one CamelCase word.'),
    message: text('Why, as a sentence.'),
    lastTransitionTime: dateTime('When the status changed.'),
    observedGeneration: Type.Optional(generation('Generation of the spec that the condition refers to.')),
  },
  ['type', 'status', 'reason', 'lastTransitionTime'],
);

const change = written(
  'One change of the plan.',
  {
    time: dateTime('When.'),
    reason: text('Reason, one CamelCase word.'),
    message: text('What, as a sentence.'),
    sampleAgeSeconds: Type.Optional(
      Type.Integer({ minimum: 0, description: 'Age of the newest sample behind it: seconds since its window ended.' }),
    ),
  },
  ['time', 'reason'],
);

/** The flow controller is its only author. */
const status = fields(
  'Observed by the flow-controller.',
  optional({
    observedGeneration: generation('Generation of the spec that the status refers to.'),
    source: text('Where load comes from.'),
    // Decimal text, as all numbers of a status that are no integers.
    demand: text('Of all zones, in the unit of capacity.'),
    endpoints: integer('Ready endpoints.'),
    inZonePercent: integer('Share of the demand that stays in its zone under the plan.'),
    maxUtilizationPercent: integer('Load of the busiest endpoint under the plan, by its capacity.'),
    bounds: written('Largest share of the demand that could stay in its zone, at the target.', {
      lpPercent: integer('If traffic could be divided arbitrarily.'),
      integralityPercent: integer('As it is divided: evenly over a whole number of endpoints.'),
    }),
    zones: listOf('By zone, in name order: zones with clients and zones with endpoints.', zone, byKeys('zone')),
    learned: written('CPU of one unit that a TrafficMeter source counts, as learned from the Pods.', {
      unit: text('`Connection`, or `Megabyte` of requests and responses.'),
      cores: text('For one a second.'),
      uncertaintyPercent: integer('Standard deviation; above 30 the load of the endpoints decides instead.'),
    }),
    plan,
    conditions: listOf(
      '`Observed`: load is known. `Effective`: the plan is in force. `Stable`: it has not changed lately, and fits. ' +
        '`TrafficDistributionHonored`: measured connections follow the hints.',
      condition,
      byKeys('type'),
    ),
    lastChanges: listOf('The newest first, ten at most.', change),
  }),
);

export { spec as FLOW_POLICY_SPEC_SCHEMA, status as FLOW_POLICY_STATUS_SCHEMA };

export type FlowPolicySpec = Type.Static<typeof spec>;
export type FlowPolicyStatus = Type.Static<typeof status>;
export type FlowPolicyZoneCost = Type.Static<typeof zoneCost>;
export type FlowPolicyCondition = Type.Static<typeof condition>;

export interface FlowPolicy extends Required<KubernetesObject> {
  spec?: FlowPolicySpec;
  status?: FlowPolicyStatus;
}

/** In files, unlike in an API server, fields that the schema does not know are refused. */
const closed = (schema: SchemaObject): SchemaObject => {
  const { items, properties } = schema as { items?: SchemaObject; properties?: Record<string, SchemaObject> };
  if (items !== undefined) return { ...schema, items: closed(items) };
  if (properties === undefined) return schema;
  const below = Object.entries(properties).map(([name, property]) => [name, closed(property)] as const);
  return { ...schema, ...CLOSED, properties: Object.fromEntries(below) };
};

const FLOW_POLICY: ConfigKind<FlowPolicy> = {
  apiVersion: FLOW_POLICY_API_VERSION,
  kind: 'FlowPolicy',
  schema: {
    type: 'object',
    properties: { metadata: { type: 'object' }, spec: closed(spec), status: { type: 'object' } },
  },
};

/** Reads a FlowPolicy from YAML or JSON. Throws ConfigError with file, line, column and field of all that is wrong. */
export const readFlowPolicy = (content: string, file: string): FlowPolicy =>
  loadConfiguration(FLOW_POLICY, content, file);

/**
 * A check of specs that is made once and used often: what is wrong first, or undefined. Takes anything, and never throws.
 * Unknown fields pass: a newer definition may know them.
 */
export const createSpecCheck = (): ((spec: unknown) => string | undefined) => {
  const validate = checkOf(spec);
  return (value) => {
    if (validate(value)) return undefined;
    const [error] = validate.errors ?? [];
    return `spec${error?.instancePath.replaceAll('/', '.') ?? ''} ${error?.message ?? 'is not valid'}`;
  };
};
