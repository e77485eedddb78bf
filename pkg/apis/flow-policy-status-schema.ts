// SPDX-License-Identifier: Apache-2.0
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
      utilizationPercent: integer('Load of these by their capacity, from all clients.'),
      spillPercent: integer('Share of its demand that endpoints of other zones serve.'),
    },
    ['zone'],
  ),
  byKey('zone'),
);

const plan = object('The plan in force; when observing, the plan that would be.', {
  spread: { type: 'boolean', description: 'No hints: every endpoint serves every zone.' },
  endpoints: list(
    'Endpoints that serve other zones than just their own; the EndpointSlices hold the whole plan.',
    object(
      'One endpoint.',
      {
        name: text('Of its Pod, or its address.'),
        forZones: list('Zones whose clients it serves.', text('A zone.')),
      },
      ['name', 'forZones'],
    ),
  ),
  omitted: integer('Endpoints that are left out of this list, which holds 100 at most.'),
});

const conditions = list(
  '`Observed`: load is known. `Effective`: the plan is in force. `Stable`: it has not changed lately, and fits. ' +
    '`TrafficDistributionHonored`: measured connections go where hints say.',
  object(
    'One condition.',
    {
      type: text('Its name.'),
      status: { type: 'string', enum: ['True', 'False', 'Unknown'], description: 'Whether it holds.' },
      reason: text('Why, as a word.'),
      message: text('Why, as a sentence.'),
      lastTransitionTime: { type: 'string', format: 'date-time', description: 'When the status changed.' },
      observedGeneration: { type: 'integer', format: 'int64', description: 'Of the spec that it is about.' },
    },
    ['type', 'status', 'reason', 'lastTransitionTime'],
  ),
  byKey('type'),
);

/** Unknown fields are pruned by the API server; the flow controller is its only author. */
export const FLOW_POLICY_STATUS_SCHEMA: SchemaObject = object('What the flow controller sees and does.', {
  observedGeneration: { type: 'integer', format: 'int64', description: 'Of the spec that this is about.' },
  source: text('Where load comes from.'),
  demand: text('Of all zones, in the unit of capacity.'),
  endpoints: integer('Ready endpoints.'),
  inZonePercent: integer('Share of the demand that stays in its zone under the plan.'),
  maxUtilizationPercent: integer('Load of the busiest endpoint under the plan, by its capacity.'),
  bounds: object('Share of the demand that could stay in its zone at most, at the target.', {
    lpPercent: integer('If traffic could be divided at will.'),
    integralityPercent: integer('As it is divided: evenly over a whole number of endpoints.'),
  }),
  zones,
  learned: object(
    'What one of the things that a TrafficMeter source counts takes, as learned from the CPU of the Pods.',
    {
      unit: text('`Connection`, or `Megabyte` of requests and answers.'),
      cores: text('For one a second.'),
      uncertaintyPercent: integer('Standard deviation; above 30 the load of the endpoints decides instead.'),
    },
  ),
  plan,
  conditions,
  lastChanges: list(
    'The newest first, ten at most.',
    object(
      'One change of the plan.',
      {
        time: { type: 'string', format: 'date-time', description: 'When.' },
        reason: text('Why, as a word.'),
        message: text('What, as a sentence.'),
        sampleAgeSeconds: {
          type: 'integer',
          minimum: 0,
          description: 'How old the newest sample was that it rested on: seconds since its window ended.',
        },
      },
      ['time', 'reason'],
    ),
  ),
});
