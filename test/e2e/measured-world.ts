// Meters on every node of a bed as the chart installs them: over TLS with a token for them alone, found by their Pods (ADR 0021).
import { METER_AUDIENCE, METER_NAMESPACE, METER_READER, TRAFFIC_METER } from '../../pkg/apis/names.ts';
import type { Bed, BedNode, BedPod } from './bed/index.ts';
import type { NodeOptions } from './bed/node.ts';
import { runningStatus } from './bed/pod.ts';
import { inside, startMeter, startServers } from './traffic-meter-world.ts';
import type { Meter } from './traffic-meter-world.ts';

export const SECURE_PORT = 9_518;
const RBAC = '/apis/rbac.authorization.k8s.io/v1';

/** The account that may read meters, and the role of who may become it. */
export const createMeterAccount = async ({ api }: Bed): Promise<void> => {
  const metadata = { name: METER_READER, namespace: METER_NAMESPACE };
  await api.create('/api/v1/namespaces', {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: METER_NAMESPACE, labels: { 'pod-security.kubernetes.io/enforce': 'privileged' } },
  });
  await api.create(`/api/v1/namespaces/${METER_NAMESPACE}/serviceaccounts`, {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata,
  });
  await api.create(`${RBAC}/clusterroles`, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: METER_READER },
    rules: [{ nonResourceURLs: ['/metrics'], verbs: ['get'] }],
  });
  await api.create(`${RBAC}/clusterrolebindings`, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: METER_READER },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: METER_READER },
    subjects: [{ kind: 'ServiceAccount', ...metadata }],
  });
  await api.create(`${RBAC}/namespaces/${METER_NAMESPACE}/roles`, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'Role',
    metadata,
    rules: [
      { apiGroups: [''], resources: ['pods'], verbs: ['list'] },
      { apiGroups: [''], resources: ['pods/proxy'], verbs: ['get'] },
      { apiGroups: [''], resources: ['serviceaccounts/token'], resourceNames: [METER_READER], verbs: ['create'] },
    ],
  });
};

/** Lets a user read meters as the command does. */
export const letRead = ({ api }: Bed, user: string): Promise<unknown> =>
  api.create(`${RBAC}/namespaces/${METER_NAMESPACE}/rolebindings`, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name: user },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: METER_READER },
    subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: user }],
  });

const createPod = async ({ api }: Bed, node: BedNode): Promise<void> => {
  const path = `/api/v1/namespaces/${METER_NAMESPACE}/pods`;
  const name = `${TRAFFIC_METER}-${node.name}`;
  await api.create(path, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { 'app.kubernetes.io/component': TRAFFIC_METER } },
    spec: {
      nodeName: node.name,
      hostNetwork: true,
      tolerations: [{ operator: 'Exists' }],
      containers: [
        {
          name: TRAFFIC_METER,
          image: 'meter',
          ports: [{ name: 'metrics', containerPort: SECURE_PORT, hostPort: SECURE_PORT }],
        },
      ],
    },
  });
  await api.patch(`${path}/${name}/status`, { status: runningStatus(true, node.addresses, node) });
};

/** A token as the command and the flow-controller use it. */
export const readerToken = async ({ api }: Bed): Promise<string> => {
  const path = `/api/v1/namespaces/${METER_NAMESPACE}/serviceaccounts/${METER_READER}/token`;
  const spec = { audiences: [METER_AUDIENCE], expirationSeconds: 3_600 };
  const { status } = await api.create<{ status: { token: string } }>(path, {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec,
  });
  return status.token;
};

export interface MeasuredBed {
  readonly nodes: readonly BedNode[];
  /** A server of `shop/web` on each node. */
  readonly pods: readonly BedPod[];
  readonly meters: readonly Meter[];
}

/** A node whose meter has a Pod, as the chart's DaemonSet makes it. */
export const startMeasuredNode = async (bed: Bed, options: NodeOptions): Promise<{ node: BedNode; meter: Meter }> => {
  const node = await bed.node(options);
  await inside(node, 'sysctl', '-qw', 'net.netfilter.nf_conntrack_acct=1');
  const meter = await startMeter(bed, node, `--secure-port=${SECURE_PORT}`);
  await createPod(bed, node);
  return { node, meter };
};

/** A node in each zone with a meter and a server of `shop/web`, whose Service the caller makes. */
export const startMeasured = async (bed: Bed, zones: readonly string[]): Promise<MeasuredBed> => {
  const { api } = bed;
  await api.create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } });
  await createMeterAccount(bed);
  const nodes: BedNode[] = [];
  const pods: BedPod[] = [];
  const meters: Meter[] = [];
  for (const zone of zones) {
    const { node, meter } = await startMeasuredNode(bed, { name: `${zone}1`, zone });
    nodes.push(node);
    meters.push(meter);
    const pod = await bed.pod({ node, app: 'web', namespace: 'shop', serve: false });
    startServers(bed, pod);
    pods.push(pod);
  }
  return { nodes, pods, meters };
};
