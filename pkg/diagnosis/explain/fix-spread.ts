// What gives a Service more Pods, or its Pods another Service, and Pods to zones that have none; where no command does, why, and what would.
import { LABEL_ZONE } from '../../apis/names.ts';
import { type Fields, nameOf, workloadTitle } from '../../apis/values.ts';
import { atLeast } from '../../routing/version.ts';
import { selects } from '../bypasses/watchers.ts';
import { hasSelector } from '../models/lookup.ts';
import { itemsOf } from '../snapshot.ts';
import { wayPast } from './around.ts';
import { type Fix, ask, settingsFor, unlikeOf } from './ask.ts';
import type { Facts } from './facts.ts';
import { isOfGardener, workingCounts } from './given.ts';
import { listed } from './reasons.ts';
import { RESTART, type SpreadConstraintPatch, type Step, asAdvice, autoscalersOf } from './remedy.ts';
import { fieldsOf, patchSpec } from './remedy.ts';
import { revisesPods, roomByZone, zoneConstraint } from './scheduler.ts';
import { runsOnFargate } from './node-pools.ts';
import { chosenBy, hasConstraints, hasFew, isStore, placing } from './spread.ts';
import { waitingFor } from './waiting.ts';

/** First minor in which a constraint may count Pods of its own template alone (MatchLabelKeysInPodTopologySpread, KEP-3243). */
const MATCH_LABEL_KEYS_SINCE = 27;

type Workload = Facts['workloads'][number];

/** What changes their number owns it: another number would be undone. KEDA writes the HorizontalPodAutoscaler of a ScaledObject back. */
const scalerOf = (workload: Workload, facts: Facts) => {
  const own = autoscalersOf(workload, facts).filter(({ kind }) => kind !== 'VerticalPodAutoscaler');
  return own.find(({ kind }) => kind === 'ScaledObject') ?? own[0];
};

const scaleTo = (replicas: number, few: readonly Workload[], facts: Facts): Step[] => {
  if (facts.workloads.length === 0)
    return chosenBy(facts) === '' ? [`# scale what runs its Pods (it was not seen) to ${replicas} replicas`] : [];
  // kubernetes-sigs/cluster-proportional-autoscaler names its target in its arguments.
  const bySize = facts.index.workloads
    .get(facts.ref.namespace)
    ?.find(({ images }) => images.some((image) => image.includes('cluster-proportional-autoscaler')));
  if (bySize !== undefined)
    return [`# ${workloadTitle(bySize)} sets their number where it targets them: {"min":${replicas}} in its ConfigMap`];
  return few.map((workload) => {
    const scaler = scalerOf(workload, facts);
    if (scaler === undefined) return patchSpec({ replicas }, workload);
    const { kind, name, maxReplicas = replicas } = scaler;
    if (name.startsWith('keda-hpa-'))
      return `# KEDA writes HorizontalPodAutoscaler ${name} back: minReplicaCount: ${replicas} in its ScaledObject`;
    const [least, most] =
      kind === 'ScaledObject' ? ['minReplicaCount', 'maxReplicaCount'] : ['minReplicas', 'maxReplicas'];
    return patchSpec({ [least]: replicas, ...(maxReplicas < replicas ? { [most]: replicas } : {}) }, scaler);
  });
};

/** The steps of all. */
export const both =
  (...fixes: readonly Fix[]): Fix =>
  (facts) =>
    fixes.flatMap((fix) => fix(facts) ?? []);

/** One for each zone with clients, where there are fewer. */
const scale: Fix = (facts) => {
  const { workloads, endpoints, clientZones: zones } = facts;
  const few = workloads.filter(({ replicas }) => hasFew(facts) && replicas < zones.length);
  return workloads.length > 0 || endpoints.length < zones.length ? scaleTo(zones.length, few, facts) : [];
};

/** Another number of endpoints that the CPU heuristic can share out, the next above; an autoscaler would not keep it. */
export const scaleToShare: Fix = (facts) => {
  const { shares, families, endpoints, workloads } = facts;
  const count = families[0]?.endpoints.length ?? endpoints.length;
  const more = shares.kind === 'unknown' ? undefined : workingCounts(shares.ratios, count).find((n) => n > count);
  if (more === undefined || workloads.length > 1) return [];
  const [scaler] = workloads.flatMap((workload) => scalerOf(workload, facts) ?? []);
  return scaler === undefined
    ? scaleTo(more, workloads, facts)
    : [`# ${scaler.kind} ${scaler.name} changes their number: hints come and go with it`];
};

/** What a workload lacks so that its Pods are spread evenly, also after a roll-out; where it lacks nothing, new Pods. Undefined: not known. */
const spreadOf = (workload: Workload, { service, version }: Facts): Fields | undefined => {
  const [own, ...others] = workload.spread.filter(({ topologyKey }) => topologyKey === LABEL_ZONE);
  if (others[0] || !hasConstraints(version) || !['Deployment', 'StatefulSet'].includes(workload.kind)) return undefined;
  const revises = revisesPods(workload) && atLeast(version, MATCH_LABEL_KEYS_SINCE);
  const { maxSkew, whenUnsatisfiable, selectsOwn = false, byRevision = false } = own ?? {};
  if (maxSkew === 1 && whenUnsatisfiable === 'DoNotSchedule' && selectsOwn && (byRevision || !revises)) return RESTART;
  const matchLabels = service.spec?.selector ?? {};
  const constraint: SpreadConstraintPatch = {
    maxSkew: 1,
    topologyKey: LABEL_ZONE,
    whenUnsatisfiable: 'DoNotSchedule',
    ...(own === undefined ? { labelSelector: { matchLabels } } : {}),
    // Strategic patches add to a map unless that is said.
    ...(own === undefined || selectsOwn ? {} : { labelSelector: { $patch: 'replace', matchLabels } }),
    ...(revises ? { matchLabelKeys: ['pod-template-hash'] } : {}),
  };
  return { template: { spec: { topologySpreadConstraints: [constraint] } } };
};

export const spreadOut: Fix = (facts) =>
  facts.workloads.flatMap((workload) => {
    const spec = spreadOf(workload, facts);
    return spec === undefined ? [] : [patchSpec(spec, workload)];
  });

/** Zones whose Nodes would take Pods of a workload, had they the CPU. */
export const whyNotSpread: Fix = (facts) =>
  facts.workloads.flatMap((workload) => {
    const served = new Set(facts.endpoints.map(({ zone }) => zone));
    const full = [...roomByZone(workload, facts)].flatMap(([zone, room]) => (room > 0 || served.has(zone) ? [] : zone));
    const isOfKarpenter = facts.index.bypasses.labels.some((label) => label.startsWith('karpenter.sh/'));
    const add = isOfKarpenter ? 'with the constraint Karpenter adds Nodes, if its pools allow the zone' : 'add Nodes';
    const why = `no Node of ${listed(full)} has the CPU left that a Pod of ${workloadTitle(workload)} requests: ${add}`;
    return full.length === 0 ? [] : [`# ${why}`];
  });

/** Where most clients are in the zone that has all Pods, spread alone keeps less there as long as nothing asks for zones. */
const askAndSpread: Fix = (facts) =>
  wayPast(facts) || unlikeOf(facts) || !spreadOut(facts)?.[0] ? [] : both(spreadOut, ask)(facts);

/** In the order in which they are tried. */
export const SPREADING: readonly Fix[] = [scale, spreadOut, both(scale, spreadOut), askAndSpread, whyNotSpread];

/** Where a constraint counts none of its Pods, or is all that is missing and old Pods would count in the roll-out; of what has an owner the fields. */
const constrain: Fix = (facts) => {
  const rolls = !atLeast(facts.version, MATCH_LABEL_KEYS_SINCE) && facts.index.downZones.length === 0;
  const lacks = (own: Workload) =>
    zoneConstraint(own)?.selectsOwn === false || (rolls && revisesPods(own) && !placing(facts, own).remedy);
  const says = facts.workloads.some(({ marks }) => marks) ? fieldsOf : asAdvice;
  return facts.workloads.every(lacks) ? both(scale, spreadOut)(facts)?.map(says) : [];
};

/** What Cilium drains no Pod shows. */
export const showPods: Fix = ({ service, families }) => {
  const selector = Object.entries(service.spec?.selector ?? {}).map(([key, value]) => `${key}=${value}`);
  const isShown = selector.length > 0 && families.every(({ drained }) => drained.length === 0);
  return isShown ? [`kubectl get pods -n {namespace} -l '${selector.join(',')}' -o wide`] : [];
};

/** What is seen needs no look, nor a certain Pod. */
export const showUnseen: Fix = (facts) => (facts.pods.length > 0 || chosenBy(facts) !== '' ? [] : showPods(facts));

/** What Nodes there are says nothing of where Fargate makes others, and Gardener writes changes back. */
const unlessPlaced =
  (fix: Fix): Fix =>
  (facts) => {
    const isPlaced = runsOnFargate(facts) || isOfGardener(facts) || isStore(facts.workloads) || chosenBy(facts) !== '';
    return isPlaced || waitingFor(facts).text !== '' ? [] : fix(facts);
  };

export const MORE_PODS: readonly Fix[] = [...[...SPREADING, constrain].map(unlessPlaced), showUnseen];

export const growth: Fix = ({ workloads, version, clientZones }) =>
  workloads
    .filter(({ replicas }) => replicas > 0)
    .map((workload) => {
      // --cpu-percent is deprecated since kubectl 1.34, and --cpu unknown before.
      const cpu = atLeast(version, 34) ? '--cpu=80%' : '--cpu-percent=80';
      const min = Math.max(workload.replicas, clientZones.length);
      const object = `${workload.kind.toLowerCase()} ${workload.name} -n {namespace}`;
      return `# if its Pods have CPU requests: kubectl autoscale ${object} --min=${min} --max=${min * 2} ${cpu}`;
    });

/** A second Service, where there is none of the same Pods yet: the cluster IP of one cannot be changed. */
export const exposeBeside: Fix = (facts) => {
  const [{ namespace }, podLabels] = [facts.ref, facts.service.spec?.selector ?? {}];
  if (!hasSelector(facts.service) || facts.endpoints.length === 1 || !atLeast(facts.version, 21)) return [];
  const { podsOf } = facts.index.bypasses;
  const isWider = (each: Facts['service']) => podsOf(each).some((pod) => !facts.pods.includes(pod));
  const beside = itemsOf(facts.snapshot.services)
    .filter((each) => each.spec?.clusterIP !== 'None' && selects(each, { namespace, podLabels }) && !isWider(each))
    .map(nameOf);
  if (facts.bypasses.some(({ known }) => known === 'members'))
    return ['# no second Service with a cluster IP: clients ask for the member with their data, or for all'];
  if (beside.length > 0)
    return [`# for clients that any Pod may answer: Service ${beside.join(', ')} has a cluster IP for the same Pods`];
  const { distribution } = settingsFor(facts);
  const field = distribution === undefined ? '' : `, with spec.trafficDistribution ${distribution}`;
  const expose = `kubectl expose service {name} -n {namespace} --name={name}-by-zone${field}`;
  return [`# for clients that any Pod may answer and that keep no connections, a second Service: ${expose}`];
};
