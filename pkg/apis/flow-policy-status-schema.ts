// The schema of a FlowPolicy's status: what the flow controller writes and people read.
import type { SchemaObject } from 'ajv';

const text = (description: string): SchemaObject => ({ type: 'string', description });
const integer = (description: string): SchemaObject => ({ type: 'integer', description });
const object = (description: string, properties: Record<string, SchemaObject>, required: string[] = []) => ({
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
  object(
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

const plan = object('The plan in force; with mode Observe, the plan that would be.', {
  spread: { type: 'boolean', description: 'No hints: every endpoint serves every zone.' },
  endpoints: list(
    'Endpoints that serve other zones than only their own; the EndpointSlices hold the whole plan.',
    object(
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
  object(
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
export const FLOW_POLICY_STATUS_SCHEMA: SchemaObject = object('Observed by the flow-controller.', {
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
  bounds: object('Largest share of the demand that could stay in its zone, at the target.', {
    lpPercent: integer('If traffic could be divided arbitrarily.'),
    integralityPercent: integer('As it is divided: evenly over a whole number of endpoints.'),
  }),
  zones,
  learned: object('CPU of one unit that a TrafficMeter source counts, as learned from the Pods.', {
    unit: text('`Connection`, or `Megabyte` of requests and responses.'),
    cores: text('For one a second.'),
    uncertaintyPercent: integer('Standard deviation; above 30 the load of the endpoints decides instead.'),
  }),
  plan,
  conditions,
  lastChanges: list(
    'The newest first, ten at most.',
    object(
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
