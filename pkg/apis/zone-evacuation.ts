// ZoneEvacuation: new connections leave a zone's endpoints until a time; the schema, and the types that are derived from it.
import * as Type from '@sinclair/typebox';
import type { KubernetesObject, ObjectMeta } from './meta.ts';
import { byKeys, dateTime, fields, generation, labelSelector, oneOf, optional, ruled, whole } from './schema.ts';

const text = (maxLength: number, description: string, more: Type.StringOptions = {}) =>
  Type.String({ maxLength, description, ...more });
const count = (description: string) => Type.Integer({ minimum: 0, description });

/** Longest time of an evacuation: what outlives a week is no incident. */
const LONGEST = '168h';

const spec = fields('What to evacuate, and for how long.', {
  zone: text(63, 'Zone whose endpoints get no new connections: a value of `topology.kubernetes.io/zone` of Nodes.', {
    pattern: '^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$',
    ...ruled('self == oldSelf', 'cannot be changed: create another ZoneEvacuation'),
  }),
  duration: text(
    32,
    'From the creation of this object on, at most 168h. To extend it, raise it; to end it, delete the object.',
    {
      pattern: '^([0-9]+(\\.[0-9]+)?(h|m|s))+$',
      ...ruled(
        `duration(self) >= duration('1m') && duration(self) <= duration('${LONGEST}')`,
        'must be between 1m and 168h, which is seven days',
      ),
    },
  ),
  percent: whole(1, 100, "Share of each Service's endpoints in the zone to evacuate.", 100),
  rounding: oneOf(['Up', 'Down'], {
    default: 'Up',
    description: 'If that share is not a whole number of endpoints, round it up or down.',
  }),
  namespaceSelector: Type.Optional(labelSelector('Only Services of namespaces with these labels. Default: all.', {})),
  serviceSelector: Type.Optional(labelSelector('Only Services with these labels. Default: all.', {})),
  reason: Type.Optional(text(1024, 'Why the zone is evacuated.')),
  capacityCheck: oneOf(['Refuse', 'Skip'], {
    default: 'Refuse',
    description:
      '`Refuse`: not accepted if the other endpoints of a Service would get more than twice a fair share of today, more than their ' +
      'capacity where a FlowPolicy measures load, or if no endpoint would be left together with evacuations that run. `Skip`: not ' +
      'checked; `kubectl topology evacuate` sets it, which has checked more than that.',
  }),
  force: Type.Boolean({
    default: false,
    description:
      'Proceed even if data planes of the cluster drop connections where no hint names the zone of the client.',
  }),
});

const condition = fields('One condition.', {
  type: oneOf(['Accepted', 'Evacuated', 'Returned'], { description: 'Its name.' }),
  status: oneOf(['True', 'False', 'Unknown'], { description: 'Whether the condition is met.' }),
  reason: text(1024, 'Reason, one CamelCase word.'),
  message: text(32_768, 'Why, as a sentence.'),
  lastTransitionTime: dateTime('When the status changed.'),
  observedGeneration: Type.Optional(generation('Generation of the spec that the condition refers to.')),
});

const left = fields('A Service that still gets connections in the zone.', {
  namespace: text(63, 'Of the Service.'),
  name: text(63, 'Of the Service.'),
  reason: text(64, 'Reason, one CamelCase word.'),
  message: text(1024, 'Why, as a sentence.'),
});

const status = fields(
  'Written by the settings-reconciler.',
  optional({
    observedGeneration: generation('Generation of the spec that the status refers to.'),
    phase: oneOf(['Pending', 'Moving', 'Evacuated', 'Refused', 'Returning', 'Returned'], {
      description: 'The state as one word; the conditions give details.',
    }),
    startedAt: dateTime('When the first slice was written.'),
    expiresAt: dateTime('When it ends: creation and duration.'),
    clientZones: Type.Array(text(63, 'A zone.'), {
      maxItems: 64,
      description: 'Zones with Nodes, for which admission hints the endpoints of new slices.',
      'x-kubernetes-list-type': 'set',
    }),
    services: fields('Services with endpoints in the zone and in scope.', {
      total: count('All.'),
      moved: count('Whose slices send no new connection to evacuated endpoints.'),
      pending: count('Whose slices are not written yet.'),
      left: count('That stay as they are, for the reasons listed.'),
    }),
    endpoints: fields('Endpoints in the zone, of Services in scope.', {
      total: count('All that are ready.'),
      evacuated: count('That get no new connections.'),
    }),
    left: Type.Array(left, {
      maxItems: 100,
      description: 'Services that stay, at most 100.',
      ...byKeys('namespace', 'name'),
    }),
    omitted: count('Number of Services missing from this list.'),
    conditions: Type.Array(condition, {
      description:
        '`Accepted`: it is possible and being done. `Evacuated`: every Service in scope has moved or is listed. `Returned`: every slice is restored.',
      ...byKeys('type'),
    }),
  }),
);

export { spec as ZONE_EVACUATION_SPEC_SCHEMA, status as ZONE_EVACUATION_STATUS_SCHEMA };

/** As an API server answers it: defaults are filled. */
export type ZoneEvacuationSpec = Type.Static<typeof spec>;
export type ZoneEvacuationStatus = Type.Static<typeof status>;
export type ZoneEvacuationCondition = Type.Static<typeof condition>;
/** A Service that stays as it is. */
export type ServiceLeft = Type.Static<typeof left>;

/** Cluster-scoped. */
export interface ZoneEvacuation extends KubernetesObject {
  metadata: ObjectMeta;
  spec: ZoneEvacuationSpec;
  status?: ZoneEvacuationStatus;
}
