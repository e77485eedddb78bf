// An informer on a model of the API, and what its handlers saw.
import { expect } from 'chai';
import { afterEach, beforeEach } from 'mocha';
import type { KubernetesObject } from '../../../pkg/apis/meta.ts';
import { NODES } from '../../../pkg/apis/resources.ts';
import { ConnectionError } from '../../../pkg/kubernetes/errors.ts';
import { type Informer, type InformerOptions, createInformer } from '../../../pkg/kubernetes/informer.ts';
import { createFakeClock } from '../../fixtures/fake-clock.ts';
import { createModelApi } from '../../fixtures/model-api.ts';
import { recordingLogger } from '../../fixtures/recording-logger.ts';

export const request = { method: 'GET', path: '/model' };

export const cut = () => new ConnectionError({ ...request, reason: 'Cut', message: 'reset' });

export const unreachable = () => new ConnectionError({ ...request, reason: 'Unreachable', message: 'refused' });

export const useInformer = () => {
  const fresh = () => ({
    api: createModelApi(),
    clock: createFakeClock(),
    logger: recordingLogger(),
    stop: new AbortController(),
    failures: [] as unknown[],
    running: undefined as Promise<void> | undefined,
  });
  let told: string[] = [];
  const open = (options: Partial<InformerOptions<KubernetesObject>> = {}): Informer<KubernetesObject> =>
    createInformer<KubernetesObject>({
      client: bed.api.client,
      resource: NODES,
      clock: bed.clock,
      random: () => 0,
      logger: bed.logger,
      onFailure: (error) => bed.failures.push(error),
      onUpsert: ({ metadata }, previous) =>
        void told.push(
          `${metadata?.name}@${metadata?.resourceVersion} was ${previous?.metadata?.resourceVersion ?? 'absent'}`,
        ),
      onDelete: ({ metadata }) => void told.push(`${metadata?.name} gone`),
      ...options,
    });
  const bed = Object.assign(fresh(), {
    informer: undefined as unknown as Informer<KubernetesObject>,
    make(options: Partial<InformerOptions<KubernetesObject>> = {}): void {
      bed.informer = open(options);
    },
    async start(): Promise<void> {
      bed.running = bed.informer.run(bed.stop.signal);
      await bed.clock.settle();
    },
    takeTold: (): string[] => told.splice(0),
    /** Why everything was listed, of lists that came to their end. */
    relists: () =>
      bed.logger.entries.flatMap(({ message, fields }) => (message === 'listed' ? [fields['reason']] : [])),
  });
  beforeEach(() => {
    told = [];
    Object.assign(bed, fresh());
    bed.make();
  });
  afterEach(async () => {
    bed.stop.abort();
    await bed.running;
    expect(bed.api.openWatches, 'watches left open').to.equal(0);
    expect(bed.clock.pending, 'timers left behind').to.equal(0);
    expect(bed.api.mostConcurrent, 'lists and watches at one time').to.be.at.most(1);
  });
  return bed;
};
