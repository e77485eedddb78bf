// The program that plays the Pods and the clients of one node inside its namespace, and reports every second.
import { randomOf } from '../bench/loop/random.ts';
import { type TrafficMessage, type TrafficRequest, type TrafficTask, createLedger } from './closed-loop-ledger.ts';
import { type Clients, type ServedPod, createClients, servePod } from './closed-loop-traffic.ts';

const [zone = '', seed = '1'] = process.argv.slice(2);
/** Half of a second's requests may still wait in queues when it ends: a second is given out this much later. */
const REPORT_DELAY_MS = 50;
const INTERVAL_MS = 100;

/** Never goes back, unlike the clock of the machine. */
const now = (): number => performance.timeOrigin + performance.now();
const tell = (message: TrafficMessage): void => void process.send?.(message);

const ledger = createLedger(zone, now());
const random = randomOf(Number(seed));
const pods = new Map<string, ServedPod>();
const clients = new Map<string, Clients>();
let slowMs = 0;

const perform = async (task: TrafficTask): Promise<void> => {
  if (task.task === 'serve') {
    pods.set(task.pod, await servePod(task, zone, ledger, now, () => slowMs));
  } else if (task.task === 'slow') {
    slowMs = task.ms;
  } else if (task.task === 'end') {
    await pods.get(task.pod)?.end();
    pods.delete(task.pod);
  } else {
    const known = clients.get(task.service);
    if (known === undefined) clients.set(task.service, createClients(task, { ledger, now, random }));
    else known.set(task);
  }
};

process.on('message', ({ id, task }: TrafficRequest) => {
  perform(task).then(
    () => tell({ id }),
    (error: unknown) => tell({ id, error: error instanceof Error ? error.message : String(error) }),
  );
});
let due = now() + INTERVAL_MS;
setInterval(() => {
  ledger.late(now(), Math.max(0, now() - due));
  due = now() + INTERVAL_MS;
  for (const report of ledger.complete(now() - REPORT_DELAY_MS)) tell({ report });
  const served = Object.fromEntries([...pods].map(([name, { total }]) => [name, total]));
  const asked: Record<string, Record<string, number>> = {};
  for (const pod of pods.values())
    for (const [address, count] of Object.entries(pod.asked)) {
      const counts = (asked[pod.service] ??= {});
      counts[address] = (counts[address] ?? 0) + count;
    }
  tell({ totals: { zone, served, asked } });
}, INTERVAL_MS);
// The channel closes when the owner ends in whatever way: no traffic outlives it.
process.on('disconnect', () => process.exit(0));
