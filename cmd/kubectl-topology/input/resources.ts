// SPDX-License-Identifier: Apache-2.0
// Which resources of a cluster fill which part of a snapshot.
import {
  ENDPOINT_SLICES,
  EVENTS,
  FLOW_POLICIES,
  MUTATING_WEBHOOK_CONFIGURATIONS,
  NODES,
  PODS,
  SERVICES,
} from '../../../pkg/apis/resources.ts';
import type { Resource } from '../../../pkg/apis/resources.ts';
import type { CollectionName } from '../../../pkg/diagnosis/snapshot.ts';

export interface Source {
  readonly resource: Resource;
  /** Instead of the namespaces asked for. */
  readonly namespace?: string;
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
  /** Not every cluster serves it: where it is not served there are none. */
  readonly optional?: boolean;
}

const namespaced = (group: string, version: string, kind: string): Resource => ({
  group,
  version,
  kind,
  plural: `${kind.toLowerCase()}s`,
  namespaced: true,
});

const POLICIES: Resource = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  kind: 'MutatingAdmissionPolicy',
  plural: 'mutatingadmissionpolicies',
  namespaced: false,
};

export const SOURCES: Readonly<Record<CollectionName, readonly Source[]>> = {
  nodes: [{ resource: NODES }],
  services: [{ resource: SERVICES }],
  slices: [{ resource: ENDPOINT_SLICES }],
  pods: [{ resource: PODS }],
  workloads: [
    { resource: namespaced('apps', 'v1', 'Deployment'), optional: true },
    { resource: namespaced('apps', 'v1', 'StatefulSet'), optional: true },
  ],
  autoscalers: [
    { resource: namespaced('autoscaling', 'v2', 'HorizontalPodAutoscaler'), optional: true },
    { resource: namespaced('autoscaling.k8s.io', 'v1', 'VerticalPodAutoscaler'), optional: true },
  ],
  webhooks: [{ resource: MUTATING_WEBHOOK_CONFIGURATIONS }],
  policies: [{ resource: POLICIES, optional: true }],
  events: [{ resource: EVENTS, fieldSelector: 'involvedObject.kind=Service' }],
  cilium: [
    {
      resource: namespaced('', 'v1', 'ConfigMap'),
      namespace: 'kube-system',
      fieldSelector: 'metadata.name=cilium-config',
      optional: true,
    },
  ],
  flowPolicies: [{ resource: FLOW_POLICIES, optional: true }],
};
