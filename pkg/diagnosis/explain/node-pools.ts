// What Karpenter, the Cluster Autoscaler and Fargate make Nodes by: in which zones they may add some for the Pods of a Service, and what to change where
// they do not.
import { type Node, zoneOfNode } from '../../apis/core.ts';
import { LABEL_ZONE } from '../../apis/names.ts';
import { countBy, nameOf } from '../../apis/values.ts';
import { type Workload, itemsOf } from '../snapshot.ts';
import type { Facts } from './facts.ts';
import { listed } from './reasons.ts';
import { roomByZone, zoneConstraint } from './scheduler.ts';

/** aws/karpenter-provider-aws#1854, #2572 */
const ASK_FOR_ZONES =
  'Karpenter adds Nodes in a zone where Pods that wait ask for it: give the Pods a topologySpreadConstraint on `topology.kubernetes.io/zone` with `whenUnsatisfiable: DoNotSchedule` and `minDomains` (Kubernetes 1.27 and newer) as many as zones, or they fit where Nodes are';

const poolOf = ({ metadata: { labels = {} } = {} }: Node): string =>
  labels['karpenter.sh/nodepool'] ?? labels['karpenter.sh/provisioner-name'] ?? '';

/** For zones without its Pods; undefined where Karpenter made no Node of them. */
export const karpenterRemedy = (facts: Facts, workload: Workload, empty: readonly string[]): string | undefined => {
  const hosts = facts.nodes.filter((node) => facts.hosts.has(nameOf(node)));
  const names = [...new Set(hosts.map(poolOf))].filter((name) => name !== '');
  if (names.length === 0) return undefined;
  const objects = itemsOf(facts.snapshot.routers);
  /** With the zones that requirements name, and those of subnets of the node class; undefined: all, or not seen. */
  const pools = objects
    .filter(({ kind }) => kind === 'NodePool')
    .map(({ name, nodes: [selector], settings: { nodeClass, full } }) => ({
      name,
      full,
      named: selector?.matchExpressions?.find(({ key, operator }) => key === LABEL_ZONE && operator === 'In')?.values,
      subnets: objects.find((each) => `${each.kind}/${each.name}` === nodeClass)?.settings['zones']?.split(','),
    }));
  const allows = ({ named, subnets }: (typeof pools)[number], zone: string): boolean =>
    [named, subnets].every((zones) => zones?.includes(zone) !== false);
  const own = pools.filter(({ name }) => names.includes(name));
  const here = new Set(facts.nodes.filter((node) => names.includes(poolOf(node))).map(zoneOfNode));
  const closed = empty.filter((zone) => (own.length === 0 ? here.size === 1 : !own.some((pool) => allows(pool, zone))));
  // aws/karpenter-provider-aws#8637, kubernetes-sigs/karpenter#3272
  const nowhere = pools.flatMap(({ name, named = [], subnets = named }) => {
    const vain = named.filter((zone) => !subnets.includes(zone));
    const why = `its node class has no subnet there, and Karpenter counts it for Pods of all NodePools: it drops a constraint that is a preference, and adds no Nodes for one that is not. `;
    return vain.length === 0 ? [] : [`Take ${listed(vain)} out of NodePool ${name}: ${why}`];
  });
  const narrow = `NodePool ${listed(names)} (before Karpenter 0.32 a Provisioner) ${own.length === 0 ? `has Nodes in ${listed([...here])} only` : `does not allow ${listed(closed)}`}: have its requirements (\`topology.kubernetes.io/zone\`) and its subnets allow the others, or the Pods ask for labels that another one has. `;
  const unseen = own.length > 0 && closed.length === 0 ? '' : '; NodePool and subnets have to allow these zones';
  const isHard = (closed[0] || workload.volumes) && zoneConstraint(workload)?.whenUnsatisfiable === 'DoNotSchedule';
  // karpenter.sh "NodePools", spec.limits; aws/karpenter-provider-aws#5909
  const full = pools
    .filter((pool) => pool.full && empty.some((zone) => allows(pool, zone)))
    .map((pool) => `NodePool ${pool.name} is at its \`spec.limits\` (${pool.full}): raise these for more Nodes. `);
  const last = [closed.length > 0 ? narrow : '', isHard ? '' : `${ASK_FOR_ZONES}${unseen}. `];
  // Where it was not seen, Pods that do not ask are the likelier reason.
  return [...full, ...nowhere, ...(own.length === 0 ? last.reverse() : last)].join('').trimEnd() || undefined;
};

const IN_AKS = // Azure/AKS#1467, #3146
  'Where AKS adds the Nodes, have a node pool for each zone, and AKS keep them even: `az aks update --resource-group <group> --name <cluster> --cluster-autoscaler-profile balance-similar-node-groups=true` (else one may get all new Nodes). ';
const UNCOMPARED = // kubernetes/autoscaler processors/nodegroupset: compare_nodegroups.go, aws_nodegroups.go, azure_nodegroups.go
  /(?:^|\/)(?:hostname|zone(?:-id)?|region|instance(?:-id|group)|nodegroup(?:-name)?|eniConfig|lifecycle|agentpool)$/;
/** Labels by which the likest Node of the zone differs from one with its Pods, where machines are the same (awsdocs/amazon-eks-user-guide#411). */
const differing = ({ nodes, hosts, index }: Facts, zone: string): readonly string[] => {
  const host = nodes.find((node) => hosts.has(nameOf(node)) && zoneOfNode(node) !== zone)?.metadata?.labels;
  const found = (index.nodesIn.get(zone) ?? []).map(({ metadata: { labels = {} } = {} }) =>
    Object.keys({ ...host, ...labels }).filter((key) => host?.[key] !== labels[key] && !UNCOMPARED.test(key)),
  );
  const [keys = []] = found.sort((a, b) => a.length - b.length);
  return host === undefined || keys.some((key) => key.endsWith('/instance-type')) ? [] : keys;
};

/** For zones none of whose Nodes takes more of its Pods (of none any with clients), to stand before another remedy; empty where none is seen, or there is room. */
export const autoscalerRemedy = (facts: Facts, workload: Workload, empty: readonly string[]): string => {
  // That of Gardener runs in another cluster than its Nodes.
  const ofImage = /^(?!.*gardener).*\/cluster-autoscaler(?:-a\w+)?[:@]/m;
  const seen = itemsOf(facts.snapshot.workloads).find(({ images }) => ofImage.test(images.join('\n')));
  const [room, counts] = [roomByZone(workload, facts), countBy(facts.endpoints, ({ zone }) => zone)];
  const zones = empty.length > 0 ? empty : facts.clientZones;
  const full = zones.filter((zone) => (room.get(zone) ?? 0) <= (counts.get(zone) ?? 0));
  if (full.length === 0 || (empty.length === 0 && full.length === zones.length)) return '';
  const isAks = facts.nodes.some(({ metadata }) => metadata?.labels?.['kubernetes.azure.com/agentpool']);
  if (seen === undefined) return isAks ? IN_AKS : '';
  // cluster-autoscaler/FAQ.md of kubernetes/autoscaler, #3309; #2503, #3515, #5352, #7812
  const start = `Start the Cluster Autoscaler (${seen.kind} ${seen.namespace}/${seen.name}) with \`--balance-similar-node-groups\` (\`extraArgs\` of its chart): else one node group may get all new Nodes. `;
  const keys = full.flatMap((zone) => differing(facts, zone)).filter((key) => !seen.steering?.includes(key));
  return `${seen.steering?.includes('balance-similar') ? '' : start}${keys.length > 0 ? `Nodes of ${listed(full)} differ from others by their labels ${listed(keys)}, and so their groups are not balanced: where they are meant to be alike, start the Cluster Autoscaler with \`--balancing-ignore-label\` for each. ` : ''}Have a node group that takes these Pods, with a minimum size of 1, in each zone, ${listed(full)} too: the Cluster Autoscaler balances groups of one instance type with the same labels but for the zone (others: \`--balancing-ignore-label\`), and may not find one of size 0 similar, whatever its tags say. `;
};

export const runsOnFargate = ({ endpoints, index }: Facts): boolean =>
  endpoints.length > 0 && endpoints.every(({ nodeName }) => index.fargate.has(nodeName));

// aws/containers-roadmap#824, #1125, docs.aws.amazon.com/eks/latest/userguide/fargate-profile.html
export const FARGATE_REMEDY =
  'Give the Pods a `nodeSelector` on `topology.kubernetes.io/zone`, with a Deployment for each zone that the subnets of the Fargate profile have. Fargate supports no topologySpreadConstraint.';
