// The demo's act about a sick zone: one command moves new connections away from it, another brings them back.
import { setTimeout as pause } from 'node:timers/promises';
import { runTopology } from '../fixtures/topology-command.ts';
import * as screen from './screen.ts';
import { type ServiceRow, slicesAsText, takeSnapshot } from './snapshot.ts';
import type { Stage } from './stage.ts';
import type { Step } from './story.ts';
import { until } from './until.ts';
import { ZONES } from './world.ts';

/** The zone that gets sick. */
const [SICK] = ZONES;
/** Whose rows are shown; what moved elsewhere is counted. */
const SHOWN = 'shoot--demo--zonal';

const goesThere = ({ zoneShares: [share = 0] }: ServiceRow): boolean => share > 0;

/** All its endpoints are in the zone, so there is nowhere to move to: an evacuation leaves it as it is. */
const goesOnlyThere = ({ zoneShares: [share = 0] }: ServiceRow): boolean => share > 1 - 1e-6;

const nameOf = ({ namespace, name }: ServiceRow): string => `${namespace}/${name}`;

/** Proxies up to 1.30 follow hints only where the Service has an annotation. */
const follows = ({ settings }: ServiceRow, minor: number): boolean => minor >= 31 || settings !== '–';

const show = (rows: readonly ServiceRow[], changed: ReadonlySet<string>): void =>
  screen.grid(
    ['NAMESPACE', 'SERVICE', ...ZONES.map((zone) => `TO ${zone}`)],
    rows
      .filter(({ namespace }) => namespace === SHOWN)
      .map((row) => ({
        changed: changed.has(nameOf(row)),
        cells: [row.namespace, row.name, ...row.zoneShares.map(screen.percent)],
      })),
  );

/** Looks again and again while `work` goes on; `judge` names what must never be seen. */
const watchWhile = async <T>(
  stage: Stage,
  work: Promise<T>,
  judge: (row: ServiceRow) => boolean,
): Promise<{ result: T; seen: string[]; looks: number }> => {
  const over = new AbortController();
  const seen = new Set<string>();
  let looks = 0;
  const look = async (): Promise<void> => {
    while (!over.signal.aborted) {
      for (const row of await takeSnapshot(stage.cluster.client, stage.minor)) if (judge(row)) seen.add(nameOf(row));
      looks += 1;
      await pause(100);
    }
  };
  const looking = look();
  try {
    return { result: await work, seen: [...seen], looks };
  } finally {
    over.abort();
    await looking;
  }
};

const hasNowhereToGo = ({ zoneShares }: ServiceRow): boolean =>
  Math.abs(zoneShares.reduce((sum, share) => sum + share, 0) - 1) > 1e-6;

export const evacuated: Step = {
  title: `Zone ${SICK} gets lossy; the operator types: kubectl topology evacuate ${SICK} --for 10m, and later: return ${SICK}`,
  run: async (stage) => {
    const { client } = stage.cluster;
    const kubeconfig = await stage.cluster.kubeconfig('operator', ['system:masters']);
    const topology = async (...words: string[]): Promise<string> => {
      const { code, out, err } = await runTopology([...words, '--kubeconfig', kubeconfig], { now: () => Date.now() });
      if (code !== 0) throw new Error(`${words.join(' ')}: exit code ${code}\n${out}${err}`);
      return out;
    };
    const slices = await slicesAsText(client);
    const before = await takeSnapshot(client, stage.minor);

    const moving = watchWhile(stage, topology('evacuate', SICK, '--for', '10m'), hasNowhereToGo);
    const { result, seen, looks } = await moving;
    if (seen.length > 0) throw new Error(`without usable endpoints for a moment: ${seen.join(', ')}`);
    const rows = await takeSnapshot(client, stage.minor);
    const stuck = new Set(before.filter(goesOnlyThere).map(nameOf));
    const staying = rows.filter((row) => goesThere(row) && !stuck.has(nameOf(row)));
    const wrong = staying.find((row) => follows(row, stage.minor));
    if (wrong !== undefined)
      throw new Error(`${nameOf(wrong)} still sends ${screen.percent(wrong.zoneShares[0] ?? 0)} there`);
    const moved = before.filter(
      (row) => goesThere(row) && !rows.some((now) => nameOf(now) === nameOf(row) && goesThere(now)),
    );
    show(rows, new Set(moved.map(nameOf)));
    screen.fact(result.split('\n').find((line) => line.startsWith('Evacuated')) ?? result);
    screen.good(
      `${moved.length} Services send no new connection to ${SICK}; in ${looks} looks meanwhile each had endpoints`,
    );
    if (stuck.size > 0) screen.fact(`${stuck.size} Services have no endpoint in another zone and stay`);
    if (staying.length > 0)
      screen.fact(
        `The proxies of this version follow hints by annotation only: ${staying.length} Services without it stay`,
      );

    await topology('return', SICK);
    await until('every slice is what it was', async () => {
      const now = await slicesAsText(client);
      const different = Object.keys(slices).find((key) => now[key] !== slices[key]);
      return different === undefined || `${different} is ${now[different]}, was ${slices[different]}`;
    });
    screen.good('returned: labels, annotations and hints of every slice are what they were');
  },
};
