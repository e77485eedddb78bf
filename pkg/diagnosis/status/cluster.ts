// SPDX-License-Identifier: Apache-2.0
// The cluster of an installation: its version, what follows from that, and the Nodes.
import type { Node } from '../../apis/core.ts';
import { isNodeReady, zoneOfNode } from '../../apis/readings.ts';
import { mechanismOf } from '../../routing/mechanism.ts';
import type { KubernetesVersion } from '../../routing/types.ts';
import { formatVersion, InvalidVersionError, parseVersion } from '../../routing/version.ts';
import type { ClusterSnapshot } from '../snapshot.ts';
import type { ClusterStatus } from './types.ts';
import { byText } from '../../apis/order.ts';

const UNKNOWN = 'unknown';

/** `1.33`, or `unknown`. */
export const minorOf = (version: string | undefined): string => {
  try {
    return formatVersion(parseVersion(version));
  } catch (error) {
    if (error instanceof InvalidVersionError) return UNKNOWN;
    throw error;
  }
};

/** How many Nodes have each value, in order of the values. */
const countsOf = (nodes: readonly Node[], valueOf: (node: Node) => string): Record<string, number> => {
  const groups = Map.groupBy(nodes, valueOf);
  return Object.fromEntries(
    [...groups].map(([value, own]) => [value, own.length] as const).sort(([a], [b]) => byText(a, b)),
  );
};

const nodesOf = ({ nodes }: ClusterSnapshot): ClusterStatus['nodes'] => {
  if (nodes.kind === 'unknown') return null;
  const ready = nodes.items.filter(isNodeReady);
  return {
    count: nodes.items.length,
    ready: ready.length,
    zones: countsOf(ready, zoneOfNode),
    versions: countsOf(nodes.items, ({ status }) => minorOf(status?.nodeInfo?.kubeletVersion)),
  };
};

/** The API server's version, else the newest of the Nodes. */
const versionOf = ({ version }: ClusterSnapshot, nodes: ClusterStatus['nodes']): KubernetesVersion | undefined => {
  if (version !== undefined) return version;
  const known = Object.keys(nodes?.versions ?? {}).filter((each) => each !== UNKNOWN);
  const newest = known.map(parseVersion).sort((a, b) => b.major - a.major || b.minor - a.minor)[0];
  return newest;
};

export const clusterStatus = (snapshot: ClusterSnapshot, serverVersion: string | undefined): ClusterStatus => {
  const nodes = nodesOf(snapshot);
  const version = versionOf(snapshot, nodes);
  return {
    version: serverVersion ?? (version === undefined ? UNKNOWN : formatVersion(version)),
    mechanism: version === undefined ? UNKNOWN : mechanismOf(version),
    nodes,
  };
};
