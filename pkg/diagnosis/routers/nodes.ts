// Nodes that show by their own fields who routes there, because no Pod does: kube-proxy inside another process or the image.
import type { Node } from '../../apis/core.ts';
import { nameOf } from '../../apis/values.ts';
import type { KubernetesVersion } from '../../routing/types.ts';
import { versionIn } from '../../routing/version.ts';
import type { Evidence } from './types.ts';

export const kubeletText = ({ status }: Node): string => status?.nodeInfo?.kubeletVersion ?? '';

/** kube-proxy on Windows reads `internalTrafficPolicy` from these on: 1.24.10, 1.25.6, 1.26.1 (kubernetes#114466 to #114468), 1.27 (#114407). */
export const WINDOWS_BLIND = /^v1\.(?:1?\d|2[0-3]|24\.\d|25\.[0-5]|26\.0)(?!\d)/;

/** Version of a Node's kubelet, the stand-in for its proxy; undefined where it is missing or malformed. */
export const kubeletVersion = (node: Node): KubernetesVersion | undefined => versionIn(kubeletText(node));

const labelled =
  (key: string, value: string) =>
  ({ metadata }: Node): Omit<Evidence, 'object'> | undefined =>
    metadata?.labels?.[key] === value ? { field: `metadata.labels[${key}]`, value } : undefined;

const COMPUTE_TYPE = 'eks.amazonaws.com/compute-type';

/** What EKS runs the Node as, `auto` or `fargate`; empty: as an instance like any other. */
export const computeTypeOf = ({ metadata }: Node): string => metadata?.labels?.[COMPUTE_TYPE] ?? '';
const ARGUMENTS = ['k3s.io/node-args', 'rke2.io/node-args'];
const DISABLED = /"--disable-kube-proxy(?:=true)?"(?!,"false")/;

/** kube-proxy inside another process, or the image. */
const embedded = <S>(source: string, shown: S, why = '') =>
  ({ router: 'kube-proxy', title: 'kube-proxy', why, source, shown }) as const;

const SIGNS = [
  {
    router: 'unknown',
    title: 'virtual kubelet',
    why: 'a virtual kubelet runs Pods elsewhere, and no object shows how they reach Services',
    source: 'virtual-kubelet',
    shown: labelled('type', 'virtual-kubelet'),
  },
  {
    router: 'kube-proxy-windows',
    title: 'kube-proxy on Windows',
    why: '',
    source: 'kubernetes/kubernetes#123823, #137953 (both open): no release reads hints on Windows',
    shown: labelled('kubernetes.io/os', 'windows'),
  },
  embedded(
    'k3s-io/k3s pkg/daemons/executor/embed.go: kube-proxy of the same build runs inside the agent',
    (node: Node) =>
      kubeletText(node).includes('+k3s')
        ? { field: 'status.nodeInfo.kubeletVersion', value: kubeletText(node) }
        : undefined,
  ),
  embedded('canonical/microk8s: kube-proxy runs inside kubelite, on the Node', labelled('microk8s.io/cluster', 'true')),
  embedded('EKS user guide, "EKS Auto Mode": AWS runs kube-proxy as part of the node', labelled(COMPUTE_TYPE, 'auto')),
  embedded(
    'Amazon EKS user guide, "Fargate Pod configuration"',
    labelled(COMPUTE_TYPE, 'fargate'),
    'Fargate runs its own kube-proxy, whose version no object shows',
  ),
] as const;

/** On Nodes of `unknown` no agent runs; the others count where none is found. */
export const nodeSign = (node: Node) =>
  SIGNS.flatMap(({ shown, ...sign }) => {
    const evidence = shown(node);
    return evidence === undefined ? [] : [{ ...sign, evidence: [{ object: `Node ${nameOf(node)}`, ...evidence }] }];
  })[0];

/** `--disable-kube-proxy`, as k3s and RKE2 keep the arguments of their servers on the Node. */
export const disablesKubeProxy = (node: Node): Evidence | undefined => {
  const isOff = (key: string): boolean => DISABLED.test(node.metadata?.annotations?.[key] ?? '');
  const [field] = ARGUMENTS.filter(isOff).map((key) => `metadata.annotations[${key}]`);
  return field === undefined ? undefined : { object: `Node ${nameOf(node)}`, field, value: '--disable-kube-proxy' };
};
