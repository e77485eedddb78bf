// Evacuates zones at random while other things break, whole and in part; half of them are ended, the others end by their time.
import { setTimeout as pause } from 'node:timers/promises';
import { ZONE_EVACUATIONS } from '../../pkg/apis/resources.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import type { Churn } from './chaos-churn.ts';
import type { Random } from './chaos-random.ts';
import { evacuationNamed } from './evacuations.ts';
import { persist } from './faults-world.ts';

/** The shortest that the definition takes. */
export const SHORTEST = '1m';

/** Several may run at once, of one zone or of all but the last; `changes` counts what was made. */
export const startEvacuations = (client: Client, zones: readonly string[], random: Random): Churn => {
  const ending = new AbortController();
  const { signal } = ending;
  let changes = 0;
  const evacuate = async (name: string): Promise<void> => {
    // Two zones at once are too much for the third, unless that is accepted.
    const force = random.next() < 0.5;
    const spec = { zone: random.pick(zones), duration: SHORTEST, percent: random.pick([100, 100, 50]), force };
    await persist(`evacuate ${spec.zone}`, (limit) =>
      client.create(ZONE_EVACUATIONS, evacuationNamed(name, spec), {}, limit),
    );
    changes += 1;
    await pause(random.between(2_000, 12_000), undefined, { signal }).catch(() => undefined);
    if (random.next() < 0.5)
      await persist(`return ${spec.zone}`, (limit) => client.delete(ZONE_EVACUATIONS, { name }, {}, limit));
  };
  const lane = async (): Promise<void> => {
    while (!signal.aborted) await evacuate(`chaos-${changes}`);
  };
  const running = lane();
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
