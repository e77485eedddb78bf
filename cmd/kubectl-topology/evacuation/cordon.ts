// SPDX-License-Identifier: Apache-2.0
// Cordons the Nodes of a zone, and takes back what was cordoned so: Pods that run stay, new ones go elsewhere.
import type { Node } from '../../../pkg/apis/core.ts';
import { ANNOTATION_CORDONED, LABEL_ZONE } from '../../../pkg/apis/names.ts';
import { NODES } from '../../../pkg/apis/resources.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';

const nodesOf = async (client: Client, zone: string, signal: AbortSignal): Promise<Node[]> => {
  const nodes: Node[] = [];
  const labelSelector = `${LABEL_ZONE}=${zone}`;
  for await (const { items } of client.pages<Node>(NODES, { labelSelector }, signal)) nodes.push(...items);
  return nodes;
};

const isCordoned = (node: Node): boolean =>
  (node as { spec?: { unschedulable?: unknown } }).spec?.unschedulable === true;

const patch = (
  client: Client,
  { metadata }: Node,
  unschedulable: true | null,
  mark: string | null,
  signal: AbortSignal,
) => {
  const body = { metadata: { annotations: { [ANNOTATION_CORDONED]: mark } }, spec: { unschedulable } };
  return client.patch(NODES, { name: metadata?.name ?? '' }, 'merge', body, {}, signal);
};

/** Resolves with the number of Nodes that were cordoned. */
export const cordonZone = async (client: Client, zone: string, signal: AbortSignal): Promise<number> => {
  const nodes = (await nodesOf(client, zone, signal)).filter((node) => !isCordoned(node));
  for (const node of nodes) await patch(client, node, true, zone, signal);
  return nodes.length;
};

/** Resolves with the number of Nodes that may be scheduled on again. */
export const uncordonZone = async (client: Client, zone: string, signal: AbortSignal): Promise<number> => {
  const nodes = await nodesOf(client, zone, signal);
  const own = nodes.filter(({ metadata }) => metadata?.annotations?.[ANNOTATION_CORDONED] === zone);
  for (const node of own) await patch(client, node, null, null, signal);
  return own.length;
};
