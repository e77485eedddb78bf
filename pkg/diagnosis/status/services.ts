// The Services that ask for routing through us, judged as an audit judges them, and the FlowPolicies.
import type { Service } from '../../apis/core.ts';
import {
  ANNOTATION_APPLIED,
  ANNOTATION_ORIGIN,
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
import { serviceRefOf } from '../models/lookup.ts';
import type { KeepingFacts, StatusEvidence } from './evidence.ts';
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

const holdsSettings = (service: Service): boolean =>
  isManaged(service) && service.metadata?.annotations?.[ANNOTATION_APPLIED] !== undefined;

const hasOrigin = ({ metadata }: Service): boolean => metadata?.annotations?.[ANNOTATION_ORIGIN] !== undefined;

/** What is wrong with the label of a namespace with managed Services; undefined: nothing, as far as objects show. */
const labelProblem = (
  label: string | undefined,
  services: readonly Service[],
  keeping: readonly KeepingFacts[],
): string | undefined => {
  const values = [...new Set(keeping.map((one) => one.label))].sort(byText).join(' or ');
  if (label !== undefined) {
    return keeping.some((one) => one.label === label)
      ? undefined
      : `has the label ${LABEL_ROUTING}=${label}, which no installation here uses (${values})`;
  }
  const expected = keeping.every(({ keep }) => keep === 'on' || (keep === 'auto' && services.some(hasOrigin)));
  return expected ? `lacks the label ${LABEL_ROUTING}=${values}` : undefined;
};

/** Sentences about namespaces with settings that admission does not keep, for want of the label by which it is to. */
export const unkeptNamespaces = ({ snapshot, namespaces, configs, namespace, unseen }: StatusEvidence): string[] => {
  const keeping = configs.flatMap((config) => config.keeping ?? []);
  // Where one namespace was looked at, another installation may be the one that keeps.
  if (keeping.length === 0 || namespace !== undefined || unseen.some(({ what }) => what === 'namespaces')) return [];
  const own = Map.groupBy(
    itemsOf(snapshot.services).filter(holdsSettings),
    (service) => serviceRefOf(service).namespace,
  );
  return namespaces.flatMap(({ name, labels }) => {
    const services = own.get(name) ?? [];
    const problem = services.length === 0 ? undefined : labelProblem(labels[LABEL_ROUTING], services, keeping);
    return problem === undefined
      ? []
      : [`Namespace ${name}, ${services.length} of its Services managed here, ${problem}.`];
  });
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
