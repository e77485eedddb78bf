// A remedy as data: the object and the patch that a command is printed from, and that is tried on the objects in memory before it is offered.
import type { Service } from '../../apis/core.ts';
import { type Fields, applyMergePatch, countBy, defined, keyOf, sumBy, sumOf } from '../../apis/values.ts';
import { workloadTitle } from '../../apis/values.ts';
import type { StringMap } from '../../apis/meta.ts';
import { matchesSelector } from '../../routing/types.ts';
import { mapEndpoints } from '../../upstream/controller/allocation.ts';
import { selects } from '../bypasses/watchers.ts';
import { finalHints } from '../models/hints.ts';
import { changeReplicas } from '../models/what-if.ts';
import type { Workload } from '../snapshot.ts';
import { type Facts, isVain, worstOf } from './facts.ts';
import { type SnapshotIndex, scales } from './snapshot-index.ts';
import { webhooksFor } from './given.ts';
import type { Cause, CauseReason } from './reasons.ts';
import { type Zones, movesAll, placements } from './scheduler.ts';

/** Null takes the key away. */
export type Keys = Readonly<Record<string, string | null>>;

/** Merged by `topologyKey`: what it leaves out stays. */
export interface SpreadConstraintPatch {
  readonly maxSkew: number;
  readonly topologyKey: string;
  readonly whenUnsatisfiable: 'DoNotSchedule';
  readonly labelSelector?: { readonly $patch?: 'replace'; readonly matchLabels: StringMap };
  readonly matchLabelKeys?: readonly string[];
}

/** One object of the Service's namespace; `EndpointSlice` stands for all slices of the Service. */
export interface Change {
  readonly kind: string;
  readonly name: string;
  readonly patch: { readonly metadata?: Partial<Record<'annotations' | 'labels', Keys>>; readonly spec?: Fields };
}

type Target = Pick<Change, 'kind' | 'name'>;
/** A change, or a line that shows something or is advice. */
export type Step = Change | string;

export const patchSpec = (spec: Fields, { kind, name }: Target = SERVICE): Change => ({ kind, name, patch: { spec } });

const SERVICE = { kind: 'Service', name: '{name}' };

export const setKeys = (field: 'annotations' | 'labels', keys: Keys, kind = 'Service'): Change => ({
  ...SERVICE,
  kind,
  patch: { metadata: { [field]: keys } },
});

export const isChange = (step: Step): step is Change => typeof step !== 'string';

const keysText = (keys: Keys): string =>
  Array.from(Object.entries(keys), ([key, value]) => (value === null ? `${key}-` : `${key}=${value}`)).join(' ');

const WORKLOADS: ReadonlySet<string> = new Set(['Deployment', 'StatefulSet', 'ReplicaSet']);

/** As `kubectl rollout restart` does it: new Pods of the same template. */
const RESTARTED_AT = 'kubectl.kubernetes.io/restartedAt';
export const RESTART: Fields = { template: { metadata: { annotations: { [RESTARTED_AT]: 'now' } } } };

/** `{namespace}` and `{name}` stand for those of the Service. */
export const commandOf = ({ kind, name, patch: { metadata = {}, spec = {} } }: Change): string => {
  const type = kind === 'HorizontalPodAutoscaler' ? 'hpa' : kind.toLowerCase();
  const object = kind === 'EndpointSlice' ? '{slices}' : `${type} ${name} -n {namespace}`;
  const { annotations, labels } = metadata;
  if (labels !== undefined) return `kubectl label ${object} ${keysText(labels)}`;
  if (annotations !== undefined) {
    const sets = Object.values(annotations).some((value) => value !== null);
    return `kubectl annotate ${object} ${sets ? '--overwrite ' : ''}${keysText(annotations)}`;
  }
  if (spec === RESTART) return `kubectl rollout restart ${object}`;
  const { replicas, ...others } = spec;
  if (typeof replicas === 'number' && Object.keys(others).length === 0)
    return `kubectl scale ${object} --replicas=${replicas}`;
  // Strategic for workloads: constraints on other keys stay.
  return `kubectl patch ${object}${WORKLOADS.has(kind) ? '' : ' --type merge'} -p '${JSON.stringify({ spec })}'`;
};

/** As a comment, which it may be already. */
export const asAdvice = (step: Step): string => (isChange(step) ? commandOf(step) : step).replace(/^(?!#)/, '# ');

/** Of what an owner writes back the fields: no command would last. */
export const fieldsOf = (step: Step): string =>
  isChange(step) ? `# on the object it is ${JSON.stringify(step.patch).replace('"$patch":"replace",', '')}` : step;

const templateOf = (spec: Fields | undefined) =>
  (spec as { template?: { spec?: { topologySpreadConstraints?: readonly SpreadConstraintPatch[] } } } | undefined)
    ?.template;

const mergedSpread = ({ spread, podLabels }: Workload, patch: SpreadConstraintPatch): Workload['spread'] => {
  const { labelSelector, matchLabelKeys = [], ...fields } = patch;
  const old = spread.find(({ topologyKey }) => topologyKey === patch.topologyKey);
  const selectsOwn = labelSelector === undefined ? old?.selectsOwn === true : matchesSelector(labelSelector, podLabels);
  const byRevision = matchLabelKeys.length > 0 || old?.byRevision;
  const others = spread.filter(({ topologyKey }) => topologyKey !== patch.topologyKey);
  return [...others, { ...old, ...fields, selectsOwn, ...defined({ byRevision }) }];
};

export const autoscalersOf = (workload: Workload, { autoscalers }: Facts) =>
  autoscalers.filter((each) => scales(each, workload));

/** The workload as changes of it and its autoscalers leave it, and whether all its Pods are new. */
const changedWorkload = (workload: Workload, facts: Facts, changes: readonly Change[]) => {
  const objects = new Set([workload, ...autoscalersOf(workload, facts)].map(workloadTitle));
  const specs = changes.filter((change) => objects.has(workloadTitle(change))).map(({ patch: { spec = {} } }) => spec);
  const counts = specs.map((spec) => spec['replicas'] ?? spec['minReplicas'] ?? spec['minReplicaCount']);
  const wanted = Math.max(workload.replicas, ...counts.filter((count) => typeof count === 'number'));
  const templates = specs.map(templateOf).filter((template) => template !== undefined);
  const [patch] = templates.flatMap(({ spec }) => spec?.topologySpreadConstraints ?? []);
  const spread = patch === undefined ? workload.spread : mergedSpread(workload, patch);
  const [changed, renewed] = [specs.length > 0, templates.length > 0];
  return { workload: { ...workload, replicas: wanted, spread }, changed, renewed };
};

/** Every way in which Pods of a changed workload may come to lie, which is none where no workload is; undefined where that is not certain. */
const waysOf = (facts: Facts, changes: readonly Change[]): readonly (Zones | undefined)[] | undefined => {
  const all = facts.workloads.map((each) => changedWorkload(each, facts, changes));
  const [own] = all;
  if (own === undefined || !all.some(({ changed }) => changed)) return [undefined];
  const [lie] = facts.families.map(({ endpoints }) => countBy(endpoints, ({ zone }) => zone));
  // Whose Pods lie where is not known of several; and where some are not ready, new ones may not be either.
  if (lie === undefined || all.length > 1 || sumOf(lie.values()) !== facts.workloads[0]?.replicas) return undefined;
  const moves = own.renewed && movesAll(own.workload);
  return own.renewed && !moves ? undefined : placements(own.workload, facts, moves ? new Map() : lie);
};

const patched = <T>(object: T, patches: readonly Fields[]): T =>
  patches.reduce<unknown>((own, patch) => applyMergePatch(own, patch), object) as T;

/** Endpoints where the Pods come to lie. */
const movedSlices = ({ service, nodes, families, index }: Facts, slices: Facts['slices'], lie: Zones) => {
  const replicas = Object.fromEntries([...[...index.nodesIn.keys()].map((zone) => [zone, 0] as const), ...lie]);
  const wanted = { service, nodes, port: service.spec?.ports?.[0]?.name ?? '', replicas };
  return families.reduce((own, { family }) => changeReplicas({ ...wanted, slices: own, family }).slices, slices);
};

/** The cluster with the changes, once control plane and admission have followed. */
const changed = (facts: Facts, changes: readonly Change[], lie?: Zones) => {
  const { index, name, version, shares, options, ref } = facts;
  const patchOf = (kind: Change['kind']) => changes.filter((change) => change.kind === kind).map(({ patch }) => patch);
  const service = patched(facts.service, patchOf('Service'));
  // The controller gives its slices the labels of the Service, and publishes what is not ready only where that is asked for.
  const ofLabels = patchOf('Service').map(({ metadata: { labels = {} } = {} }) => ({ metadata: { labels } }));
  const hidden = service.spec?.publishNotReadyAddresses === true ? [] : facts.notServing;
  const written = facts.slices.map((slice) =>
    mapEndpoints(patched(slice, [...patchOf('EndpointSlice'), ...ofLabels]), (endpoint) =>
      hidden.includes(endpoint) ? { ...endpoint, conditions: { ...endpoint.conditions, ready: false } } : endpoint,
    ),
  );
  const slices = lie === undefined ? written : movedSlices(facts, written, lie);
  const webhook = webhooksFor(facts, service, slices).length > 0;
  const own = finalHints(service, slices, { shares, version, webhook, ...defined({ gates: options.gates }) });
  const stored = own.flatMap((family) => family.slices);
  const workloads = (index.workloads.get(ref.namespace) ?? []).map((each) =>
    facts.workloads.includes(each) ? changedWorkload(each, facts, changes).workload : each,
  );
  return {
    service,
    index: {
      ...index,
      slices: { get: (key: string) => (key === name ? stored : index.slices.get(key)) },
      workloads: { get: (key: string) => (key === ref.namespace ? workloads : index.workloads.get(key)) },
    },
  };
};

interface Judged {
  readonly facts: Facts;
  readonly causes: readonly Cause[];
  readonly effective: { readonly effective: boolean; readonly inZoneShare: number | null };
}

export type Judge = (service: Service, index: SnapshotIndex) => Judged;

/** Nodes whose clients reach nothing that serves, by family and port; in part those that reach others too. */
const failing = ({ facts }: Judged): number =>
  sumBy(facts.routes, ({ used, nodes }) => {
    return nodes.length * (used.length === 0 ? 1 : used.filter(isVain).length / used.length);
  });

const overloadOf = ({ facts }: Judged): number => worstOf(facts.traffics);

/** Of Pods that serve. */
const zonesOf = ({ facts: { endpoints, notServing } }: Judged): number => {
  const vain = new Set(notServing.map(({ addresses: [own] }) => own));
  return new Set(endpoints.flatMap(({ address, zone }) => (vain.has(address) ? [] : zone))).size;
};

const ROUNDING = 1e-9;

const share = ({ effective }: Judged): number => effective.inZoneShare ?? 0;

/** Three times its even share. */
const TOO_MUCH = 2;

/** What is worse after the changes, the worst of it: one zone more that all hangs on counts as well. */
const worseOf = (before: Judged, after: Judged): 'serves less' | 'overloads' | undefined => {
  if (failing(after) > failing(before) || (zonesOf(after) === 1 && zonesOf(before) > 1)) return 'serves less';
  if (failing(after) < failing(before)) return undefined;
  if (share(after) < share(before) - ROUNDING) return 'serves less';
  const overload = overloadOf(after);
  return overload > TOO_MUCH - ROUNDING && overload > overloadOf(before) + ROUNDING ? 'overloads' : undefined;
};

/** Other Services whose Pods are those of a changed workload. */
const neighbours = (facts: Facts, changes: readonly Change[]): readonly Service[] => {
  const { name, ref, index, workloads } = facts;
  const own = workloads.filter((workload) => changedWorkload(workload, facts, changes).changed);
  return (index.services.get(ref.namespace) ?? []).filter(
    (each) =>
      each.spec?.clusterIP !== 'None' && own.some((workload) => selects(each, workload)) && keyOf(each) !== name,
  );
};

/** What a load balancer makes of `Local` is not modelled: in layer 2 MetalLB would use the Pods of one Node. */
const entersOtherwise = ({ service }: Facts, changes: readonly Change[]): boolean =>
  service.spec?.externalTrafficPolicy !== 'Local' &&
  changes.some(({ patch }) => patch.spec?.['externalTrafficPolicy'] === 'Local');

/** What comes of changes: they help, do not, or would make an endpoint carry so many times its even share. */
export type Tried = 'helps' | 'useless' | { readonly overload: number };

/**
 * Changes help where, in every way that the scheduler may take, the cause is gone and nothing is worse, for no Service: fewer connections
 * fail, or as many, no less stays in its zone, no endpoint carries too much, and hints have their effect or no new cause keeps them from it.
 */
export const tryChanges = (reason: CauseReason, changes: readonly Change[], before: Judged, judge: Judge): Tried => {
  const { facts } = before;
  const ways = waysOf(facts, changes);
  // Of a headless Service no data plane reads a hint.
  if (!ways || facts.service.spec?.clusterIP === 'None' || entersOtherwise(facts, changes)) return 'useless';
  // Hints that lend endpoints to other zones are no new trouble.
  const had = new Set<CauseReason>([...before.causes.map((cause) => cause.reason), 'HintedForOtherZone']);
  const others = neighbours(facts, changes).map((service) => judge(service, facts.index));
  // Where Pods of the others lie that such a Service has as well is not known.
  if (others.some((other) => other.facts.workloads.length > 1)) return 'useless';
  for (const lie of ways) {
    const cluster = changed(facts, changes, lie);
    const after = judge(cluster.service, cluster.index);
    // Load is uneven by degrees.
    const isLess = reason === 'UnevenLoad' && overloadOf(after) < overloadOf(before) - ROUNDING;
    if (!isLess && after.causes.some((cause) => cause.reason === reason)) return 'useless';
    const worse = worseOf(before, after);
    if (worse === 'overloads') return { overload: 1 + overloadOf(after) };
    if (worse !== undefined) return 'useless';
    // Hints that lend endpoints to other zones are followed, and keep nothing more; where Pods are missing they cannot but lend.
    const keepsMore = share(after) > Math.min(share(before), 1 - 2 * ROUNDING) + ROUNDING;
    const known = after.causes.every(({ stage, reason: code }) => stage === 'prerequisite' || had.has(code));
    if (failing(after) >= failing(before) && !(keepsMore && (after.effective.effective || known))) return 'useless';
    for (const other of others) {
      const beside = changed(other.facts, [], lie);
      const then = judge(beside.service, beside.index);
      if (worseOf(other, then) !== undefined) return 'useless';
      if (other.effective.effective && !then.effective.effective) return 'useless';
    }
  }
  return 'helps';
};
