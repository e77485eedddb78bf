// Every event that commands record, as data: what it is about, when it is told, and what to do. A test compares it with the code.
import { COMMANDS } from '../../pkg/apis/names.ts';

export interface EventRow {
  readonly reason: string;
  readonly type: 'Normal' | 'Warning';
  /** When it is told, and when again. */
  readonly when: string;
  readonly todo: string;
}

export interface EventGroup {
  readonly command: string;
  /** The file that records them. */
  readonly file: string;
  /** What they are about. */
  readonly about: string;
  /** How reasons are written out of this union in the code, for the test. Default: literals of `file`. */
  readonly union?: { readonly path: string; readonly type: string; readonly prefix?: string };
  readonly rows: readonly EventRow[];
}

const NOTHING = 'nothing';
const RECONCILER = COMMANDS.settingsReconciler;
const FLOW = COMMANDS.flowController;
const NODE_GROUPS = `${FLOW}, with NodeGroups`;

const row = (type: EventRow['type'], reason: string, when: string, todo: string): EventRow => ({
  reason,
  type,
  when,
  todo,
});

const settings: EventGroup = {
  command: RECONCILER,
  file: 'pkg/controllers/settings/reporter.ts',
  about: 'the Cluster, Garden or Namespace whose setting it is',
  rows: [
    row(
      'Normal',
      'RoutingEnabled',
      'The setting is on; the message has the settings of each object and who is left out. Again when they change.',
      NOTHING,
    ),
    row('Normal', 'SettingDisabled', 'The setting was switched off.', NOTHING),
    row(
      'Warning',
      'SettingsOverwritten',
      'Another writer overwrites settings repeatedly; once per fight.',
      'find the other writer in `metadata.managedFields`; exclude the object with the label `managed: "false"`, or keep settings at admission ([runbook](../operations/alerts/TopologyRoutingSettingsOverwritten.md))',
    ),
  ],
};

const effect: EventGroup = {
  command: RECONCILER,
  file: 'pkg/controllers/effectiveness/reconciler.ts',
  about: 'as above',
  rows: [
    row(
      'Warning',
      'RoutingNotEffective',
      'Services configured for zone-local routing have had no effect for five minutes; one event per namespace, once.',
      'the message names Service and cause; see [Wanted, but not effective](../operations/README.md#wanted-but-not-effective)',
    ),
    row('Normal', 'RoutingEffective', 'The Services of the earlier event are effective again.', NOTHING),
  ],
};

const repair: EventGroup = {
  command: RECONCILER,
  file: 'pkg/controllers/hint-repair/resync.ts',
  about: 'the Namespace of the installation',
  rows: [
    row(
      'Warning',
      'WebhookUnavailable',
      'A resynced slice came back without hints; once, until a resync succeeds.',
      'see that the webhook is ready, registered and reached ([runbook](../operations/alerts/TopologyRoutingHintsNotKept.md))',
    ),
    row(
      'Warning',
      'PlansRemain',
      'The flow-controller is gone, and a resynced slice keeps its plan; once, until a resync succeeds.',
      'the same',
    ),
  ],
};

const evacuation: EventGroup = {
  command: RECONCILER,
  file: 'pkg/controllers/evacuation/report.ts',
  about: 'the ZoneEvacuation',
  rows: [
    row('Normal', 'EvacuationStarted', 'It was accepted, and slices are being written.', NOTHING),
    row(
      'Normal',
      'ZoneEvacuated',
      'Every Service in scope has moved, or is listed in the status with the reason why not.',
      NOTHING,
    ),
    row(
      'Warning',
      'EvacuationRefused',
      'It cannot be done; tried again every 15 seconds.',
      'the message and the condition `Accepted` name the reason',
    ),
    row('Normal', 'ZoneReturned', 'It has ended, and no slice carries its mark any more.', NOTHING),
  ],
};

const evacuatedServices: EventGroup = {
  command: RECONCILER,
  file: 'pkg/controllers/evacuation/services.ts',
  about: 'the Service',
  rows: [
    row(
      'Normal',
      'EvacuatedFromZone',
      'Its slices were written: endpoints of the zone get no new connections.',
      NOTHING,
    ),
    row(
      'Warning',
      'NotEvacuated',
      'It stays as it is, for the reason in the message: connections still go to the zone.',
      'add replicas in other zones, or accept it',
    ),
    row('Normal', 'ReturnedToZone', 'The evacuation is over, and its slices are as they were.', NOTHING),
  ],
};

const loop: EventGroup = {
  command: FLOW,
  file: 'pkg/controllers/flow/reporter.ts',
  about: 'the Service',
  rows: [
    row('Normal', 'PlanChanged', 'The hints of the plan changed; the message says why, and what they are.', NOTHING),
    row('Warning', 'ConflictingMode', 'The Service asks for `Auto` and for a plan; once.', 'choose one of them'),
    row(
      'Warning',
      'HintsNotFollowed',
      'The plan is written, and the data plane of some Nodes ignores it; once.',
      'configure the data plane as the message says; see [data planes](routers.md)',
    ),
    row(
      'Warning',
      'InvalidPolicy',
      'The FlowPolicy breaks a rule that the API server does not check; once.',
      'fix the field that the message names',
    ),
    row(
      'Warning',
      'MetricsStale',
      'No new samples: zones get endpoints for four times the demand last seen; once.',
      'bring the source of load back ([runbook](../operations/alerts/TopologyRoutingFlowMetricsStale.md))',
    ),
    row('Warning', 'MetricsLost', 'No new samples for long: safe mode; once.', 'the same'),
    row(
      'Warning',
      'NoCapacity',
      'Endpoints have no CPU requests (or limits): each serves its own zone; once.',
      'set them, or `capacity.value`',
    ),
    row(
      'Warning',
      'NotMirrored',
      'The slices of a Service without selector do not carry its labels; once.',
      'label the Endpoints or slices',
    ),
    row(
      'Warning',
      'PlanTimedOut',
      'Planning did not end in time: only own zones, no hints and the previous plan are compared; once.',
      'use fewer different CPU requests (or limits), or `capacity.value`',
    ),
    row('Warning', 'TooManyZones', 'More zones have clients than hints can name; once.', 'use `same-zone`'),
    row(
      'Warning',
      'UnknownSource',
      'The FlowPolicy names a source that is not configured; once.',
      'name one of those in the message',
    ),
    row(
      'Warning',
      'WebhookUnavailable',
      'Hints that are written are lost again; once.',
      'bring admission back ([runbook](../operations/alerts/TopologyRoutingFlowPlanNotInForce.md))',
    ),
  ],
};

const nodes: EventGroup = {
  command: NODE_GROUPS,
  file: 'pkg/controllers/node-groups/zones.ts',
  about: 'the Node; refusals also the NodeGroup',
  union: { path: 'pkg/kubeedge/decide.ts', type: 'ZoneWrite', prefix: 'Zone' },
  rows: [
    row('Normal', 'ZoneAssigned', 'The Node got the zone of its group.', NOTHING),
    row('Normal', 'ZoneReasserted', 'The label was removed, and was written again.', NOTHING),
    row('Normal', 'ZoneAdopted', 'The Node had that zone already.', NOTHING),
    row('Normal', 'ZoneRestored', 'The Node has left its group and got its former zone back.', NOTHING),
    row('Normal', 'ZoneReleased', 'The zone is no longer managed by this extension.', NOTHING),
  ],
};

const refusals: EventGroup = {
  ...nodes,
  union: { path: 'pkg/kubeedge/decide.ts', type: 'ZoneRefusal' },
  rows: [
    row('Warning', 'InSeveralGroups', 'The Node is in several groups; once.', 'remove it from all but one'),
    row('Warning', 'InvalidZoneName', "The group's name cannot be a zone; once.", 'rename the group'),
    row('Warning', 'ForeignZone', 'Another writer set the zone; once.', 'annotate the group if it may replace it'),
    row(
      'Warning',
      'ZoneBoundVolumes',
      'Volumes are bound to the zone that the Node has; once.',
      'move the volumes, or leave the zone',
    ),
    row(
      'Warning',
      'ManagedByKubeEdge',
      "KubeEdge's own controller writes this label; once.",
      'switch off one of the two',
    ),
    row(
      'Warning',
      'LabelTakenAway',
      'The label was removed repeatedly; once.',
      'find the writer in `metadata.managedFields`',
    ),
  ],
};

const followers: EventGroup = {
  command: NODE_GROUPS,
  file: 'pkg/controllers/node-groups/controller.ts',
  about: 'the Service',
  rows: [
    row(
      'Warning',
      'ZoneNotFollowing',
      'Its endpoints still name the former zone of a Node after several writes; once.',
      'see whether kube-controller-manager runs',
    ),
  ],
};

export const EVENT_GROUPS: readonly EventGroup[] = [
  settings,
  effect,
  repair,
  evacuation,
  evacuatedServices,
  loop,
  nodes,
  refusals,
  followers,
];
