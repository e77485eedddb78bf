// Writes the zone label of a Node together with our record of it: one patch, on the very object that was decided upon.
import type { Node } from '../../apis/core.ts';
import { ANNOTATION_GROUP_ZONE, COMMANDS, LABEL_ZONE } from '../../apis/names.ts';
import { nameOf } from '../../apis/object.ts';
import { NODES } from '../../apis/resources.ts';
import type { ZoneDecision } from '../../kubeedge/decide.ts';
import { projectGroupNode } from '../../kubeedge/node.ts';
import type { GroupNode } from '../../kubeedge/node.ts';
import { formatRecord } from '../../kubeedge/record.ts';
import { isConflict, isNotFound } from '../../kubernetes/errors.ts';
import type { Client } from '../../kubernetes/types.ts';

/** Managed fields should name us, whatever the user agent: they distinguish KubeEdge's writes from this controller's. */
const OPTIONS = { fieldManager: COMMANDS.flowController };

/** The Node as the server has it now; undefined where another writer wrote it meanwhile, or it is gone. */
export const writeZone = async (
  node: GroupNode,
  { zone, record, moves }: Extract<ZoneDecision, { kind: 'write' }>,
  client: Pick<Client, 'patch'>,
  signal: AbortSignal,
): Promise<GroupNode | undefined> => {
  const patch = {
    metadata: {
      resourceVersion: node.metadata.resourceVersion,
      ...(moves ? { labels: { [LABEL_ZONE]: zone ?? null } } : {}),
      annotations: { [ANNOTATION_GROUP_ZONE]: record === undefined ? null : formatRecord(record) },
    },
  };
  try {
    return projectGroupNode(await client.patch<Node>(NODES, { name: nameOf(node) }, 'merge', patch, OPTIONS, signal));
  } catch (error) {
    if (isConflict(error) || isNotFound(error)) return undefined;
    throw error;
  }
};
