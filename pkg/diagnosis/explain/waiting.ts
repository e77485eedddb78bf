// What keeps Pods from Nodes: taints, cordons, virtual kubelets; and which Pods wait for a Node, and for which.
import type { Node } from '../../apis/core.ts';
import { LABEL_ZONE } from '../../apis/names.ts';
import { selectsNode } from '../routers/kube-proxy.ts';
import { computeTypeOf } from '../routers/nodes.ts';
import { type Workload, itemsOf } from '../snapshot.ts';
import type { Facts } from './facts.ts';
import { counted, listed } from './reasons.ts';

export const workloadTitle = ({ kind, name }: Pick<Workload, 'kind' | 'name'>): string => `${kind} ${name}`;

/** One that counts its own Pods before others. */
export const zoneConstraint = ({ spread }: Workload) => {
  const own = spread.filter(({ topologyKey }) => topologyKey === LABEL_ZONE);
  return own.find(({ selectsOwn }) => selectsOwn) ?? own[0];
};

/** Its Pods are kept apart by zone only where that is easy. */
export const prefersApart = ({ zoneAntiAffinity, apart = [] }: Workload): boolean =>
  zoneAntiAffinity && !apart.includes(LABEL_ZONE);

export type Taint = Partial<Record<'key' | 'value' | 'effect', string>>;

export const taintText = ({ key = '', effect = '' }: Taint): string => `${key}:${effect}`;

/** A taint of the Node that keeps the Pods away. */
const untolerated = ({ spec }: Node, { tolerations = [] }: Workload): Taint | undefined =>
  ((spec?.taints ?? []) as readonly Taint[]).find(
    ({ key = '', value = '', effect = '' }) =>
      (effect === 'NoSchedule' || effect === 'NoExecute') &&
      !tolerations.some(
        (own) =>
          (own.effect === '' || own.effect === effect) &&
          (own.operator === 'Exists' ? own.key === '' || own.key === key : own.key === key && own.value === value),
      ),
  );

/** Why no Pod of the workload may run on the Node; undefined where nothing bars it. */
export const barrier = (node: Node, workload: Workload): string | undefined => {
  if (node.spec?.unschedulable === true) return 'cordoned';
  const { type = '' } = node.metadata?.labels ?? {};
  const taint = untolerated(node, workload);
  if (taint === undefined) return undefined;
  if (type === 'virtual-kubelet') return 'a virtual kubelet, whose taint the Pods do not tolerate';
  if (computeTypeOf(node) === 'fargate') return 'Fargate, which runs Pods of its own profile only';
  return `taint ${taintText(taint)}, which the Pods do not tolerate`;
};

/** What hard constraints count although every Node there keeps the Pods away. */
const countedInVain = ({ snapshot, workloads }: Facts): string[] =>
  workloads.flatMap((workload) => {
    const open = itemsOf(snapshot.nodes).filter((node) => selectsNode({ nodes: workload.nodeTerms ?? [] }, node));
    const hard = workload.spread.filter((each) => each.whenUnsatisfiable === 'DoNotSchedule' && !each.honorsTaints);
    return hard.flatMap(({ topologyKey }) =>
      [...Map.groupBy(open, ({ metadata }) => metadata?.labels?.[topologyKey] ?? '')]
        .filter(([domain, own]) => domain !== '' && own.every((node) => barrier(node, workload) !== undefined))
        .map(([domain]) => domain),
    );
  });

/** Pods that wait for a Node, and for which; empty: none does. */
export const waitingText = (facts: Facts): string => {
  const pending = facts.pods.filter(({ nodeName }) => nodeName === '');
  if (pending.length === 0) return '';
  const wanted = Math.max(...facts.workloads.map((workload) => zoneConstraint(workload)?.minDomains ?? 1));
  const vain = countedInVain(facts);
  const apart = facts.workloads.find(
    (workload) => workload.apart?.includes(LABEL_ZONE) === true && workload.replicas > facts.clientZones.length,
  );
  const reasons = [
    ...(wanted > facts.clientZones.length
      ? [`minDomains of its topologySpreadConstraint asks for Nodes in ${wanted} zones`]
      : []),
    ...(apart === undefined
      ? []
      : [`its podAntiAffinity lets one Pod in each zone, and it has ${counted(apart.replicas, 'replica')}`]),
    ...(vain.length === 0
      ? []
      : [
          `its topologySpreadConstraint counts ${listed(vain)}, where every Node keeps it away, as long as it has no nodeTaintsPolicy: Honor (Kubernetes 1.26 and newer)`,
        ]),
    ...(facts.workloads.some(({ volumes }) => volumes === true)
      ? ['its volume may hold it to a zone without room, or where a constraint lets none in']
      : []),
  ];
  return ` Pod ${listed(pending.map(({ name }) => name))} waits for a Node${reasons.length === 0 ? '' : ': '}${reasons.join('; ')}.`;
};
