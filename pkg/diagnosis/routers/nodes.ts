// Nodes that show by their own fields who routes there, because no Pod does: kube-proxy inside another process or the image.
import { nameOf } from '../../apis/values.ts';
import type { Evidence, RouterNode } from './types.ts';

export interface NodeSign {
  readonly router: 'kube-proxy' | 'kube-proxy-windows' | 'unknown';
  readonly title: string;
  readonly certainty: 'seen' | 'assumed' | 'unknown';
  readonly why: string;
  readonly source: string;
  readonly evidence: Evidence;
}

type Rule = Omit<NodeSign, 'evidence'> & {
  readonly evidence: (node: RouterNode) => Omit<Evidence, 'object'> | undefined;
};

const label =
  (key: string, value: string): Rule['evidence'] =>
  ({ metadata }) =>
    metadata?.labels?.[key] === value ? { field: `metadata.labels[${key}]`, value } : undefined;

const COMPUTE_TYPE = 'eks.amazonaws.com/compute-type';
const K3S_ARGS = 'k3s.io/node-args';
const RKE2_ARGS = 'rke2.io/node-args';

const argsOf = ({ metadata }: RouterNode): { field: string; value: string } | undefined => {
  const key = [K3S_ARGS, RKE2_ARGS].find((name) => metadata?.annotations?.[name] !== undefined);
  return key === undefined
    ? undefined
    : { field: `metadata.annotations[${key}]`, value: metadata?.annotations?.[key] ?? '' };
};

/** `--disable-kube-proxy`, as k3s and RKE2 keep the arguments of their servers on the Node. */
export const disablesKubeProxy = (node: RouterNode): Evidence | undefined => {
  const args = argsOf(node);
  if (args === undefined || !/"--disable-kube-proxy(?:=true)?"(?!,"false")/.test(args.value)) return undefined;
  return { object: `Node ${nameOf(node)}`, field: args.field, value: '--disable-kube-proxy' };
};

const kubeletOf = ({ status }: RouterNode): string => status?.nodeInfo?.kubeletVersion ?? '';

/** Before any agent is looked for: such Nodes run none. */
export const VIRTUAL: readonly Rule[] = [
  {
    router: 'unknown',
    title: 'virtual kubelet',
    certainty: 'unknown',
    why: 'a virtual kubelet runs Pods elsewhere, and no object shows how they reach Services',
    source: 'virtual-kubelet',
    evidence: label('type', 'virtual-kubelet'),
  },
];

/** Where no agent runs on the Node. */
export const EMBEDDED: readonly Rule[] = [
  {
    router: 'kube-proxy-windows',
    title: 'kube-proxy on Windows',
    certainty: 'seen',
    why: '',
    source: 'kubernetes/kubernetes#123823, #137953 (both open): no release reads hints on Windows',
    evidence: label('kubernetes.io/os', 'windows'),
  },
  {
    router: 'kube-proxy',
    title: 'kube-proxy',
    certainty: 'seen',
    why: '',
    source: 'k3s-io/k3s pkg/daemons/executor/embed.go: kube-proxy of the same build runs inside the agent',
    evidence: (node) =>
      kubeletOf(node).includes('+k3s')
        ? { field: 'status.nodeInfo.kubeletVersion', value: kubeletOf(node) }
        : undefined,
  },
  {
    router: 'kube-proxy',
    title: 'kube-proxy',
    certainty: 'seen',
    why: '',
    source: 'Amazon EKS user guide, "EKS Auto Mode": AWS runs kube-proxy as part of the node',
    evidence: label(COMPUTE_TYPE, 'auto'),
  },
  {
    router: 'kube-proxy',
    title: 'kube-proxy',
    certainty: 'assumed',
    why: 'Fargate runs its own kube-proxy, whose version no object shows',
    source: 'Amazon EKS user guide, "Fargate Pod configuration"',
    evidence: label(COMPUTE_TYPE, 'fargate'),
  },
];

export const nodeSign = (node: RouterNode, rules: readonly Rule[]): NodeSign | undefined => {
  for (const { evidence, ...rule } of rules) {
    const found = evidence(node);
    if (found !== undefined) return { ...rule, evidence: { object: `Node ${nameOf(node)}`, ...found } };
  }
  return undefined;
};
