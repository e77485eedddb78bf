// Before uninstalling: gives every Node its own zone back, and takes the mark of touches off Services.
import type { Node, Service } from '../../apis/core.ts';
import { ANNOTATION_TOUCHED } from '../../apis/names.ts';
import { nameOf, refOf } from '../../apis/values.ts';
import { NODES, SERVICES } from '../../apis/resources.ts';
import { decideZone, projectGroupNode } from '../../kubeedge/decide.ts';
import { ifFound } from '../../kubernetes/errors.ts';
import { listAll } from '../../kubernetes/request.ts';
import type { Client } from '../../kubernetes/types.ts';
import { checkVolumes, writeZone } from './zones.ts';

type CleanupClient = Pick<Client, 'pages' | 'patch'>;

const releaseNode = async (
  client: CleanupClient,
  object: Node,
  left: string[],
  signal: AbortSignal,
): Promise<boolean> => {
  const node = projectGroupNode(object);
  const decision = decideZone(node, [], 0);
  if (decision.kind === 'refused') left.push(decision.message);
  if (decision.kind !== 'write') return false;
  const checked = await checkVolumes(client, nameOf(node), decision, signal);
  if (checked.kind === 'refused') {
    left.push(checked.message);
    return false;
  }
  const written = await writeZone(node, decision, client, signal);
  if (written === undefined) left.push(`Node ${nameOf(node)} changed meanwhile; run the clean-up again`);
  return written !== undefined;
};

/** Reverts all that the NodeGroup controllers wrote; `left`: what had to stay, in sentences. */
export const cleanUpNodeGroups = async (client: CleanupClient, signal: AbortSignal) => {
  const left: string[] = [];
  let [nodes, services] = [0, 0];
  for (const node of await listAll<Node>(client, NODES, {}, signal))
    if (await releaseNode(client, node, left, signal)) nodes += 1;
  const patch = { metadata: { annotations: { [ANNOTATION_TOUCHED]: null } } };
  for (const service of await listAll<Service>(client, SERVICES, {}, signal)) {
    if (service.metadata?.annotations?.[ANNOTATION_TOUCHED] === undefined) continue;
    const written = await ifFound(client.patch<Service>(SERVICES, refOf(service), 'merge', patch, {}, signal));
    if (written !== undefined) services += 1;
  }
  return { nodes, services, left };
};
