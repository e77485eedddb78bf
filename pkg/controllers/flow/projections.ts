// Reduces objects to the fields that the flow controller reads, before they are cached: a cluster has many Pods.
import type { Node, Service } from '../../apis/core.ts';
import { defined, picked } from '../../apis/defined.ts';
import type { KubernetesObject, ObjectMeta, StringMap } from '../../apis/meta.ts';
import {
  ANNOTATION_APPLIED,
  ANNOTATION_TOPOLOGY_AWARE_HINTS,
  ANNOTATION_TOPOLOGY_MODE,
  CONDITION_HONORED,
  LABEL_CONSIDER,
  LABEL_STRATEGY,
  LABEL_ZONE,
} from '../../apis/names.ts';
import type { PodCpu } from '../../flow/assemble/observation.ts';
import { identityMeta } from '../../apis/object.ts';
import { unitsOf } from '../../apis/quantity.ts';
import { routingMeta } from '../routers/clients.ts';

interface Container {
  readonly restartPolicy?: string;
  readonly resources?: Resources;
}
interface Resources {
  readonly requests?: StringMap;
  readonly limits?: StringMap;
}
/** core/v1 Pod as far as its CPU goes. */
interface Pod extends KubernetesObject {
  readonly spec?: {
    readonly containers?: readonly Container[];
    readonly initContainers?: readonly Container[];
    readonly resources?: Resources;
  };
}

export interface FlowPod extends KubernetesObject {
  readonly cpu: PodCpu;
}

/** The sum over containers; null where one of them does not say, as HPA has it. Sidecars run as long as the Pod and count. */
const sumOf = (pod: Pod, field: 'requests' | 'limits'): number | null => {
  const ofPod = unitsOf(pod.spec?.resources?.[field]?.['cpu']);
  if (ofPod !== undefined) return ofPod;
  const sidecars = (pod.spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
  let sum = 0;
  for (const { resources } of [...(pod.spec?.containers ?? []), ...sidecars]) {
    const cores = unitsOf(resources?.[field]?.['cpu']);
    if (cores === undefined) return null;
    sum += cores;
  }
  return sum;
};

const podMeta = ({ name, namespace, resourceVersion }: ObjectMeta): ObjectMeta =>
  defined({ name, namespace, resourceVersion });

/** A function that reduces Pods; those with the same CPU share one object. */
export const createPodProjection = (): ((pod: KubernetesObject) => FlowPod) => {
  const pool = new Map<string, PodCpu>();
  return (pod) => {
    const cpu = { requests: sumOf(pod, 'requests'), limits: sumOf(pod, 'limits') };
    const key = `${cpu.requests}/${cpu.limits}`;
    const shared = pool.get(key) ?? cpu;
    if (shared === cpu && pool.size < 1_000) pool.set(key, cpu);
    return { metadata: podMeta(pod.metadata ?? {}), cpu: shared };
  };
};

const SERVICE_LABELS = [LABEL_STRATEGY, LABEL_CONSIDER];
const SERVICE_ANNOTATIONS = [ANNOTATION_APPLIED, ANNOTATION_TOPOLOGY_MODE, ANNOTATION_TOPOLOGY_AWARE_HINTS];

/** Of its status whether it has our condition: that is removed from Services that ask for nothing any more. */
const honoredOf = (status: Service['status']): Pick<Service, 'status'> => {
  const own = (status?.conditions ?? []).filter(({ type }) => type === CONDITION_HONORED);
  return own.length === 0 ? {} : { status: { conditions: own } };
};

export const projectService = ({ metadata = {}, spec, status }: Service): Service => ({
  metadata: {
    ...identityMeta(metadata),
    labels: picked(metadata.labels, SERVICE_LABELS),
    annotations: picked(metadata.annotations, SERVICE_ANNOTATIONS),
  },
  spec: {
    ...defined({ selector: spec?.selector }),
    // What data planes look at before they follow hints.
    ...defined({ trafficDistribution: spec?.trafficDistribution }),
    ...(spec?.externalTrafficPolicy === 'Local' ? { externalTrafficPolicy: 'Local' } : {}),
  },
  ...honoredOf(status),
});

const NODE_LABELS = [LABEL_ZONE, 'node-role.kubernetes.io/control-plane', 'node-role.kubernetes.io/master'];

export const projectNode = ({ metadata = {}, status }: Node): Node => {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  const cpu = status?.allocatable?.['cpu'];
  const kubeletVersion = status?.nodeInfo?.kubeletVersion;
  const routing = routingMeta(metadata);
  return {
    metadata: {
      ...identityMeta(metadata),
      ...routing,
      labels: { ...routing.labels, ...picked(metadata.labels, NODE_LABELS) },
    },
    status: {
      nodeInfo: kubeletVersion === undefined ? {} : { kubeletVersion },
      conditions: ready === undefined ? [] : [{ type: 'Ready', status: ready.status }],
      ...(cpu === undefined ? {} : { allocatable: { cpu } }),
    },
  };
};
