// The CustomResourceDefinition of ZoneEvacuation, as the chart and the examples ship it.
import { column, conditionPath, definitionOf } from './crd.ts';
import type { Definition } from './crd.ts';
import { ZONE_EVACUATIONS } from './resources.ts';
import { ZONE_EVACUATION_SPEC_SCHEMA, ZONE_EVACUATION_STATUS_SCHEMA } from './zone-evacuation.ts';

const COLUMNS = [
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
export const zoneEvacuationDefinition = (): Definition =>
  definitionOf(ZONE_EVACUATIONS, {
    shortNames: ['evac'],
    columns: COLUMNS,
    description: 'Sends no new connections to the endpoints of a zone for a limited time.',
    required: ['spec'],
    spec: ZONE_EVACUATION_SPEC_SCHEMA,
    status: ZONE_EVACUATION_STATUS_SCHEMA,
  });
