// Changes shoots, Services, Pods, slices, demand and policies at random while other things break, as the owners of a landscape do.
import { setTimeout as pause } from 'node:timers/promises';
import { LABEL_MANAGED } from '../../pkg/apis/names.ts';
import { CALM, HOT, PLANNED } from './chaos-planned.ts';
import type { PlannedShoot } from './chaos-planned.ts';
import type { Random } from './chaos-random.ts';
import { SCALE } from './faults-world.ts';
import type { ShootHandle } from './faults-world.ts';

export interface Churn {
  /** Changes that the API server took. */
  readonly changes: number;
  /** Ends it after the change under way; rejects with what went wrong in it. */
  stop(): Promise<void>;
}

/** A shoot and its planned Services. */
export interface ChurnedShoot {
  readonly shoot: ShootHandle;
  readonly planned: PlannedShoot;
}

const plannedChangeOf = (planned: PlannedShoot, random: Random): (() => Promise<void>) => {
  const name = random.pick(PLANNED);
  const flip = random.next() < 0.5;
  return random.pick([
    async () => void (planned.loaded.demand = flip ? HOT : CALM),
    async () => void (planned.loaded.demand = flip ? HOT : CALM),
    // Most of the time it asks: a Service that does not is not planned for.
    () => planned.ask(name, random.next() < 0.8),
    () => planned.policy(flip),
    () => planned.deleteSlices(name),
  ]);
};

const changeOf = (shoot: ShootHandle, random: Random): (() => Promise<void>) => {
  const service = random.below(SCALE.services);
  const pod = random.below(SCALE.pods);
  const flip = random.next() < 0.5;
  return random.pick([
    () => shoot.setting(flip),
    () => (flip ? shoot.createService(service) : shoot.deleteService(service)),
    () => shoot.patchService(service, { metadata: { labels: { [LABEL_MANAGED]: String(flip) } } }),
    () => shoot.patchService(service, { spec: { trafficDistribution: null } }),
    () => shoot.patchService(service, { metadata: { labels: { churn: String(random.below(1_000)) } } }),
    () => (flip ? shoot.createPod(pod) : shoot.deletePod(pod)),
    () => shoot.readyPod(pod, flip),
    () => shoot.readyPod(pod, flip),
    () => shoot.deleteSlices(service),
  ]);
};

/** Of all changes, those of planned Services. */
const PLANNED_SHARE = 0.25;

/** One lane for each shoot, a change every `pauseMs` at most. */
export const startChurn = (shoots: readonly ChurnedShoot[], random: Random, pauseMs = 100): Churn => {
  const ending = new AbortController();
  const { signal } = ending;
  let changes = 0;
  const lane = async ({ shoot, planned }: ChurnedShoot): Promise<void> => {
    while (!signal.aborted) {
      const change = random.next() < PLANNED_SHARE ? plannedChangeOf(planned, random) : changeOf(shoot, random);
      await change();
      changes += 1;
      await pause(pauseMs, undefined, { signal }).catch(() => undefined);
    }
  };
  const running = Promise.all(shoots.map(lane));
  running.catch(() => undefined);
  return {
    get changes() {
      return changes;
    },
    async stop() {
      ending.abort();
      await running;
    },
  };
};
