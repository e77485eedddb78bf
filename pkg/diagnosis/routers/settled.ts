// SPDX-License-Identifier: Apache-2.0
// Whether DaemonSets say of every Node what their Pods would: then thousands of Pods need not be read.
import { selectsNode } from './settings.ts';
import type { RouterNode, RouterObject } from './types.ts';

/**
 * Whether Pods with this label show no more than the DaemonSets that make them. So it is where there are such DaemonSets, and each
 * has a Pod of its present template on every Node that it selects: fewer Pods mean that a taint keeps them away somewhere.
 */
export const settledBy = (
  objects: readonly RouterObject[],
  nodes: readonly RouterNode[],
): ((key: string, value: string) => boolean) => {
  const sets = objects.filter(({ kind }) => kind === 'DaemonSet');
  const isSettled = (set: RouterObject): boolean =>
    set.scheduled !== undefined && set.scheduled === nodes.filter((node) => selectsNode(set, node)).length;
  return (key, value) => {
    const own = sets.filter(({ labels }) => labels[key] === value);
    return own.length > 0 && own.every(isSettled);
  };
};
