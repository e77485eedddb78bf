// SPDX-License-Identifier: Apache-2.0
// The Services that ask for routing through us, judged as an audit judges them, and the FlowPolicies.
import type { Service } from '../../apis/core.ts';
import {
  ANNOTATION_APPLIED,
  ANNOTATION_TOPOLOGY_MODE,
  GROUP,
  LABEL_CONSIDER,
  LABEL_MANAGED,
  LABEL_ROUTING,
  LABEL_STRATEGY,
} from '../../apis/names.ts';
import { audit } from '../audit/audit.ts';
import { itemsOf, known } from '../snapshot.ts';
import type { ClusterSnapshot } from '../snapshot.ts';
import type { StatusEvidence } from './evidence.ts';
import type { FlowStatus, ServicesStatus } from './types.ts';
import { byText } from '../../apis/order.ts';

/** It carries one of our labels or annotations, and is not left out by one. */
export const isManaged = ({ metadata }: Service): boolean => {
  const { labels = {}, annotations = {} } = metadata ?? {};
  if (labels[LABEL_MANAGED] === 'false') return false;
  return (
    labels[LABEL_MANAGED] === 'true' ||
    labels[LABEL_STRATEGY] !== undefined ||
    labels[LABEL_CONSIDER] === 'true' ||
    annotations[ANNOTATION_APPLIED] !== undefined ||
    (annotations[ANNOTATION_TOPOLOGY_MODE] ?? '').startsWith(`${GROUP}/`)
  );
};

export const servicesStatus = (evidence: StatusEvidence): ServicesStatus | null => {
  const { snapshot, namespaces, unseen, now } = evidence;
  if (snapshot.services.kind === 'unknown' || snapshot.slices.kind === 'unknown') return null;
  const own: ClusterSnapshot = { ...snapshot, services: known(itemsOf(snapshot.services).filter(isManaged)) };
  const { sum, causes } = audit(own, { now });
  return {
    count: sum.services,
    effective: sum.verdicts.Effective,
    assumed: sum.verdicts.Assumed,
    unknown: sum.verdicts.Unknown,
    ineffective: sum.verdicts.Ineffective,
    notWanted: sum.verdicts.NotWanted,
    causes: causes
      .map(({ reason, services }) => ({ reason, services }))
      .sort((a, b) => b.services - a.services || byText(a.reason, b.reason)),
    keptNamespaces: unseen.some(({ what }) => what === 'namespaces')
      ? null
      : namespaces.filter(({ labels }) => labels[LABEL_ROUTING] !== undefined).length,
  };
};

export const flowStatus = ({ flowPolicies }: ClusterSnapshot): FlowStatus | null => {
  if (flowPolicies.kind === 'unknown') return null;
  const groups = Map.groupBy(
    flowPolicies.items.flatMap(({ loop }) => loop?.conditions ?? []),
    ({ type, status, reason }) => [type, status, reason].join('\n'),
  );
  const conditions = [...groups.values()].flatMap((own) => {
    const [first] = own;
    return first === undefined
      ? []
      : [{ type: first.type, status: first.status, reason: first.reason, count: own.length }];
  });
  return {
    count: flowPolicies.items.length,
    conditions: conditions.sort((a, b) => byText(a.type, b.type) || b.count - a.count || byText(a.reason, b.reason)),
  };
};
