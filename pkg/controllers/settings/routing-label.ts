// SPDX-License-Identifier: Apache-2.0
// Labels the namespaces in which the settings webhook shall keep our values, and takes the label back.
import type { SettingsReconcilerConfiguration } from '../../apis/config/settings-reconciler.ts';
import type { Namespace } from '../../apis/core.ts';
import { LABEL_ROUTING } from '../../apis/names.ts';
import { NAMESPACES } from '../../apis/resources.ts';
import { isNotFound } from '../../kubernetes/errors.ts';
import type { Client } from '../../kubernetes/types.ts';
import { projectNamespace } from './projections.ts';
import type { RecentWrites } from '../../kubernetes/recent-writes.ts';

export interface LabelWish {
  readonly keep: SettingsReconcilerConfiguration['keep'];
  /** Something in the namespace has settings of ours. */
  readonly manages: boolean;
  /** An owner there keeps rewriting what we set. */
  readonly fighting: boolean;
  readonly labelled: boolean;
}

/** Whether the namespace shall carry the label. With `auto` the label itself remembers that there was a fight. */
export const wantsRoutingLabel = ({ keep, manages, fighting, labelled }: LabelWish): boolean => {
  if (keep === 'off' || !manages) return false;
  return keep === 'on' || fighting || labelled;
};

export const isRoutingLabelled = ({ metadata }: Namespace, value = 'true'): boolean =>
  metadata?.labels?.[LABEL_ROUTING] === value;

export interface LabelWriter {
  client: Pick<Client, 'patch'>;
  namespaces: RecentWrites<Namespace>;
  /** What the label says of this installation. Default `true`. */
  value?: string;
}

/** Sets or removes the label if it is not as wanted; true if it was written. */
export const writeRoutingLabel = async (
  namespace: Namespace,
  wanted: boolean,
  { client, namespaces, value = 'true' }: LabelWriter,
  signal: AbortSignal,
): Promise<boolean> => {
  const name = namespace.metadata?.name ?? '';
  const present = namespace.metadata?.labels?.[LABEL_ROUTING] !== undefined;
  if (wanted ? isRoutingLabelled(namespace, value) : !present) return false;
  const patch = { metadata: { labels: { [LABEL_ROUTING]: wanted ? value : null } } };
  try {
    const answer = await client.patch<Namespace>(NAMESPACES, { name }, 'merge', patch, {}, signal);
    namespaces.remember(name, projectNamespace(answer), namespace.metadata?.resourceVersion);
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
};
