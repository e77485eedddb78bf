// An informer on a model of the API, and what its handlers saw.
import { expect } from 'chai';
import { afterEach, beforeEach } from 'mocha';
import type { KubernetesObject } from '../../../pkg/apis/meta.ts';
import { NODES } from '../../../pkg/apis/resources.ts';
import { ConnectionError } from '../../../pkg/kubernetes/errors.ts';
import { type Informer, type InformerOptions, createInformer } from '../../../pkg/kubernetes/informer.ts';
import { type FakeClock, createFakeClock } from '../../fixtures/fake-clock.ts';
import { type ModelApi, createModelApi } from '../../fixtures/model-api.ts';
import { type RecordingLogger, recordingLogger } from '../../fixtures/recording-logger.ts';

export const request = { method: 'GET', path: '/model' };

export const cut = () => new ConnectionError({ ...request, reason: 'Cut', message: 'reset' });

export const unreachable = () => new ConnectionError({ ...request, reason: 'Unreachable', message: 'refused' });

export const useInformer = () => {
  let api: ModelApi;
  let clock: FakeClock;
  let logger: RecordingLogger;
  let stop: AbortController;
  let told: string[];
  let relists: string[];
  let failures: unknown[];
  let informer: Informer<KubernetesObject>;
  let running: Promise<void> | undefined;
  const make = (options: Partial<InformerOptions<KubernetesObject>> = {}): void => {
    informer = createInformer<KubernetesObject>({
      client: api.client,
      resource: NODES,
      clock,
      random: () => 0,
      logger,
      onRelist: (reason) => relists.push(reason),
      onFailure: (error) => failures.push(error),
      onUpsert: ({ metadata }, previous) =>
        void told.push(
          `${metadata?.name}@${metadata?.resourceVersion} was ${previous?.metadata?.resourceVersion ?? 'absent'}`,
        ),
      onDelete: ({ metadata }) => void told.push(`${metadata?.name} gone`),
      ...options,
    });
  };
  const start = async (): Promise<void> => {
    running = informer.run(stop.signal);
    await clock.settle();
  };
  const takeTold = (): string[] => told.splice(0);
  beforeEach(() => {
    api = createModelApi();
    clock = createFakeClock();
    logger = recordingLogger();
    stop = new AbortController();
    [told, relists, failures, running] = [[], [], [], undefined];
    make();
  });
  afterEach(async () => {
    stop.abort();
    await running;
    expect(api.openWatches, 'watches left open').to.equal(0);
    expect(clock.pending, 'timers left behind').to.equal(0);
    expect(api.mostConcurrent, 'lists and watches at one time').to.be.at.most(1);
  });
  return {
    get api() {
      return api;
    },
    get clock() {
      return clock;
    },
    get logger() {
      return logger;
    },
    get stop() {
      return stop;
    },
    set stop(next) {
      stop = next;
    },
    get relists() {
      return relists;
    },
    get failures() {
      return failures;
    },
    get informer() {
      return informer;
    },
    get running() {
      return running;
    },
    make,
    start,
    takeTold,
  };
};
