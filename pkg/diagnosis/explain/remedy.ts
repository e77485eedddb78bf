// A remedy as data: the object and the patch that a command is printed from, and that is tried on the objects in memory before it is offered.
import { type Node, zoneOfNode } from '../../apis/core.ts';
import { LABEL_ZONE } from '../../apis/names.ts';
import { type Fields, applyMergePatch, defined, sumBy } from '../../apis/values.ts';
import type { StringMap } from '../../apis/meta.ts';
import { matchesSelector } from '../../routing/types.ts';
import { mapEndpoints } from '../../upstream/controller/allocation.ts';
import { finalHints } from '../models/hints.ts';
import { selectsNode } from '../routers/kube-proxy.ts';
import { changeReplicas } from '../models/what-if.ts';
import type { Workload } from '../snapshot.ts';
import type { Facts, SnapshotIndex } from './facts.ts';
import { webhooksFor } from './given.ts';
import type { Cause } from './reasons.ts';
import { barrier } from './spread.ts';

/** Null takes the key away. */
export type Keys = Readonly<Record<string, string | null>>;

export interface SpreadConstraintPatch {
  readonly maxSkew: number;
  readonly topologyKey: string;
  readonly whenUnsatisfiable: 'DoNotSchedule';
  readonly labelSelector: { readonly matchLabels: StringMap };
}

/** One object of the Service's namespace; `endpointslices` are all slices of the Service. */
export interface Change {
  /** As kubectl names it. */
  readonly kind: string;
  readonly name: string;
  readonly patch: { readonly metadata?: Partial<Record<'annotations' | 'labels', Keys>>; readonly spec?: Fields };
}

/** A change, or a line that shows something or is advice. */
export type Step = Change | string;

export const isChange = (step: Step): step is Change => typeof step !== 'string';

const keysText = (keys: Keys): string =>
  Object.entries(keys)
    .map(([key, value]) => (value === null ? `${key}-` : `${key}=${value}`))
    .join(' ');

const WORKLOADS: ReadonlySet<string> = new Set(['deployment', 'statefulset', 'replicaset']);

/** `{namespace}` and `{name}` stand for those of the Service. */
export const commandOf = ({ kind, name, patch: { metadata = {}, spec = {} } }: Change): string => {
  const object = kind === 'endpointslices' ? '{slices}' : `${kind} ${name} -n {namespace}`;
  const { annotations, labels } = metadata;
  if (labels !== undefined) return `kubectl label ${object} ${keysText(labels)}`;
  if (annotations !== undefined) {
    const sets = Object.values(annotations).some((value) => value !== null);
    return `kubectl annotate ${object} ${sets ? '--overwrite ' : ''}${keysText(annotations)}`;
  }
  const { replicas, ...others } = spec;
  if (typeof replicas === 'number' && Object.keys(others).length === 0)
    return `kubectl scale ${object} --replicas=${replicas}`;
  // Strategic for workloads: constraints on other keys stay.
  return `kubectl patch ${object}${WORKLOADS.has(kind) ? '' : ' --type merge'} -p '${JSON.stringify({ spec })}'`;
};

/** How many Pods of a workload run in each zone of Nodes that take them; undefined where some would stay pending. */
const placed = (workload: Workload, nodes: readonly Node[]): ReadonlyMap<string, number> | undefined => {
  const { replicas, allowedZones, nodeTerms = [] } = workload;
  const own = nodes.filter(
    (node) => selectsNode({ nodes: nodeTerms }, node) && allowedZones?.includes(zoneOfNode(node)) !== false,
  );
  const zones = [...new Set(own.map(zoneOfNode))].sort();
  const open = zones.filter((zone) => own.some((node) => zoneOfNode(node) === zone && !barrier(node, workload)));
  // Nodes that bar the Pods count as a domain all the same (nodeTaintsPolicy: Ignore): the empty one holds the others down.
  const hard = workload.spread.some(
    ({ topologyKey, whenUnsatisfiable, selectsOwn }) =>
      topologyKey === LABEL_ZONE && whenUnsatisfiable === 'DoNotSchedule' && selectsOwn,
  );
  if (open.length === 0 || (hard && open.length < zones.length && replicas > open.length)) return undefined;
  return new Map(open.map((zone, at) => [zone, Math.floor((replicas + open.length - 1 - at) / open.length)]));
};

const constraintsIn = (spec: Fields | undefined): readonly SpreadConstraintPatch[] =>
  (spec as { template?: { spec?: { topologySpreadConstraints?: readonly SpreadConstraintPatch[] } } } | undefined)
    ?.template?.spec?.topologySpreadConstraints ?? [];

const changedWorkload = (workload: Workload, { autoscalers }: Facts, changes: readonly Change[]): Workload => {
  const of = (kind: string, name: string): Fields | undefined =>
    changes.find((change) => change.kind === kind && change.name === name)?.patch.spec;
  const own = changes.filter(({ kind, name }) => kind === workload.kind.toLowerCase() && name === workload.name);
  const scaler = autoscalers.find(
    ({ targetKind, targetName }) => targetKind === workload.kind && targetName === workload.name,
  );
  const { minReplicas } = of('hpa', scaler?.name ?? '') ?? {};
  const wanted = own.map(({ patch }) => patch.spec?.['replicas']).find((count) => count !== undefined) ?? minReplicas;
  const spread = own
    .flatMap(({ patch }) => constraintsIn(patch.spec))
    .map(({ labelSelector, ...constraint }) => ({
      ...constraint,
      selectsOwn: matchesSelector(labelSelector, workload.podLabels),
    }));
  return {
    ...workload,
    replicas: typeof wanted === 'number' ? Math.max(wanted, workload.replicas) : workload.replicas,
    spread: [...workload.spread, ...spread],
  };
};

const patched = <T>(object: T, patches: readonly Fields[]): T =>
  patches.reduce<unknown>((own, patch) => applyMergePatch(own, patch), object) as T;

/** The cluster with the changes, once scheduler, control plane and admission have followed; undefined where Pods stay pending. */
const changed = (facts: Facts, changes: readonly Change[]) => {
  const { index, name, nodes, families, version, shares, options, ref } = facts;
  const patchOf = (kind: Change['kind']) => changes.filter((change) => change.kind === kind).map(({ patch }) => patch);
  const service = patched(facts.service, patchOf('service'));
  // The controller gives its slices the labels of the Service, and publishes what is not ready only where that is asked for.
  const ofLabels = patchOf('service').map(({ metadata: { labels = {} } = {} }) => ({ metadata: { labels } }));
  const hidden = service.spec?.publishNotReadyAddresses !== true && facts.notServing.length > 0;
  let slices = facts.slices
    .map((slice) => patched(slice, [...patchOf('endpointslices'), ...ofLabels]))
    .map((slice) =>
      hidden
        ? mapEndpoints(slice, (endpoint) =>
            facts.notServing.includes(endpoint)
              ? { ...endpoint, conditions: { ...endpoint.conditions, ready: false } }
              : endpoint,
          )
        : slice,
    );
  const workloads = facts.workloads.map((workload) => changedWorkload(workload, facts, changes));
  if (changes.some(({ kind }) => WORKLOADS.has(kind) || kind === 'hpa')) {
    const places = workloads.map((workload) => placed(workload, nodes));
    const replicas = Object.fromEntries([...new Set(nodes.map(zoneOfNode))].map((zone) => [zone, 0]));
    for (const place of places) {
      if (place === undefined) return undefined;
      for (const [zone, count] of place) replicas[zone] = (replicas[zone] ?? 0) + count;
    }
    const port = service.spec?.ports?.[0]?.name ?? '';
    for (const { family } of families) {
      slices = [...changeReplicas({ service, slices, nodes, family, port, replicas }).slices];
    }
  }
  const webhook = slices.some(
    (slice) => webhooksFor(facts, { ...service.metadata?.labels, ...slice.metadata?.labels }).length > 0,
  );
  const own = finalHints(service, slices, { shares, version, webhook, ...defined({ gates: options.gates }) });
  const stored = own.flatMap((family) => family.slices);
  const others = (index.workloads.get(ref.namespace) ?? []).filter((each) => !facts.workloads.includes(each));
  return {
    service,
    index: {
      ...index,
      slices: { get: (key: string) => (key === name ? stored : index.slices.get(key)) },
      workloads: {
        get: (key: string) => (key === ref.namespace ? [...others, ...workloads] : index.workloads.get(key)),
      },
    },
  };
};

interface Judged {
  readonly facts: Pick<Facts, 'routes'>;
  readonly causes: readonly Cause[];
  readonly effective: { readonly effective: boolean; readonly inZoneShare: number | null };
}

export type Judge = (service: Facts['service'], index: SnapshotIndex) => Judged;

/** Nodes whose clients reach nothing that serves, by family and port. */
const failing = ({ facts }: Judged): number =>
  sumBy(facts.routes, ({ used, nodes }) => (used.every(({ ready, serving }) => ready && !serving) ? nodes.length : 0));

const ROUNDING = 1e-9;

/**
 * After the changes the cause is gone and nothing is worse: fewer connections fail, or as many, no less stays in its zone, and hints
 * have their effect or no new cause keeps them from it.
 */
export const helps = (
  reason: Cause['reason'],
  facts: Facts,
  changes: readonly Change[],
  before: Judged,
  judge: Judge,
): boolean => {
  const tried = changed(facts, changes);
  if (tried === undefined) return false;
  const after = judge(tried.service, tried.index);
  const had = new Set(before.causes.map((cause) => cause.reason));
  if (after.causes.some((cause) => cause.reason === reason) || failing(after) > failing(before)) return false;
  if (failing(after) < failing(before)) return true;
  return (
    (after.effective.inZoneShare ?? 0) >= (before.effective.inZoneShare ?? 0) - ROUNDING &&
    (after.effective.effective ||
      after.causes.every((cause) => cause.stage === 'prerequisite' || had.has(cause.reason)))
  );
};
