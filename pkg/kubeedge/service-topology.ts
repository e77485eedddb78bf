// SPDX-License-Identifier: Apache-2.0
// Maps KubeEdge's `service-topology: range-nodegroup` to the strategy same-zone, and says what hints do not promise of it.
import type { Service } from '../apis/core.ts';
import {
  ANNOTATION_GROUP_SERVICE,
  ANNOTATION_SERVICE_TOPOLOGY,
  LABEL_MANAGED,
  LABEL_STRATEGY,
  SERVICE_TOPOLOGY_NODE_GROUP,
} from '../apis/names.ts';
import { conflictingMode, requestedStrategy } from '../routing/index.ts';

/** How far the wish goes. `NodeGroupPreferred`: as far as hints go. The others: not even that. */
export type ServiceTopologyReason =
  | 'NodeGroupPreferred'
  | 'EdgeMeshIgnoresHints'
  | 'NoTopologyEnabled'
  | 'NotProxied'
  | 'OwnStrategy'
  | 'ConflictingMode'
  | 'Excluded';

export interface ServiceTopologyStatus {
  readonly reason: ServiceTopologyReason;
  readonly message: string;
}

export interface ServiceTopologyPlan {
  /** Undefined where the Service asks for nothing. */
  readonly status: ServiceTopologyStatus | undefined;
  /** A JSON merge patch; undefined where nothing differs. */
  readonly patch: Readonly<Record<string, unknown>> | undefined;
}

export interface ServiceTopologyInput {
  readonly service: Service;
  /** Some NodeGroup gives its Nodes its name as their zone. */
  readonly topologyEnabled: boolean;
  /** EdgeMesh runs somewhere in the cluster. */
  readonly edgeMesh: boolean;
}

/** The strategy whose label this project set, while the annotation says so. */
const STRATEGY = 'same-zone';

interface Mark extends ServiceTopologyStatus {
  readonly strategy: typeof STRATEGY;
}

const parseMark = (text: string | undefined): Mark | undefined => {
  if (text === undefined) return undefined;
  try {
    const value = JSON.parse(text) as Partial<Mark> | null;
    return value?.strategy === STRATEGY ? (value as Mark) : undefined;
  } catch {
    return undefined;
  }
};

const subjectOf = ({ metadata }: Service): string => `Service ${metadata?.namespace ?? ''}/${metadata?.name ?? ''}`;

const PREFERRED =
  'connections stay among the Nodes of their NodeGroup while it has a ready endpoint; a group without one, and Nodes without a zone, use all endpoints, where KubeEdge has none for them';

const EDGEMESH =
  'EdgeMesh reads Endpoints only and never hints: its connections go to any group. Only Nodes with kube-proxy, or another proxy that supports hints, keep them in the group';

const isProxied = ({ spec }: Service): boolean => spec?.clusterIP !== 'None' && spec?.type !== 'ExternalName';

/** Without what this project set: what its author asks for. */
const withoutOurs = (service: Service): Service => {
  const { [LABEL_STRATEGY]: _ours, ...labels } = service.metadata?.labels ?? {};
  return { ...service, metadata: { ...service.metadata, labels } };
};

/** Why a Service that asks gets no label, or undefined. */
const obstacle = (authored: Service, { topologyEnabled }: ServiceTopologyInput): ServiceTopologyStatus | undefined => {
  const subject = subjectOf(authored);
  if (authored.metadata?.labels?.[LABEL_MANAGED] === 'false') {
    return { reason: 'Excluded', message: `${subject} is labelled ${LABEL_MANAGED}: "false"` };
  }
  if (!isProxied(authored)) {
    return {
      reason: 'NotProxied',
      message: `${subject} has no cluster IP: clients find its Pods by DNS, which has no groups`,
    };
  }
  const strategy = requestedStrategy(authored);
  if (strategy !== undefined) {
    return {
      reason: 'OwnStrategy',
      message: `${subject} asks for ${strategy} by itself, which takes precedence over ${ANNOTATION_SERVICE_TOPOLOGY}`,
    };
  }
  // As it would be with the label: `Auto` and a strategy would both write hints.
  const labels = { ...authored.metadata?.labels, [LABEL_STRATEGY]: STRATEGY };
  const conflict = conflictingMode({ ...authored, metadata: { ...authored.metadata, labels } });
  if (conflict !== undefined) {
    return {
      reason: 'ConflictingMode',
      message: `${subject}: ${conflict.field} is ${JSON.stringify(conflict.value)}; remove it, or ${ANNOTATION_SERVICE_TOPOLOGY}`,
    };
  }
  if (topologyEnabled) return undefined;
  return {
    reason: 'NoTopologyEnabled',
    message: `${subject} should stay in its NodeGroup, but no NodeGroup has spec.topologyEnabled: true, so zones are not groups`,
  };
};

const patchOf = (label: string | null | undefined, mark: Mark | null): ServiceTopologyPlan['patch'] => ({
  metadata: {
    ...(label === undefined ? {} : { labels: { [LABEL_STRATEGY]: label } }),
    annotations: { [ANNOTATION_GROUP_SERVICE]: mark === null ? null : JSON.stringify(mark) },
  },
});

/**
 * Plans for one Service. A strategy label that its author set is never changed: this project's is the one beside its annotation, with
 * the value that this names. Applying the patch and planning again gives no patch.
 */
export const planServiceTopology = (input: ServiceTopologyInput): ServiceTopologyPlan => {
  const { service, edgeMesh } = input;
  const [labels, annotations] = [service.metadata?.labels ?? {}, service.metadata?.annotations ?? {}];
  const text = annotations[ANNOTATION_GROUP_SERVICE];
  const mark = parseMark(text);
  const label = labels[LABEL_STRATEGY];
  const ours = mark !== undefined && label === mark.strategy;
  const asks = annotations[ANNOTATION_SERVICE_TOPOLOGY] === SERVICE_TOPOLOGY_NODE_GROUP;
  const against = asks ? obstacle(ours ? withoutOurs(service) : service, input) : undefined;
  if (!asks || against !== undefined) {
    return { status: against, patch: text === undefined ? undefined : patchOf(ours ? null : undefined, null) };
  }
  const status: ServiceTopologyStatus = edgeMesh
    ? { reason: 'EdgeMeshIgnoresHints', message: `${EDGEMESH}; with hints, ${PREFERRED}` }
    : { reason: 'NodeGroupPreferred', message: PREFERRED };
  const next: Mark = { strategy: STRATEGY, ...status };
  const same = ours && text === JSON.stringify(next);
  return { status, patch: same ? undefined : patchOf(ours ? undefined : STRATEGY, next) };
};
