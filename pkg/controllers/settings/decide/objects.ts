// Turns the decision for a namespace into one plan for each of its Services, and one row for each Etcd. Pure.
import { SWITCHED_OFF, type Service } from '../../../apis/core.ts';
import type { Etcd } from '../../../apis/gardener.ts';
import type { KubernetesObject } from '../../../apis/meta.ts';
import {
  ANNOTATION_APPLIED,
  ANNOTATION_ORIGIN,
  ANNOTATION_TOPOLOGY_MODE,
  LABEL_STRATEGY,
} from '../../../apis/names.ts';
import type { Strategy } from '../../../apis/names.ts';
import { byText, nameOf, refOf } from '../../../apis/values.ts';
import { droppedBy } from '../../../diagnosis/models/routes.ts';
import { layerSevenOfLabelled, selectEtcd, selectService } from '../../../gardener/catalogue.ts';
import type { LayerSevenDecision, Selection } from '../../../gardener/catalogue.ts';
import { type Governing, configuredEtcdSelection, configuredSelection } from '../../../gardener/extension/select.ts';
import { decideObjectRouting, isHeld } from '../../../gardener/decide.ts';
import type { Refusal, RoutingDecision, Scope } from '../../../gardener/types.ts';
import { parseApplied } from '../../../routing/slots.ts';
import { etcdClientSettings } from '../../../routing/etcd-clients.ts';
import {
  configuredSettings,
  planSettings,
  routingSettings,
  strategySettings,
  withOldProxies,
  withOlderName,
} from '../../../routing/plan.ts';
import { conflictingMode, planRelease, requestedStrategy, strategyLabel } from '../../../routing/strategy.ts';
import type { KubernetesVersion, RoutingSettings, SettingsPlan } from '../../../routing/types.ts';
import { atLeast } from '../../../routing/version.ts';
import type { ObjectDecision, RoutingContext } from '../context.ts';

export interface ObjectsInput {
  readonly decision: RoutingDecision;
  /** Which rows of the catalogue apply; undefined: only the label counts. */
  readonly scope: Scope | undefined;
  readonly services: readonly Service[];
  readonly etcds: readonly Etcd[];
  /** Whether the kube-apiserver Service of this name is behind L7 load balancing. */
  readonly layerSevenOf?: (service: string) => LayerSevenDecision;
  /** The Extension whose configuration counts here. */
  readonly governing?: Governing | undefined;
  readonly context: RoutingContext;
}

const UNCHANGED: SettingsPlan = { kind: 'unchanged', foreign: [] };

export const carriesApplied = ({ metadata }: KubernetesObject): boolean =>
  metadata?.annotations?.[ANNOTATION_APPLIED] !== undefined;

const OFF: Refusal = { kind: 'refused', ...SWITCHED_OFF };

const VERSION_UNKNOWN: Refusal = {
  kind: 'refused',
  reason: 'VersionUnknown',
  message: "the API server's version is not known (yet); nothing is changed until it is",
};

/** The settings that an enabled object should have, or what stands in the way of them. */
type Wanted = { readonly kind: 'want'; readonly want: RoutingSettings } | Refusal;

/** With the label that the flow controller writes as well. */
const labelled = (service: Service, strategy: Strategy, settings: RoutingSettings): RoutingSettings => ({
  ...settings,
  labels: { ...settings.labels, [LABEL_STRATEGY]: strategyLabel(service, strategy) },
});

const wantedOf = (service: Service, version: KubernetesVersion, configured: Strategy | undefined): Wanted => {
  const conflict = conflictingMode(service);
  if (conflict !== undefined) {
    const message = `${conflict.field} is ${JSON.stringify(conflict.value)} and a strategy is requested; keep one of the two`;
    return { kind: 'refused', reason: 'ConflictingMode', message, field: conflict.field };
  }
  const requested = requestedStrategy(service);
  const strategy = requested ?? configured;
  if (strategy === undefined) return { kind: 'want', want: routingSettings(version) };
  const settings = (requested === undefined ? configuredSettings : strategySettings)(version, strategy);
  return { kind: 'want', want: labelled(service, strategy, settings) };
};

/** What the nodes and routers of the cluster need. Part of the wish: one that comes or goes is a change to follow, not drift. */
const forRouters = (
  service: Service,
  settings: RoutingSettings,
  { mixedKubelets, olderName }: RoutingContext,
): RoutingSettings => {
  // Where nothing is known, what we set before stays.
  const { annotations, trafficDistribution } = parseApplied(service.metadata?.annotations?.[ANNOTATION_APPLIED]).record;
  const named = (olderName ?? trafficDistribution === 'PreferClose') ? withOlderName(settings) : settings;
  return (mixedKubelets ?? annotations?.[ANNOTATION_TOPOLOGY_MODE] !== undefined) ? withOldProxies(named) : named;
};

/** A data plane that would drop connections of the Service once it has these settings. */
const dropping = (service: Service, want: RoutingSettings, { clients }: RoutingContext): Refusal | undefined => {
  const { trafficDistribution = service.spec?.trafficDistribution } = want;
  const asking: Service = {
    ...service,
    metadata: { ...service.metadata, annotations: { ...service.metadata?.annotations, ...want.annotations } },
    spec: { ...service.spec, ...(trafficDistribution === undefined ? {} : { trafficDistribution }) },
  };
  const message = droppedBy(asking, clients);
  return message === undefined ? undefined : { kind: 'refused', reason: 'RouterDropsTraffic', message };
};

/** The plan for one Service whose own decision is known; `configured` is the strategy for one that asks for none. */
export const planService = (
  object: Service,
  decision: RoutingDecision,
  context: RoutingContext,
  configured?: Strategy,
): ObjectDecision => {
  const row = { kind: 'Service' as const, ref: refOf(object), object };
  const refused = (refusal: Refusal): ObjectDecision => {
    const plan = isHeld(refusal) ? UNCHANGED : planRelease(object);
    return { ...row, decision: refusal, want: undefined, plan };
  };
  if (decision.kind === 'refused') return refused(decision);
  const { version, off } = context;
  if (off === true) return refused(OFF);
  if (version === undefined) return refused(VERSION_UNKNOWN);
  const wanted = wantedOf(object, version, configured);
  if (wanted.kind === 'refused') return refused(wanted);
  const want = forRouters(object, wanted.want, context);
  const drops = dropping(object, want, context);
  return drops !== undefined ? refused(drops) : { ...row, decision, want, plan: planSettings({ object, want }) };
};

/** The row of one Etcd: its client Service gets `want` in etcd-druid's own write. Hints do without, but for old proxies. */
const etcdRow = (object: Etcd, decision: RoutingDecision, context: RoutingContext): ObjectDecision => {
  const { version, mixedKubelets, off } = context;
  const row = { kind: 'Etcd' as const, ref: refOf(object), object, plan: UNCHANGED };
  if (decision.kind === 'refused') return { ...row, decision, want: undefined };
  if (off === true) return { ...row, decision: OFF, want: undefined };
  if (version === undefined) return { ...row, decision: VERSION_UNKNOWN, want: undefined };
  const { annotations, ...want } = etcdClientSettings(version);
  const wanted = { ...want, annotations: mixedKubelets === true || !atLeast(version, 31) ? annotations : {} };
  const drops = dropping({}, wanted, context);
  return drops === undefined ? { ...row, decision, want: wanted } : { ...row, decision: drops, want: undefined };
};

/** Selected, or with something on it that is to be reverted. */
const isOurs = ({ kind }: Selection, service: Service): boolean => {
  if (kind === 'writtenByDruid') return false;
  return kind !== 'none' || (carriesApplied(service) && planRelease(service).kind !== 'unchanged');
};

/** Another writer applies the Service again and again: the catalogue knows its owner, or a ManagedResource holds it. */
const isRewritten = (selection: Selection, { metadata }: Service): boolean =>
  selection.kind === 'catalogue'
    ? selection.entry.mutableAtAdmission
    : metadata?.annotations?.[ANNOTATION_ORIGIN] !== undefined;

const createLayerSeven = ({ services, layerSevenOf }: ObjectsInput) => {
  const names = new Set(services.map(nameOf));
  return (selection: Selection, name: string): LayerSevenDecision | undefined => {
    if (selection.kind === 'catalogue')
      return selection.entry.condition === 'notLayerSeven' ? layerSevenOf?.(selection.entry.service) : undefined;
    return layerSevenOfLabelled(name, names);
  };
};

const decideServices = (input: ObjectsInput): ObjectDecision[] => {
  const { decision, scope, context, governing } = input;
  const layerSevenOf = createLayerSeven(input);
  return input.services.flatMap((service): ObjectDecision[] => {
    const { selection, strategy } = configuredSelection(selectService(service, scope), service, governing);
    if (!isOurs(selection, service)) return [];
    const layerSeven = layerSevenOf(selection, refOf(service).name);
    const own = decideObjectRouting({ decision, selection, object: service, ...(layerSeven && { layerSeven }) });
    const decided = planService(service, own, context, strategy);
    return [isRewritten(selection, service) ? { ...decided, rewritten: true } : decided];
  });
};

/** Only a namespace as a whole can be named to admission: where one Etcd is excluded, so are the others. */
const excludeTogether = (rows: readonly ObjectDecision[]): ObjectDecision[] => {
  const excluded = rows.find(({ decision }) => decision.kind === 'refused' && decision.reason === 'Excluded');
  if (excluded === undefined || excluded.decision.kind !== 'refused') return [...rows];
  const message = `${excluded.decision.message}; this applies to all Etcds of the namespace`;
  return rows.map((row) => ({ ...row, decision: { kind: 'refused', reason: 'Excluded', message }, want: undefined }));
};

const decideEtcds = ({ decision, scope, context, governing, etcds }: ObjectsInput): ObjectDecision[] => {
  if (scope === undefined) return [];
  const rows = etcds.flatMap((etcd): ObjectDecision[] => {
    const selection = configuredEtcdSelection(selectEtcd(etcd, scope), etcd, governing);
    if (selection.kind === 'none') return [];
    return [etcdRow(etcd, decideObjectRouting({ decision, selection, object: etcd }), context)];
  });
  return excludeTogether(rows);
};

/** One decision for each object that is managed, or was: what carries `applied` without reason is reverted. */
export const decideObjects = (input: ObjectsInput): ObjectDecision[] =>
  [...decideServices(input), ...decideEtcds(input)].sort((one, other) => byText(rowKeyOf(one), rowKeyOf(other)));

export const rowKeyOf = ({ kind, ref }: Pick<ObjectDecision, 'kind' | 'ref'>): string =>
  `${kind}/${ref.namespace}/${ref.name}`;
