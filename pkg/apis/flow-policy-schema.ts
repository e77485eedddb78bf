// The schema of FlowPolicy, once: the definition that API servers get and the check of files and objects are made from it.
// The schema of a FlowPolicy's status: what the flow controller writes and people read.
import type { SchemaObject } from 'ajv';
import { GROUP } from './names.ts';

export const FLOW_POLICY_API_VERSION = `${GROUP}/v1alpha1`;

/** A rule that an API server evaluates (CEL), and how a refusal reads. */
export interface SchemaRule {
  readonly rule: string;
  readonly message: string;
}

const rules = (...list: SchemaRule[]) => ({ 'x-kubernetes-validations': list });

const object = (description: string, properties: Record<string, SchemaObject>, more: object = {}): SchemaObject => ({
  type: 'object',
  description,
  properties,
  ...more,
});

const duration = (description: string): SchemaObject => ({
  type: 'string',
  description,
  maxLength: 32,
  pattern: '^([0-9]+(\\.[0-9]+)?(h|m|s|ms))+$',
  ...rules({ rule: "duration(self) >= duration('1s')", message: 'must be at least 1s' }),
});

const quantity = (description: string): SchemaObject => ({
  type: 'string',
  description,
  maxLength: 32,
  pattern: '^[0-9]+(\\.[0-9]+)?(m|k|M)?$',
});

const percentSchema = (minimum: number, maximum: number, description: string): SchemaObject => ({
  type: 'integer',
  minimum,
  maximum,
  description,
});

const zoneName = (description: string): SchemaObject => ({ type: 'string', minLength: 1, maxLength: 63, description });

const metrics = object(
  'Where load comes from.',
  {
    source: {
      type: 'string',
      minLength: 1,
      maxLength: 63,
      description:
        "`metrics.k8s.io`, or the name of a source in the flow controller's configuration. Default: the first one there.",
    },
    query: {
      type: 'string',
      minLength: 1,
      maxLength: 4096,
      description: 'PromQL for a Prometheus source: one sample for each Pod, or for each pair of zones.',
    },
    interval: duration(
      'How often it is read. Default: about every 15s, when its samples are due; traffic meters every 2s.',
    ),
  },
  rules({
    rule: "!has(self.query) || (has(self.source) && self.source != 'metrics.k8s.io')",
    message: 'query needs a source that takes one: name a Prometheus source',
  }),
);

const capacity = object(
  'What one endpoint can serve.',
  {
    from: {
      type: 'string',
      enum: ['Requests', 'Limits', 'Value'],
      description: "CPU requests or limits of the Pod's containers, or `value`. Default `Requests`.",
    },
    value: {
      ...quantity('Capacity of every Pod, with from: Value. In cores, or in the unit that the samples have.'),
      ...rules({ rule: "self.matches('[1-9]')", message: 'must be above 0' }),
    },
  },
  rules({
    rule: "(has(self.from) && self.from == 'Value') == has(self.value)",
    message: 'value belongs to from: Value, and from: Value needs a value',
  }),
);

const zoneCosts: SchemaObject = {
  type: 'array',
  maxItems: 900,
  description: 'What traffic between zones costs; a pair that is not listed costs 1.',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['from', 'to'],
  items: object(
    'The cost from the zone of the clients to the zone of the endpoints.',
    {
      from: zoneName('Zone of the clients.'),
      to: zoneName('Zone of the endpoints.'),
      cost: { type: 'number', minimum: 0, maximum: 1_000_000, description: 'In any unit.' },
    },
    {
      required: ['from', 'to', 'cost'],
      ...rules({ rule: 'self.from != self.to', message: 'traffic inside a zone costs nothing: name two zones' }),
    },
  ),
};

const staleness = object(
  'When metrics are too old to act on.',
  {
    holdAfter: duration('From this age on zones get endpoints for four times the demand last seen. Default 2m.'),
    safeModeAfter: duration('From this age on `safeMode` is in force. Default 10m.'),
  },
  rules({
    rule: "duration(has(self.safeModeAfter) ? self.safeModeAfter : '10m') > duration(has(self.holdAfter) ? self.holdAfter : '2m')",
    message: 'safeModeAfter (default 10m) must be longer than holdAfter (default 2m)',
  }),
);

/** spec; every field has a default that the controller knows, so that an empty one says all. */
export const FLOW_POLICY_SPEC_SCHEMA: SchemaObject = object(
  'Settings of the closed loop of the Service with the same name.',
  {
    mode: {
      type: 'string',
      enum: ['Enforce', 'Observe'],
      description: '`Observe` plans and reports, and writes no hints. Default `Enforce`.',
    },
    targetUtilizationPercent: percentSchema(1, 95, 'Load that plans aim for, percent of capacity. Default 70.'),
    upperUtilizationPercent: percentSchema(
      2,
      100,
      'Load from which on a new plan is made, percent of capacity. Default 80.',
    ),
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
    minEndpointsPerZone: {
      type: 'integer',
      minimum: 1,
      maximum: 1_000,
      description: 'Least number of endpoints for every zone with clients. Default 1.',
    },
    worthwhileSavingPercent: percentSchema(
      0,
      100,
      'A plan that saves less than this share of the demand from crossing zones is not worth a change. Default 2.',
    ),
    zoneCosts,
    staleness,
    safeMode: {
      type: 'string',
      enum: ['Spread', 'SameZone'],
      description: 'What to do when metrics are lost: no hints, or every endpoint for its own zone. Default `Spread`.',
    },
  },
  rules(
    {
      rule: '(has(self.upperUtilizationPercent) ? self.upperUtilizationPercent : 80) > (has(self.targetUtilizationPercent) ? self.targetUtilizationPercent : 70)',
      message: 'upperUtilizationPercent (default 80) must be above targetUtilizationPercent (default 70)',
    },
    {
      rule: "duration(has(self.metrics) && has(self.metrics.interval) ? self.metrics.interval : '15s') <= duration(has(self.staleness) && has(self.staleness.holdAfter) ? self.staleness.holdAfter : '2m')",
      message: 'metrics.interval (default 15s) must not be longer than staleness.holdAfter (default 2m)',
    },
  ),
);

const text = (description: string): SchemaObject => ({ type: 'string', description });
const integer = (description: string): SchemaObject => ({ type: 'integer', description });
const statusObject = (description: string, properties: Record<string, SchemaObject>, required: string[] = []) => ({
  type: 'object',
  description,
  properties,
  ...(required.length === 0 ? {} : { required }),
});
const list = (description: string, items: SchemaObject, more: object = {}): SchemaObject => ({
  type: 'array',
  description,
  items,
  ...more,
});
const byKey = (key: string) => ({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': [key] });

const zones = list(
  'By zone, in name order: zones with clients and zones with endpoints.',
  statusObject(
    'One zone.',
    {
      zone: text('Its name.'),
      demand: text('Of its clients, in the unit of capacity.'),
      endpoints: integer('Ready endpoints that run in it.'),
      utilizationPercent: integer('Their load from all clients, divided by their capacity.'),
      spillPercent: integer('Share of its demand that endpoints of other zones serve.'),
    },
    ['zone'],
  ),
  byKey('zone'),
);

const plan = statusObject('The plan in force; with mode Observe, the plan that would be.', {
  spread: { type: 'boolean', description: 'No hints: every endpoint serves every zone.' },
  endpoints: list(
    'Endpoints that serve other zones than only their own; the EndpointSlices hold the whole plan.',
    statusObject(
      'One endpoint.',
      {
        name: text('Of its Pod, or its address.'),
        forZones: list('Zones whose clients it serves.', text('A zone.')),
      },
      ['name', 'forZones'],
    ),
  ),
  omitted: integer('Number of endpoints missing from this list, which holds at most 100.'),
});

const conditions = list(
  '`Observed`: load is known. `Effective`: the plan is in force. `Stable`: it has not changed lately, and fits. ' +
    '`TrafficDistributionHonored`: measured connections follow the hints.',
  statusObject(
    'One condition.',
    {
      type: text('Its name.'),
      status: { type: 'string', enum: ['True', 'False', 'Unknown'], description: 'Whether the condition is met.' },
      reason: text('Reason, one CamelCase word.'),
      message: text('Why, as a sentence.'),
      lastTransitionTime: { type: 'string', format: 'date-time', description: 'When the status changed.' },
      observedGeneration: {
        type: 'integer',
        format: 'int64',
        description: 'Generation of the spec that the condition refers to.',
      },
    },
    ['type', 'status', 'reason', 'lastTransitionTime'],
  ),
  byKey('type'),
);

/** Unknown fields are pruned by the API server; the flow controller is its only author. */
export const FLOW_POLICY_STATUS_SCHEMA: SchemaObject = statusObject('Observed by the flow-controller.', {
  observedGeneration: {
    type: 'integer',
    format: 'int64',
    description: 'Generation of the spec that the status refers to.',
  },
  source: text('Where load comes from.'),
  demand: text('Of all zones, in the unit of capacity.'),
  endpoints: integer('Ready endpoints.'),
  inZonePercent: integer('Share of the demand that stays in its zone under the plan.'),
  maxUtilizationPercent: integer('Load of the busiest endpoint under the plan, by its capacity.'),
  bounds: statusObject('Largest share of the demand that could stay in its zone, at the target.', {
    lpPercent: integer('If traffic could be divided arbitrarily.'),
    integralityPercent: integer('As it is divided: evenly over a whole number of endpoints.'),
  }),
  zones,
  learned: statusObject('CPU of one unit that a TrafficMeter source counts, as learned from the Pods.', {
    unit: text('`Connection`, or `Megabyte` of requests and responses.'),
    cores: text('For one a second.'),
    uncertaintyPercent: integer('Standard deviation; above 30 the load of the endpoints decides instead.'),
  }),
  plan,
  conditions,
  lastChanges: list(
    'The newest first, ten at most.',
    statusObject(
      'One change of the plan.',
      {
        time: { type: 'string', format: 'date-time', description: 'When.' },
        reason: text('Reason, one CamelCase word.'),
        message: text('What, as a sentence.'),
        sampleAgeSeconds: {
          type: 'integer',
          minimum: 0,
          description: 'Age of the newest sample behind it: seconds since its window ended.',
        },
      },
      ['time', 'reason'],
    ),
  ),
});
