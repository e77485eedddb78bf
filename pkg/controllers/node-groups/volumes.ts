// Reads, when a Node is about to change its zone, the Pods on it and the volumes of the cluster: that is too seldom for a cache.
import type { KubernetesObject } from '../../apis/meta.ts';
import { PERSISTENT_VOLUMES, PODS } from '../../apis/resources.ts';
import type { Resource } from '../../apis/resources.ts';
import { volumesAgainst } from '../../kubeedge/volumes.ts';
import type { BoundVolume, ClaimingPod, PersistentVolume } from '../../kubeedge/volumes.ts';
import type { Client, Selection } from '../../kubernetes/types.ts';

type Reader = Pick<Client, 'pages'>;

const listAll = async <T extends KubernetesObject>(
  client: Reader,
  resource: Resource,
  selection: Selection,
  signal: AbortSignal,
): Promise<T[]> => {
  const items: T[] = [];
  for await (const page of client.pages<T>(resource, selection, signal)) items.push(...page.items);
  return items;
};

/**
 * Volumes that Pods of the Node use and that may not be used in `zone`.
 *
 * @throws ApiError when one of the two lists cannot be read: then nothing is known, and the zone must stay.
 */
export const readVolumesAgainst = async (
  client: Reader,
  node: string,
  zone: string | undefined,
  signal: AbortSignal,
): Promise<BoundVolume[]> => {
  const fieldSelector = `spec.nodeName=${node}`;
  const pods = await listAll<ClaimingPod>(client, PODS, { fieldSelector }, signal);
  const claiming = pods.filter(({ spec }) =>
    (spec?.volumes ?? []).some((volume) => volume.persistentVolumeClaim ?? volume.ephemeral),
  );
  if (claiming.length === 0) return [];
  return volumesAgainst(zone, claiming, await listAll<PersistentVolume>(client, PERSISTENT_VOLUMES, {}, signal));
};
