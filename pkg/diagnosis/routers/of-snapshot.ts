// Who routes on the Nodes of a snapshot.
import { defined } from '../../apis/values.ts';
import { type ClusterSnapshot, itemsOf } from '../snapshot.ts';
import { createRouters } from './routers.ts';
import type { Routers, Stated } from './types.ts';

/** `stated`: what counts more than objects. */
export const routersOf = ({ routers, nodes, version }: ClusterSnapshot, stated: Stated = {}): Routers =>
  createRouters({
    objects: itemsOf(routers),
    nodes: itemsOf(nodes),
    stated,
    ...defined({ fallback: version }),
  });
