// The CustomResourceDefinition of FlowPolicy, as charts and examples ship it.
import { column, conditionPath as condition, definitionOf } from './crd.ts';
import type { Definition } from './crd.ts';
import { FLOW_POLICY_SPEC_SCHEMA } from './flow-policy-schema.ts';
import { FLOW_POLICY_STATUS_SCHEMA } from './flow-policy-status-schema.ts';
import { FLOW_POLICIES } from './resources.ts';

const COLUMNS = [
  column('In zone %', 'integer', '.status.inZonePercent', 'Share of the demand that stays in its zone.'),
  column('Bound %', 'integer', '.status.bounds.integralityPercent', 'Largest share that could stay, at the target.'),
  column('Busiest %', 'integer', '.status.maxUtilizationPercent', 'Load of the busiest endpoint by its capacity.'),
  column('Endpoints', 'integer', '.status.endpoints', 'Ready endpoints.'),
  column('Observed', 'string', condition('Observed', 'reason'), 'Whether load is known.'),
  column('Effective', 'string', condition('Effective', 'reason'), 'Whether the plan is in force.'),
  column('Stable', 'string', condition('Stable', 'reason'), 'Whether the plan stays.'),
  column('Changed', 'date', '.status.lastChanges[0].time', 'When the plan changed last.'),
  column('Mode', 'string', '.spec.mode', 'Enforce, which is the default, or Observe.', 1),
  column('Demand', 'string', '.status.demand', 'Of all zones, in the unit of capacity.', 1),
  column('Source', 'string', '.status.source', 'Where load comes from.', 1),
  column('Age', 'date', '.metadata.creationTimestamp', 'Since when there is a FlowPolicy.', 1),
];

/** Group, names, schema with its rules, columns and the status subresource. */
export const flowPolicyDefinition = (): Definition =>
  definitionOf(FLOW_POLICIES, {
    shortNames: ['fp'],
    columns: COLUMNS,
    description: 'Tunes the closed loop of the Service that has the same name, and reports its state.',
    spec: FLOW_POLICY_SPEC_SCHEMA,
    status: FLOW_POLICY_STATUS_SCHEMA,
  });
