// Nodes grouped by zone and by who routes there, worked out anew when Nodes or the evidence change: thousands of Services ask.
import type { Node } from '../../apis/core.ts';
import type { ObjectMeta } from '../../apis/meta.ts';
import { clientsOf } from '../../diagnosis/models/follow.ts';
import type { Clients } from '../../diagnosis/models/follow.ts';
import type { Cache } from '../../kubernetes/cache.ts';
import type { RouterEvidence } from './evidence.ts';

/** Labels by which DaemonSets of data planes select Nodes, and by which Nodes show who routes. */
const PLACING = /^(?:kubernetes\.io\/(?:os|arch)$|eks\.amazonaws\.com\/compute-type$|worker\.gardener\.cloud\/|type$)/;
/** Where k3s and RKE2 keep the arguments of their servers. */
const ARGUMENTS = /^(?:k3s|rke2)\.io\/node-args$/;

const kept = <K extends 'labels' | 'annotations'>(meta: ObjectMeta | undefined, field: K, keys: RegExp) => {
  const found = Object.entries(meta?.[field] ?? {}).filter(([key]) => keys.test(key));
  return found.length === 0 ? {} : { [field]: Object.fromEntries(found) };
};

/** The fields of a Node that show its data plane; for caches that keep little else. */
export const routingMeta = (meta: ObjectMeta | undefined): Pick<ObjectMeta, 'labels' | 'annotations'> => ({
  ...kept(meta, 'labels', PLACING),
  ...kept(meta, 'annotations', ARGUMENTS),
});

const relevant = ({ metadata, status }: Node): string =>
  JSON.stringify([metadata?.labels, metadata?.annotations, status?.conditions, status?.nodeInfo]);

export const createClients = (
  nodes: Pick<Cache<Node>, 'list' | 'onChange'>,
  routers: Pick<RouterEvidence, 'objects' | 'onChange'>,
): (() => readonly Clients[]) => {
  let known: readonly Clients[] | undefined;
  nodes.onChange((node, previous, deleted) => {
    if (deleted || previous === undefined || relevant(node) !== relevant(previous)) known = undefined;
  });
  routers.onChange(() => (known = undefined));
  return () => (known ??= clientsOf(nodes.list(), routers.objects()));
};
