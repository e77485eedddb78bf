// What the CustomResourceDefinitions of this project have in common.
import type { SchemaObject } from 'ajv';
import { FLOW_POLICY_SPEC_SCHEMA, FLOW_POLICY_STATUS_SCHEMA } from '../../pkg/apis/flow-policy.ts';
import { FLOW_POLICIES, type Resource, ZONE_EVACUATIONS } from '../../pkg/apis/resources.ts';
import { ZONE_EVACUATION_SPEC_SCHEMA, ZONE_EVACUATION_STATUS_SCHEMA } from '../../pkg/apis/zone-evacuation.ts';

/** A column of `kubectl get`; those with a priority are shown by `-o wide` alone. */
const column = (name: string, type: string, jsonPath: string, description: string, priority = 0) => ({
  name,
  type,
  jsonPath,
  description,
  ...(priority === 0 ? {} : { priority }),
});

const conditionPath = (type: string, field: string): string => `.status.conditions[?(@.type=="${type}")].${field}`;

interface DefinitionParts {
  readonly shortNames: readonly string[];
  readonly columns: readonly ReturnType<typeof column>[];
  readonly description: string;
  /** Fields that an object must have. Default: none. */
  readonly required?: readonly string[];
  readonly spec: SchemaObject;
  readonly status: SchemaObject;
}

/** An object may leave out what an API server fills in; what it answers has it. */
const asWritten = (schema: SchemaObject): SchemaObject => {
  const properties: Readonly<Record<string, SchemaObject>> = schema['properties'] ?? {};
  const required = ((schema['required'] ?? []) as string[]).filter(
    (name) => properties[name]?.['default'] === undefined,
  );
  const { required: _all, ...rest } = schema;
  return required.length === 0 ? rest : { ...rest, required };
};

/** One version, served and stored, with a status subresource. */
const definitionOf = (
  { group, kind, plural, version, namespaced }: Resource,
  { shortNames, columns, description, required = [], spec, status }: DefinitionParts,
) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.${group}` },
  spec: {
    group,
    scope: namespaced ? 'Namespaced' : 'Cluster',
    names: { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase(), shortNames },
    versions: [
      {
        name: version,
        served: true,
        storage: true,
        subresources: { status: {} },
        additionalPrinterColumns: columns,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            description,
            ...(required.length === 0 ? {} : { required }),
            properties: {
              apiVersion: { type: 'string' },
              kind: { type: 'string' },
              metadata: { type: 'object' },
              spec: asWritten(spec),
              status,
            },
          },
        },
      },
    ],
  },
});

const EVACUATION_COLUMNS = [
  column('Zone', 'string', '.spec.zone', 'Evacuated zone.'),
  column('Percent', 'integer', '.spec.percent', "Share of each Service's endpoints there."),
  column('Phase', 'string', '.status.phase', 'Where it stands.'),
  column('Moved', 'integer', '.status.services.moved', 'Services that have moved.'),
  column('Pending', 'integer', '.status.services.pending', 'Services that are not written yet.'),
  column('Left', 'integer', '.status.services.left', 'Services that stay as they are.'),
  column('Expires', 'string', '.status.expiresAt', 'When it ends by itself.'),
  column('Reason', 'string', '.spec.reason', 'Why.'),
  column('Accepted', 'string', conditionPath('Accepted', 'reason'), 'Whether it can be done.', 1),
  column('Age', 'date', '.metadata.creationTimestamp', 'Since when there is one.', 1),
];

/** Group, names, schema with its rules, columns and the status subresource. */
export const zoneEvacuationDefinition = () =>
  definitionOf(ZONE_EVACUATIONS, {
    shortNames: ['evac'],
    columns: EVACUATION_COLUMNS,
    description: 'Sends no new connections to the endpoints of a zone for a limited time.',
    required: ['spec'],
    spec: ZONE_EVACUATION_SPEC_SCHEMA,
    status: ZONE_EVACUATION_STATUS_SCHEMA,
  });

const POLICY_COLUMNS = [
  column('In zone %', 'integer', '.status.inZonePercent', 'Share of the demand that stays in its zone.'),
  column('Bound %', 'integer', '.status.bounds.integralityPercent', 'Largest share that could stay, at the target.'),
  column('Busiest %', 'integer', '.status.maxUtilizationPercent', 'Load of the busiest endpoint by its capacity.'),
  column('Endpoints', 'integer', '.status.endpoints', 'Ready endpoints.'),
  column('Observed', 'string', conditionPath('Observed', 'reason'), 'Whether load is known.'),
  column('Effective', 'string', conditionPath('Effective', 'reason'), 'Whether the plan is in force.'),
  column('Stable', 'string', conditionPath('Stable', 'reason'), 'Whether the plan stays.'),
  column('Changed', 'date', '.status.lastChanges[0].time', 'When the plan changed last.'),
  column('Mode', 'string', '.spec.mode', 'Enforce, which is the default, or Observe.', 1),
  column('Demand', 'string', '.status.demand', 'Of all zones, in the unit of capacity.', 1),
  column('Source', 'string', '.status.source', 'Where load comes from.', 1),
  column('Age', 'date', '.metadata.creationTimestamp', 'Since when there is a FlowPolicy.', 1),
];

/** Group, names, schema with its rules, columns and the status subresource. */
export const flowPolicyDefinition = () =>
  definitionOf(FLOW_POLICIES, {
    shortNames: ['fp'],
    columns: POLICY_COLUMNS,
    description: 'Tunes the closed loop of the Service that has the same name, and reports its state.',
    spec: FLOW_POLICY_SPEC_SCHEMA,
    status: FLOW_POLICY_STATUS_SCHEMA,
  });
