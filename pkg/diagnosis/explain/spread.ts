// Causes in where Pods run: zones with clients and without endpoints, and what should have spread them.
import type { Node } from '../../apis/core.ts';
import { LABEL_ZONE } from '../../apis/names.ts';
import { nameOf } from '../../apis/object.ts';
import { zoneOfNode } from '../../apis/readings.ts';
import { itemsOf } from '../snapshot.ts';
import type { Workload } from '../snapshot.ts';
import { cause, counted, listed } from './cause.ts';
import type { Cause, Facts, FamilyFacts, ReadyEndpoint } from './types.ts';
import { byText } from '../../apis/order.ts';

const named = ({ kind, name }: Workload): string => `${kind} ${name}`;

const zoneConstraint = ({ spread }: Workload) => spread.find(({ topologyKey }) => topologyKey === LABEL_ZONE);

/** How the zones of the Pods of one workload come about. */
const spreadBy = (workload: Workload): string => {
  const constraint = zoneConstraint(workload);
  if (constraint !== undefined) {
    const { maxSkew, whenUnsatisfiable } = constraint;
    return `${named(workload)}: topologySpreadConstraint on ${LABEL_ZONE} (maxSkew ${maxSkew}, ${whenUnsatisfiable})`;
  }
  if (workload.zoneAntiAffinity) return `${named(workload)}: podAntiAffinity on ${LABEL_ZONE}`;
  return `${named(workload)}: nothing spreads its Pods over zones`;
};

/** By which constraint Pods are spread; empty where workloads are not known. */
export const spreadText = ({ workloads }: Facts): string => workloads.map(spreadBy).sort(byText).join('; ');

interface Taint {
  readonly key: string;
  readonly value: string;
  readonly effect: string;
}

const taintsOf = ({ spec }: Node): Taint[] =>
  ((spec?.taints ?? []) as readonly Partial<Taint>[])
    .map(({ key = '', value = '', effect = '' }) => ({ key, value, effect }))
    .filter(({ effect }) => effect === 'NoSchedule' || effect === 'NoExecute');

const tolerates = ({ tolerations = [] }: Workload, { key, value, effect }: Taint): boolean =>
  tolerations.some(
    (own) =>
      (own.effect === '' || own.effect === effect) &&
      (own.operator === 'Exists' ? own.key === '' || own.key === key : own.key === key && own.value === value),
  );

/** Why no Pod of the workload may run on the Node; undefined where nothing bars it. */
const barrier = (node: Node, workload: Workload): string | undefined => {
  if (node.spec?.unschedulable === true) return 'cordoned';
  const { type = '', 'eks.amazonaws.com/compute-type': compute = '' } = node.metadata?.labels ?? {};
  const taint = taintsOf(node).find((own) => !tolerates(workload, own));
  if (taint === undefined) return undefined;
  if (type === 'virtual-kubelet') return 'a virtual kubelet, whose taint the Pods do not tolerate';
  if (compute === 'fargate') return 'Fargate, which runs Pods of its own profile only';
  return `taint ${taint.key}:${taint.effect}, which the Pods do not tolerate`;
};

/** Zones that are empty because every Node there keeps these Pods away. */
const barredText = ({ nodes }: Facts, workload: Workload, zones: readonly string[]): string => {
  const reasons = zones.flatMap((zone) => {
    const own = nodes.filter((node) => zoneOfNode(node) === zone);
    const barriers = own.map((node) => barrier(node, workload));
    const [first] = barriers;
    if (first === undefined || barriers.includes(undefined)) return [];
    return [`every Node of ${zone} keeps them away (${listed(own.map(nameOf))}: ${first})`];
  });
  return reasons.length === 0 ? '' : `${named(workload)}: ${reasons.join('; ')}.`;
};

/** Some zone with clients and without endpoints may not run the Pods, by its Nodes or by theirs. */
export const isBarred = (facts: Facts): boolean => {
  const { clientZones, endpoints, workloads } = facts;
  const empty = clientZones.filter((zone) => !endpoints.some((endpoint) => endpoint.zone === zone));
  return workloads.some(
    (workload) =>
      barredText(facts, workload, empty) !== '' ||
      empty.some((zone) => workload.allowedZones?.includes(zone) === false),
  );
};

const rollingText = (workload: Workload): string =>
  workload.updatedReplicas === undefined
    ? ''
    : ` A roll-out of ${named(workload)} is under way (${workload.updatedReplicas} of ${workload.replicas} updated): look again when it is done.`;

const whyEmpty = (facts: Facts, workload: Workload, zones: readonly string[]): string => {
  const { allowedZones, replicas } = workload;
  const kept = barredText(facts, workload, zones);
  if (kept !== '') return kept;
  const barred = zones.filter((zone) => allowedZones?.includes(zone) === false);
  if (barred.length > 0)
    return `${named(workload)} may run in ${listed(allowedZones ?? [])} only (nodeSelector or node affinity).`;
  const wanted = facts.clientZones.length;
  if (replicas < wanted) return `${named(workload)} has ${counted(replicas, 'replica')} for ${wanted} zones.`;
  const constraint = zoneConstraint(workload);
  if (constraint === undefined && !workload.zoneAntiAffinity) {
    return `${named(workload)} has no topologySpreadConstraint on ${LABEL_ZONE}.`;
  }
  if (constraint?.whenUnsatisfiable === 'ScheduleAnyway') {
    return `The topologySpreadConstraint of ${named(workload)} is a preference only (ScheduleAnyway).`;
  }
  return `${spreadBy(workload)} counts when Pods are placed; taking Pods away, or a Node, undoes it.`;
};

/** Pods that would serve the zone if they were ready. */
const idlePods = ({ pods, nodes }: Facts, zones: readonly string[]): string => {
  const zoneOf = new Map(nodes.map((node) => [nameOf(node), zoneOfNode(node)]));
  const idle = pods.filter(({ nodeName, ready }) => !ready && zones.includes(zoneOf.get(nodeName) ?? ''));
  const pending = pods.filter(({ nodeName }) => nodeName === '');
  const parts = [
    ...(idle.length === 0 ? [] : [`Pod ${listed(idle.map(({ name }) => name))} there is not ready.`]),
    ...(pending.length === 0 ? [] : [`Pod ${listed(pending.map(({ name }) => name))} waits for a Node.`]),
  ];
  return parts.length === 0 ? '' : ` ${parts.join(' ')}`;
};

const endpointsText = (endpoints: readonly ReadyEndpoint[]): string => {
  const counts = new Map<string, number>();
  for (const { zone } of endpoints) counts.set(zone, (counts.get(zone) ?? 0) + 1);
  return [...counts]
    .sort(([a], [b]) => byText(a, b))
    .map(([zone, count]) => `${zone === '' ? 'no zone' : zone} ${count}`)
    .join(', ');
};

const familySpread = (facts: Facts, family: FamilyFacts): Cause[] => {
  const { clientZones, name, workloads, snapshot } = facts;
  const { endpoints, label } = family;
  if (endpoints.length === 0 || clientZones.length < 2) return [];
  const served = new Set(
    facts.idealRoutes
      .filter(({ family: own, reason }) => own === family.family && reason !== 'ZoneNotHinted')
      // Also where the router is not known, as on a virtual kubelet: a zone without endpoint is not served by its own.
      .filter(({ reason, zone }) => reason !== 'RouterUnknown' || endpoints.some((endpoint) => endpoint.zone === zone))
      .map(({ zone }) => zone),
  );
  const empty = clientZones.filter((zone) => !served.has(zone));
  const [only] = endpoints;
  if (endpoints.length === 1 && only !== undefined) {
    const evidence = `Service ${name} has one ready${label} endpoint (${only.address} in ${only.zone === '' ? 'no zone' : only.zone}); clients are in ${listed(clientZones)}.`;
    return [cause(empty.length > 0 ? 'effective' : 'prerequisite', 'SingleEndpoint', evidence)];
  }
  if (empty.length === 0) return [];
  const unseen =
    snapshot.workloads.kind === 'unknown' ? ` What spreads them could not be seen (${snapshot.workloads.why}).` : '';
  const why =
    workloads.length === 0
      ? unseen
      : ` ${workloads.map((workload) => `${whyEmpty(facts, workload, empty)}${rollingText(workload)}`).join(' ')}`;
  const zones = new Set(endpoints.map(({ zone }) => zone));
  const [zone = ''] = zones;
  const together =
    zones.size === 1 && zone !== '' ? `All ${endpoints.length} ready${label} endpoints are in ${zone}. ` : '';
  const evidence = `${together}No ready${label} endpoint of Service ${name} serves ${listed(empty)}; endpoints by zone: ${endpointsText(endpoints)}.${why}${idlePods(facts, empty)}`;
  return [cause('effective', 'PodsNotSpread', evidence)];
};

/** Client zones for which there would be no endpoint even if every hint were as it should be. */
export const spreadCauses = (facts: Facts): Cause[] => facts.families.flatMap((family) => familySpread(facts, family));

/** What a Service needs beside hints, named where it is missing. */
export const prerequisiteCauses = (facts: Facts): Cause[] => {
  const { service, name, snapshot, workloads, autoscalers } = facts;
  const { type, externalIPs, externalTrafficPolicy } = service.spec ?? {};
  const causes: Cause[] = [];
  const scaled = workloads.filter(({ replicas }) => replicas > 0);
  if (snapshot.autoscalers.kind === 'known' && scaled.length > 0 && autoscalers.length === 0) {
    const off = itemsOf(snapshot.autoscalers).filter(
      (item) => item.off && scaled.some((owner) => owner.name === item.targetName),
    );
    const only = off.length === 0 ? '' : ` (${listed(off.map((item) => item.name))} only recommends)`;
    const evidence = `No HorizontalPodAutoscaler and no VerticalPodAutoscaler targets ${listed(scaled.map(named))}${only}.`;
    causes.push(cause('prerequisite', 'NoGrowth', evidence));
  }
  const outside =
    type === 'LoadBalancer' || type === 'NodePort' || (Array.isArray(externalIPs) && externalIPs.length > 0);
  if (outside && externalTrafficPolicy !== 'Local') {
    const by = type === 'LoadBalancer' || type === 'NodePort' ? `type ${type}` : 'externalIPs';
    const evidence = `Service ${name} has ${by}: traffic from outside is routed by the zone of the Node through which it enters.`;
    causes.push(cause('prerequisite', 'LoadBalancerTraffic', evidence));
  }
  return causes;
};
