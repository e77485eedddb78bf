// Before uninstalling: gives every Node its own zone back, and takes the mark of touches off Services.
import type { Node, Service } from '../../apis/core.ts';
import type { KubernetesObject } from '../../apis/meta.ts';
import { ANNOTATION_TOUCHED } from '../../apis/names.ts';
import { nameOf } from '../../apis/values.ts';
import { NODES, type Resource, SERVICES } from '../../apis/resources.ts';
import { decideZone, projectGroupNode } from '../../kubeedge/decide.ts';
import { isNotFound } from '../../kubernetes/errors.ts';
import type { Client } from '../../kubernetes/types.ts';
import { checkVolumes, writeZone } from './zones.ts';

type CleanupClient = Pick<Client, 'pages' | 'patch'>;

const each = async <T extends KubernetesObject>(
  client: CleanupClient,
  resource: Resource,
  visit: (object: T) => Promise<boolean>,
  signal: AbortSignal,
): Promise<number> => {
  let changed = 0;
  for await (const page of client.pages<T>(resource, {}, signal)) {
    for (const object of page.items) if (await visit(object)) changed += 1;
  }
  return changed;
};

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

const releaseService = async (client: CleanupClient, service: Service, signal: AbortSignal): Promise<boolean> => {
  const { namespace = '', name = '', annotations = {} } = service.metadata ?? {};
  if (annotations[ANNOTATION_TOUCHED] === undefined) return false;
  const patch = { metadata: { annotations: { [ANNOTATION_TOUCHED]: null } } };
  try {
    await client.patch<Service>(SERVICES, { namespace, name }, 'merge', patch, {}, signal);
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
};

/** Reverts all that the NodeGroup controllers wrote; `left`: what had to stay, in sentences. */
export const cleanUpNodeGroups = async (client: CleanupClient, signal: AbortSignal) => {
  const left: string[] = [];
  const nodes = await each<Node>(client, NODES, (node) => releaseNode(client, node, left, signal), signal);
  const services = await each<Service>(client, SERVICES, (service) => releaseService(client, service, signal), signal);
  return { nodes, services, left };
};
