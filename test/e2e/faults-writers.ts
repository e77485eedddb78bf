// Writes slices without pause, as many as the API server takes, and keeps count of what was refused or stored without hints.
import type { EndpointSlice } from '../../pkg/apis/core.ts';
import { LABEL_STRATEGY } from '../../pkg/apis/names.ts';
import { ENDPOINT_SLICES } from '../../pkg/apis/resources.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import { endpoint, slice } from '../fixtures/core.ts';
import { ZONES } from '../fixtures/gardener.ts';
import { each, hasOwnZone } from './hints-support.ts';

export interface Written {
  readonly accepted: number;
  /** What the server answered to the others. */
  readonly refused: readonly string[];
  /** Accepted with an endpoint that has not the hint of its zone. */
  readonly unhinted: number;
  readonly perSecond: number;
}

export interface Writers {
  readonly accepted: number;
  stop(): Promise<Written>;
}

export interface WriterOptions {
  readonly client: Client;
  /** Namespace that the webhook serves; must exist. */
  readonly namespace: string;
  /** Whether the slices ask for hints; those that do not are no business of the webhook. */
  readonly asks: boolean;
  /** Writes at the same time. Default 8. */
  readonly concurrency?: number;
  /** Endpoints of each slice. Default 3. */
  readonly endpoints?: number;
}

const sliceOf = ({ namespace, asks, endpoints = 3 }: WriterOptions, lane: number): EndpointSlice =>
  slice({
    metadata: {
      namespace,
      name: `${asks ? 'asks' : 'plain'}-${lane}`,
      labels: asks ? { [LABEL_STRATEGY]: 'same-zone' } : {},
    },
    endpoints: Array.from({ length: endpoints }, (_, index) =>
      endpoint({
        zone: ZONES[index % ZONES.length] ?? '',
        addresses: [`198.19.${lane}.${index % 250}`],
        targetRef: { kind: 'Pod', namespace, name: `pod-with-a-name-of-usual-length-${index}` },
      }),
    ),
  });

/** One slice for each lane, replaced again and again without hints, as the EndpointSlice controller writes them. */
export const startWriters = async (options: WriterOptions): Promise<Writers> => {
  const { client, concurrency = 8, asks } = options;
  const lanes = Array.from({ length: concurrency }, (_, lane) => sliceOf(options, lane));
  await each(lanes, concurrency, async (one) => {
    const ref = { namespace: options.namespace, name: one.metadata?.name ?? '' };
    await client.delete(ENDPOINT_SLICES, ref).catch(() => undefined);
    await client.create(ENDPOINT_SLICES, one);
  });
  const refused: string[] = [];
  let [accepted, unhinted, round, stopped] = [0, 0, 0, false];
  const write = async (one: EndpointSlice): Promise<void> => {
    // Another content each time: without a change there would be nothing to store.
    const annotations = { round: String((round += 1)) };
    try {
      const stored = await client.update(ENDPOINT_SLICES, { ...one, metadata: { ...one.metadata, annotations } });
      accepted += 1;
      if (asks && !(stored.endpoints ?? []).every(hasOwnZone)) unhinted += 1;
    } catch (error) {
      refused.push(String(error));
    }
  };
  const start = performance.now();
  const running = Promise.all(
    lanes.map(async (one) => {
      while (!stopped) await write(one);
    }),
  );
  return {
    get accepted() {
      return accepted;
    },
    async stop() {
      stopped = true;
      await running;
      return { accepted, refused, unhinted, perSecond: accepted / ((performance.now() - start) / 1_000) };
    },
  };
};
