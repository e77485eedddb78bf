// Which Nodes a NodeGroup has, and what it says about their zone.
import type { NodeGroup } from '../apis/kubeedge.ts';
import type { KubernetesObject, StringMap } from '../apis/meta.ts';
import { ANNOTATION_TAKEOVER } from '../apis/names.ts';
import { nameOf } from '../apis/object.ts';

/** No labels select no Node, as in KubeEdge: a group that is only a list of names has none. */
const matches = (selector: StringMap, labels: StringMap): boolean => {
  const wanted = Object.entries(selector);
  return wanted.length > 0 && wanted.every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value);
};

/** By name or by labels, as KubeEdge's controller selects. */
export const isMember = ({ metadata }: KubernetesObject, { spec }: NodeGroup): boolean =>
  (spec?.nodes ?? []).includes(metadata?.name ?? '') || matches(spec?.matchLabels ?? {}, metadata?.labels ?? {});

/** The groups of a Node in name order; more than one is a mistake that KubeEdge does not accept either. A group on its way out has no Nodes. */
export const groupsOf = (node: KubernetesObject, groups: readonly NodeGroup[]): NodeGroup[] =>
  groups
    .filter((group) => group.metadata?.deletionTimestamp === undefined && isMember(node, group))
    .sort((left, right) => (nameOf(left) < nameOf(right) ? -1 : 1));

/** Whether the members of the group get its name as their zone. */
export const isTopologyEnabled = ({ spec }: NodeGroup): boolean => spec?.topologyEnabled === true;

/** Whether the group may replace zone labels that another writer set. */
export const mayTakeOver = ({ metadata }: NodeGroup): boolean =>
  metadata?.annotations?.[ANNOTATION_TAKEOVER] === 'true';

const LABEL_VALUE = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;

/** Names of objects may be longer than values of labels. */
export const isLabelValue = (name: string): boolean => LABEL_VALUE.test(name);
