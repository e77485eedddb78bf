// A zone that is half dead: its Pods answer late, and packets from and to them are lost. Nothing of this makes a Pod not ready.
import { nft } from './chaos-faults.ts';
import type { Zone } from './closed-loop-zone.ts';

export interface Sickness {
  /** Of the packets from a Pod, and of those to it, in thousandths. */
  readonly lostPerThousand: number;
  /** That each answer comes later, in milliseconds. */
  readonly slowMs: number;
}

const table = ['inet', 'sick'] as const;

/** Begins it; returns what ends it. The node's own addresses, kube-proxy's among them, lose nothing. */
export const makeSick = async ({ node, pods, traffic }: Zone, sickness: Sickness): Promise<() => Promise<void>> => {
  const { lostPerThousand, slowMs } = sickness;
  const addresses = `{ ${pods.map((pod) => pod.addresses.ipv4).join(', ')} }`;
  const loses = ['numgen', 'random', 'mod', '1000', '<', String(lostPerThousand), 'drop'];
  await nft(node.namespace, 'add', 'table', ...table);
  for (const [hook, side] of [
    ['input', 'daddr'],
    ['output', 'saddr'],
  ] as const) {
    await nft(node.namespace, 'add', 'chain', ...table, hook, `{ type filter hook ${hook} priority 0; }`);
    await nft(node.namespace, 'add', 'rule', ...table, hook, 'ip', side, addresses, ...loses);
  }
  await traffic.perform({ task: 'slow', ms: slowMs });
  return async () => {
    await traffic.perform({ task: 'slow', ms: 0 });
    await nft(node.namespace, 'delete', 'table', ...table);
  };
};
