// Lines and files of each room beside its goal, for those who add a feature; refuses nothing.
import { execFileSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

type Weight = readonly [lines: number, files: number];

/**
 * Goals by folder: lines and files, of which 0 is no goal. What was decided since the first ones: `pkg/hints` gives endpoints that are not ready
 * hints for no client (63), `pkg/evacuation` the same, and the release of what this project wrote on a slice (66); ports are hardened in
 * `pkg/telemetry` (47); in `pkg/traffic` namespaces have fair shares of series and claims outlive their objects (267), the judge of connections stays
 * beside the meter (107), and connections past Services are counted (81). The two controllers and the webhook have one goal together, 1,240.
 */
const GOALS: Readonly<Record<string, Weight>> = {
  'cmd/kubectl-topology': [4_050, 35],
  'cmd/settings-reconciler': [400, 3],
  'cmd/flow-controller': [290, 3],
  'cmd/endpointslice-webhook': [550, 3],
  'cmd/traffic-meter': [800, 6],
  'cmd/shared': [440, 3],
  'pkg/apis': [2_600, 22],
  'pkg/controllers': [6_500, 45],
  'pkg/diagnosis': [8_250, 45],
  'pkg/evacuation': [890, 6],
  'pkg/flow': [4_750, 30],
  'pkg/gardener': [1_090, 9],
  'pkg/hints': [440, 5],
  'pkg/installation': [276, 3],
  'pkg/kubeedge': [400, 4],
  'pkg/kubernetes': [4_560, 28],
  'pkg/metrics': [1_480, 8],
  'pkg/report': [2_250, 16],
  'pkg/routing': [1_220, 10],
  'pkg/telemetry': [790, 7],
  'pkg/traffic': [1_600, 9],
  'pkg/upstream': [1_650, 14],
  'pkg/webhook': [2_540, 18],
};
const PRODUCT: Weight = [49_000, 400];
const TESTS: Weight = [105_000, 0];
const ALL_FILES = 1_550;

const linesOf = (path: string): number => readFileSync(path, 'utf8').split('\n').length - 1;

const row = (room: string, [lines, files]: Weight, [goal, goalFiles]: Weight): string => {
  const over = lines > goal || (goalFiles > 0 && files > goalFiles) ? '  over' : '';
  const counts = [lines, goal, files, goalFiles].map((count) => String(count || '').padStart(8)).join('');
  return `${room.padEnd(28)}${counts}${over}`;
};

/** A table of all rooms; `git ls-files` says what counts, as `git ls-files cmd pkg | grep '\.ts$' | xargs cat | wc -l` does. */
export const roomsTable = (root: string): string[] => {
  const listed = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8', maxBuffer: 1 << 26 }).split('\n');
  const paths = listed.filter((path) => path !== '' && statSync(join(root, path), { throwIfNoEntry: false })?.isFile());
  const weigh = (belongs: (path: string) => boolean): Weight => {
    const own = paths.filter(belongs);
    return [own.reduce((sum, path) => sum + linesOf(join(root, path)), 0), own.length];
  };
  const isProduct = (path: string) => /^(?:cmd|pkg)\/.*\.ts$/.test(path);
  return [
    `${'room'.padEnd(28)}${['lines', 'goal', 'files', 'goal'].map((title) => title.padStart(8)).join('')}`,
    ...Object.entries(GOALS).map(([room, goal]) =>
      row(
        room,
        weigh((path) => isProduct(path) && path.startsWith(`${room}/`)),
        goal,
      ),
    ),
    row('product', weigh(isProduct), PRODUCT),
    row(
      'tests, with their data',
      weigh((path) => path.startsWith('test/')),
      TESTS,
    ),
    row('all files', [0, paths.length], [0, ALL_FILES]),
  ];
};
