// Decides whether Services of a shoot's control plane, of the garden and of extensions are routed by zone, with the reason if not.
import type { Garden, Seed, Shoot, TopologyAwareRoutingSettings } from '../apis/gardener.ts';
import type { KubernetesObject } from '../apis/meta.ts';
import { LABEL_MANAGED, LABEL_ZONE } from '../apis/names.ts';
import { isAbsent } from '../apis/values.ts';
import { type LayerSevenDecision, type Selection, isGoTrue } from './catalogue.ts';
import type { Refusal, RefusalReason, RoutingDecision } from './types.ts';

type Maybe<T> = T | null | undefined;

/** True only where the setting is there and on. Zones are not looked at: see decide.ts. */
export const isTopologyAwareRoutingEnabled = (settings: TopologyAwareRoutingSettings | null | undefined): boolean =>
  settings?.topologyAwareRouting?.enabled === true;

/** `spec.settings.topologyAwareRouting.enabled` of a Seed. */
export const seedTopologyAwareRoutingEnabled = (seed: Pick<Seed, 'spec'> | null | undefined): boolean =>
  isTopologyAwareRoutingEnabled(seed?.spec?.settings);

/** `spec.runtimeCluster.settings.topologyAwareRouting.enabled` of a Garden. */
export const gardenTopologyAwareRoutingEnabled = (garden: Pick<Garden, 'spec'> | null | undefined): boolean =>
  isTopologyAwareRoutingEnabled(garden?.spec?.runtimeCluster?.settings);

/** `spec.controlPlane.highAvailability.failureTolerance.type`: `node`, `zone`, or undefined. */
export const failureToleranceType = (shoot: Maybe<Pick<Shoot, 'spec'>>): string | undefined =>
  shoot?.spec?.controlPlane?.highAvailability?.failureTolerance?.type;

/** Only `zone` spreads a control plane over zones; `node` keeps it in one. */
export const isMultiZonalShootControlPlane = (shoot: Maybe<Pick<Shoot, 'spec'>>): boolean =>
  failureToleranceType(shoot) === 'zone';

/** Any kind of high availability, an empty block included. */
export const isHighAvailabilityConfigured = (shoot: Maybe<Pick<Shoot, 'spec'>>): boolean =>
  !isAbsent(shoot?.spec?.controlPlane?.highAvailability);

/** The virtual cluster of a Garden is highly available when the block is there; an empty one counts. */
export const isGardenHighAvailabilityEnabled = (garden: Maybe<Pick<Garden, 'spec'>>): boolean =>
  !isAbsent(garden?.spec?.virtualCluster?.controlPlane?.highAvailability);

/** A shoot whose control plane runs on its own workers: no seed hosts it, and routing by zone is off for it. */
export const isSelfHostedShoot = (shoot: Maybe<Pick<Shoot, 'spec'>>): boolean =>
  shoot?.spec?.provider?.workers?.some((worker) => !isAbsent(worker.controlPlane)) === true;

/** Namespace of a shoot's control plane in the cluster that hosts it; undefined before the shoot has a technical ID. */
export const controlPlaneNamespace = (shoot: Pick<Shoot, 'spec' | 'status'>): string | undefined =>
  isSelfHostedShoot(shoot) ? 'kube-system' : shoot.status?.technicalID;

/**
 * Gardener's condition for the Services of a shoot's control plane: the setting of the Seed that hosts it, and failure
 * tolerance `zone`. A missing seed (self-hosted shoot) means no. Zones are not looked at: `decideShootRouting` does.
 */
export const isTopologyAwareRoutingForShootControlPlaneEnabled = (
  seed: Maybe<Pick<Seed, 'spec'>>,
  shoot: Maybe<Pick<Shoot, 'spec'>>,
): boolean => seedTopologyAwareRoutingEnabled(seed) && isMultiZonalShootControlPlane(shoot);

/** At least two distinct zones, or why not: Gardener counts list entries, this counts distinct, non-empty names. `zones` are the distinct ones, in the order given. */
export type ZoneAssessment =
  | { readonly kind: 'multi'; readonly zones: readonly string[] }
  | {
      readonly kind: 'single';
      /** DuplicateZones: the list is long enough for Gardener's own check, but names one zone again and again. */
      readonly reason: 'SingleZone' | 'DuplicateZones';
      readonly zones: readonly string[];
    };

const named = (zones: readonly string[] | null | undefined): readonly string[] =>
  (Array.isArray(zones) ? zones : []).filter((zone) => typeof zone === 'string' && zone !== '');

/** The distinct, non-empty names, in the order given. */
export const distinctZones = (zones: readonly string[] | null | undefined): readonly string[] => [
  ...new Set(named(zones)),
];

export const assessZones = (zones: readonly string[] | null | undefined): ZoneAssessment => {
  const distinct = distinctZones(zones);
  if (distinct.length > 1) return { kind: 'multi', zones: distinct };
  return { kind: 'single', reason: named(zones).length > 1 ? 'DuplicateZones' : 'SingleZone', zones: distinct };
};

const ENABLED: RoutingDecision = { kind: 'enabled' };
const SEED_FIELD = 'spec.settings.topologyAwareRouting.enabled';
const GARDEN_FIELD = 'spec.runtimeCluster.settings.topologyAwareRouting.enabled';

/** Reasons that say nothing about what is wanted: objects stay as they are until these are over. */
const HELD: ReadonlySet<string> = new Set<RefusalReason>([
  'SourceMissing',
  'VersionUnknown',
  'ConfigurationInvalid',
  'ShootIgnored',
  'ShootMigrating',
  'ShootHibernated',
  'ShootFailed',
]);

/** Whether the decision leaves everything as it is, instead of taking settings back. */
export const isHeld = (decision: RoutingDecision): boolean => decision.kind === 'refused' && HELD.has(decision.reason);

/** Refusals that are no state of normal operation. */
const FAULTS: ReadonlySet<string> = new Set<RefusalReason>([
  'SingleZone',
  'DuplicateZones',
  'NotHighlyAvailable',
  'ConflictingMode',
  'ConfigurationInvalid',
]);

/** Whether something is wrong that a person has to fix. */
export const isFaulty = (decision: RoutingDecision): boolean =>
  decision.kind === 'refused' && FAULTS.has(decision.reason);

// Gardener's validation, word for word: operators search for these sentences.
const SEED_ZONES =
  'topology-aware routing can only be enabled on multi-zone Seed clusters (with at least two zones in spec.provider.zones)';
const GARDEN_ZONES =
  'topology-aware routing can only be enabled on multi-zone garden runtime cluster (with at least two zones in spec.provider.zones)';
const GARDEN_HA = "topology-aware routing can only be enabled when virtual cluster's high-availability is enabled";

const refuse = (
  reason: RefusalReason,
  message: string,
  details: Pick<Refusal, 'field' | 'violations'> = {},
): Refusal => ({ kind: 'refused', reason, message, ...details });

const subjectTitle = (kind: string, object: KubernetesObject): string => {
  const { namespace, name } = object.metadata ?? {};
  if (name === undefined) return `the ${kind}`;
  return `${kind} ${namespace === undefined ? name : `${namespace}/${name}`}`;
};

const describeZones = (field: string, assessment: Extract<ZoneAssessment, { kind: 'single' }>): string => {
  const [zone] = assessment.zones;
  if (zone === undefined) return `${field} lists no zone; list at least two`;
  return assessment.reason === 'DuplicateZones'
    ? `${field} lists only zone ${JSON.stringify(zone)}, more than once; list at least two different ones`
    : `${field} lists only zone ${JSON.stringify(zone)}; list at least two`;
};

/** What a decision about shoots looks at; every part may be missing. */
export interface ShootRoutingInput {
  /** The Seed that hosts the control plane, from the freshest source there is. */
  readonly seed: Pick<Seed, 'metadata' | 'spec'> | null | undefined;
  /** The Shoot as its Cluster carries it. */
  readonly shoot: Shoot | null | undefined;
}

/** Services of extensions in a seed: the Seed's setting and zones; no shoot, hence no high availability. */
export const decideSeedExtensionRouting = (seed: ShootRoutingInput['seed']): RoutingDecision => {
  if (isAbsent(seed))
    return refuse('SourceMissing', 'no Seed is known: neither the garden, the configuration nor the Cluster has it');
  const name = subjectTitle('Seed', seed);
  if (!seedTopologyAwareRoutingEnabled(seed))
    return refuse('SettingDisabled', `${name}: ${SEED_FIELD} is not true`, { field: SEED_FIELD });
  const zones = assessZones(seed.spec?.provider?.zones);
  if (zones.kind === 'multi') return ENABLED;
  return refuse(zones.reason, `${name}: ${describeZones('spec.provider.zones', zones)}`, {
    field: SEED_FIELD,
    violations: [{ field: SEED_FIELD, detail: SEED_ZONES }],
  });
};

const ANNOTATION_IGNORE = 'shoot.gardener.cloud/ignore';

/** One state of a Shoot in which its control plane is not routed by zone: field, words behind the Shoot's name, and whether it is in it. */
type ShootState = readonly [RefusalReason, field: string, words: string, isIn: (shoot: Shoot) => boolean];

/** Gone or not ours, left alone by gardenlet, or being taken apart: everything stays as it is then. The first that applies counts. */
const SHOOT_STATES: readonly ShootState[] = [
  [
    'SelfHostedShoot',
    'spec.provider.workers',
    'hosts its own control plane (a worker in spec.provider.workers has controlPlane)',
    isSelfHostedShoot,
  ],
  [
    'ShootBeingDeleted',
    'metadata.deletionTimestamp',
    'is being deleted',
    ({ metadata }) => metadata?.deletionTimestamp !== undefined,
  ],
  [
    'ShootIgnored',
    `metadata.annotations[${ANNOTATION_IGNORE}]`,
    `is annotated with ${ANNOTATION_IGNORE}; nothing is changed`,
    // Gardener reads the annotation with Go's strconv.ParseBool (pkg/utils/gardener/shoot.go, ShouldIgnoreShoot).
    ({ metadata }) => isGoTrue(metadata?.annotations?.[ANNOTATION_IGNORE]),
  ],
  [
    'ShootMigrating',
    'status.lastOperation.type',
    'is moving to another seed; nothing is changed here',
    ({ status }) => status?.lastOperation?.type === 'Migrate',
  ],
  [
    'ShootHibernated',
    'spec.hibernation.enabled',
    'is hibernated; nothing is changed',
    ({ spec, status }) => spec?.hibernation?.enabled === true || status?.hibernated === true,
  ],
];

/**
 * Services of one shoot's control plane: the setting of its Seed, more than one distinct zone, and failure tolerance `zone`.
 * Conditions of a single Service (catalogue, L7) come on top: `decideObjectRouting`.
 */
export const decideShootRouting = ({ seed, shoot }: ShootRoutingInput): RoutingDecision => {
  if (isAbsent(shoot)) return refuse('SourceMissing', 'the Cluster carries no Shoot');
  const name = subjectTitle('Shoot', shoot);
  const state = SHOOT_STATES.find(([, , , isIn]) => isIn(shoot));
  if (state !== undefined) return refuse(state[0], `${name} ${state[2]}`, { field: state[1] });
  if (shoot.status?.lastOperation?.state === 'Failed') {
    const message = `the last operation of ${name} failed for good; nothing is changed until it is retried`;
    return refuse('ShootFailed', message, { field: 'status.lastOperation.state' });
  }
  const bySeed = decideSeedExtensionRouting(seed);
  if (bySeed.kind === 'refused') return bySeed;
  if (isMultiZonalShootControlPlane(shoot)) return ENABLED;
  const field = 'spec.controlPlane.highAvailability.failureTolerance.type';
  const type = failureToleranceType(shoot);
  const found = type === undefined ? 'is not set' : `is ${JSON.stringify(type)}`;
  const message = `${name}: ${field} ${found}; only "zone" spreads the control plane over zones`;
  return refuse('FailureToleranceNotZone', message, { field });
};

/** Services of the garden runtime cluster, extensions' included: setting, zones, and a highly available virtual cluster. */
export const decideGardenRouting = (garden: Pick<Garden, 'metadata' | 'spec'> | null | undefined): RoutingDecision => {
  if (isAbsent(garden)) return refuse('SourceMissing', 'no Garden is known in this cluster');
  const name = subjectTitle('Garden', garden);
  if (!gardenTopologyAwareRoutingEnabled(garden))
    return refuse('SettingDisabled', `${name}: ${GARDEN_FIELD} is not true`, { field: GARDEN_FIELD });
  const zones = assessZones(garden.spec?.runtimeCluster?.provider?.zones);
  const single = zones.kind === 'single' ? zones : undefined;
  const faults = [
    ...(single ? [[GARDEN_ZONES, describeZones('spec.runtimeCluster.provider.zones', single)] as const] : []),
    ...(isGardenHighAvailabilityEnabled(garden)
      ? []
      : [[GARDEN_HA, 'spec.virtualCluster.controlPlane.highAvailability is not set'] as const]),
  ];
  if (faults.length === 0) return ENABLED;
  const violations = faults.map(([detail]) => ({ field: GARDEN_FIELD, detail }));
  const message = `${name}: ${faults.map(([, sentence]) => sentence).join('; ')}`;
  return refuse(single?.reason ?? 'NotHighlyAvailable', message, { field: GARDEN_FIELD, violations });
};

/**
 * Services of a cluster without Gardener: nothing but more than one zone.
 *
 * @param zones zone labels of the Nodes; names repeat, one a Node. Undefined where no Node is known: then nothing is known of zones.
 */
export const decideClusterRouting = (zones: readonly string[] | undefined): RoutingDecision => {
  if (zones === undefined) return refuse('SourceMissing', 'no Node is known: there is none, or Nodes cannot be read');
  const [zone, second] = distinctZones(zones);
  if (second !== undefined) return ENABLED;
  const message =
    zone === undefined
      ? `no Node has the label ${LABEL_ZONE}; traffic can only be kept in a zone if Nodes are labelled with theirs`
      : `all Nodes with the label ${LABEL_ZONE} are in zone ${JSON.stringify(zone)}; there is no other zone`;
  return refuse('SingleZone', message, { field: `metadata.labels[${LABEL_ZONE}]` });
};

export interface ObjectRoutingInput {
  /** The decision for the namespace: decideShootRouting, decideGardenRouting or decideSeedExtensionRouting. */
  readonly decision: RoutingDecision;
  /** Whether this project may write the object. */
  readonly selection: Selection;
  /** The Service or Etcd, for its name in messages. */
  readonly object: KubernetesObject;
  /** Needed for rows with condition `notLayerSeven`, where missing counts as L7; read for labelled Services too. */
  readonly layerSeven?: LayerSevenDecision;
}

/** One Service or Etcd: what keeps it out by itself goes before what its namespace decides. */
export const decideObjectRouting = (input: ObjectRoutingInput): RoutingDecision => {
  const { decision, selection, object, layerSeven } = input;
  const kind = object.kind ?? (selection.kind === 'catalogue' ? selection.entry.source.kind : 'Service');
  const subject = subjectTitle(kind, object);
  const field = `metadata.labels[${LABEL_MANAGED}]`;
  switch (selection.kind) {
    case 'excluded':
      return refuse('Excluded', `${subject} is labelled ${LABEL_MANAGED}: "false"`, { field });
    case 'excludedBy': {
      const { extension, field: by } = selection;
      return refuse('Excluded', `${subject} is left out by ${by} of Extension ${extension}`, { field: by });
    }
    case 'none':
      return refuse(
        'NotInCatalogue',
        `${subject} is not one that Gardener routes by zone, nor labelled ${LABEL_MANAGED}: "true"`,
        { field },
      );
    case 'writtenByDruid':
      return refuse('WrittenByDruid', `${subject} is etcd-druid's, which allows no other writer`);
    case 'labelled':
    case 'configured':
      if (decision.kind === 'refused' || layerSeven?.active !== true) return decision;
      return refuse('LayerSevenLoadBalancing', `${subject} is behind L7 load balancing: ${layerSeven.message}`);
    case 'catalogue': {
      if (decision.kind === 'refused' || selection.entry.condition !== 'notLayerSeven') return decision;
      if (layerSeven?.active === false) return decision;
      const why = layerSeven?.message ?? 'L7 load balancing is unknown';
      return refuse('LayerSevenLoadBalancing', `${subject} is behind L7 load balancing: ${why}`);
    }
    default:
      return selection satisfies never;
  }
};
