// SPDX-License-Identifier: Apache-2.0
// Follows what an explanation of one Service looks at, and reports changes.
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import { LABEL_SERVICE_NAME } from '../../pkg/apis/names.ts';
import { ENDPOINT_SLICES, NODES, PODS, SERVICES } from '../../pkg/apis/resources.ts';
import type { Resource } from '../../pkg/apis/resources.ts';
import type { ServiceRef } from '../../pkg/diagnosis/models/lookup.ts';
import { createCollector } from '../../pkg/diagnosis/project/collect.ts';
import { itemsOf, known } from '../../pkg/diagnosis/snapshot.ts';
import type { ClusterSnapshot } from '../../pkg/diagnosis/snapshot.ts';
import { systemClock } from '../../pkg/kubernetes/clock.ts';
import { createInformer } from '../../pkg/kubernetes/informer.ts';
import { sleep } from '../../pkg/kubernetes/sleep.ts';
import type { Client, Selection } from '../../pkg/kubernetes/types.ts';
import { nullLogger } from '../../pkg/telemetry/log.ts';

export interface LiveOptions {
  readonly client: Client;
  readonly ref: ServiceRef;
  /** Everything as it was at first. */
  readonly base: ClusterSnapshot;
  /** Reads again what is not watched. */
  readonly reread: (signal: AbortSignal) => Promise<ClusterSnapshot>;
  /** Called with each new state, the first included. */
  readonly onState: (snapshot: ClusterSnapshot) => void;
  readonly signal: AbortSignal;
}

/** Changes that come together are one. */
const SETTLE_MS = 150;
/** Workloads, webhooks and events change seldom. */
const REREAD_MS = 60_000;

const sources = ({ ref, base }: LiveOptions): readonly (readonly [Resource, Selection])[] => [
  [NODES, {}],
  [SERVICES, { namespace: ref.namespace, fieldSelector: `metadata.name=${ref.name}` }],
  [ENDPOINT_SLICES, { namespace: ref.namespace, labelSelector: `${LABEL_SERVICE_NAME}=${ref.name}` }],
  ...(base.pods.kind === 'known' ? [[PODS, { namespace: ref.namespace }] as const] : []),
];

/** The watched objects over what was read of the rest. */
const overlay = (
  base: ClusterSnapshot,
  { ref }: LiveOptions,
  objects: readonly KubernetesObject[],
): ClusterSnapshot => {
  const collector = createCollector();
  for (const object of objects) collector.add(object);
  const now = collector.snapshot(new Map());
  const isOwn = (namespace: string | undefined, name: string | undefined): boolean =>
    namespace === ref.namespace && name === ref.name;
  const others = itemsOf(base.slices).filter(
    ({ metadata }) => !isOwn(metadata?.namespace, metadata?.labels?.[LABEL_SERVICE_NAME]),
  );
  return {
    ...base,
    nodes: now.nodes,
    services: now.services,
    slices: known([...others, ...itemsOf(now.slices)]),
    ...(base.pods.kind === 'known' ? { pods: now.pods } : {}),
  };
};

/** Runs until the signal aborts; resolves then. */
export const follow = async (options: LiveOptions): Promise<void> => {
  const { client, reread, onState, signal } = options;
  let { base } = options;
  let wake: () => void = () => undefined;
  const informers = sources(options).map(([resource, selection]) =>
    createInformer({ client, resource, selection, clock: systemClock, random: Math.random, logger: nullLogger }),
  );
  for (const informer of informers) informer.addHandlers({ onUpsert: () => wake(), onDelete: () => wake() });
  const running = informers.map((informer) => informer.run(signal));
  const state = (): ClusterSnapshot =>
    overlay(
      base,
      options,
      informers.flatMap((informer) => informer.store.list()),
    );
  const refresh = async (): Promise<void> => {
    for (;;) {
      await sleep(systemClock, REREAD_MS, signal);
      // A cluster that does not answer for a while is no reason to stop looking.
      base = await reread(signal).catch(() => base);
      wake();
    }
  };
  const redraw = async (): Promise<void> => {
    await Promise.all(informers.map((informer) => informer.waitForSync(signal)));
    for (;;) {
      const changed = new Promise<void>((resolve) => (wake = resolve));
      onState(state());
      await Promise.race([changed, ended(signal)]);
      await sleep(systemClock, SETTLE_MS, signal);
    }
  };
  try {
    await Promise.all([redraw(), refresh()]);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    await Promise.all(running);
  }
};

const ended = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    const fail = (): void => reject(signal.reason as Error);
    if (signal.aborted) fail();
    else signal.addEventListener('abort', fail, { once: true });
  });
