// Texts that are nothing but values, as long as each reader takes them, to the other targets: in the heap that their thread has.
import { readMeter } from '../../../pkg/traffic/meter-reading.ts';
import type { Random } from '../../e2e/chaos-faults.ts';
import type { OpenTarget, Target } from '../types.ts';
import { admission } from './admission.ts';
import { lists } from './lists.ts';
import { load } from './load.ts';

/** What is said again and again, by its place; few bytes that become many. */
const UNITS: readonly ((index: number) => string)[] = [
  () => '{},',
  () => '[],',
  () => '[[]],',
  () => '[',
  () => '{"":',
  () => '"",',
  () => '0,',
  (index) => `{"${index.toString(36)}":0},`,
  (index) => `"${index.toString(36)}":0,`,
  () => '\n\n',
  () => 'topology_traffic_state 1\n',
  (index) => `topology_traffic_state{a${index}="",b="",c="",d=""} 1\n`,
];

/** Where it is said: what readers look for comes first. */
const FRAMES: readonly (readonly [string, string])[] = [
  ['', ''],
  ['[', '0]'],
  ['{', '"":0}'],
  ['{"request":{"object":[', '0]}}'],
  ['{"status":"success","data":{"resultType":"vector","result":[', '0]}}'],
  ['{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[', '{}]}'],
];

const LENGTHS = [1_000, 50_000, 500_000, 1_000_000, 7_300_000];

const textOf = (random: Random): Buffer => {
  const unit = random.pick(UNITS);
  const [before, after] = random.pick(FRAMES);
  const length = random.pick(LENGTHS);
  const parts: Buffer[] = [Buffer.from(before)];
  for (let index = 0, bytes = 0; bytes < length; bytes += parts.at(-1)?.length ?? 0) {
    const block = Array.from({ length: 1_000 }, () => unit((index += 1)));
    parts.push(Buffer.from(block.join('')));
  }
  return Buffer.concat([...parts, Buffer.from(after)]);
};

const meters: Target = {
  name: 'meters',
  bytes: false,
  open: async () => ({ samples: [], run: ({ text }) => void readMeter('node', text.toString('utf8')) }),
};

/** Those whose texts come over the network, with the sample that says how they are read. */
const READERS: readonly (readonly [Target, string])[] = [
  [admission, ''],
  [load, 'Pods'],
  [load, 'PodMetricsList'],
  [lists, 'list'],
  [meters, ''],
];

export const memory: Target = {
  name: 'memory',
  bytes: false,
  async open(folder) {
    const opened = new Map<Target, OpenTarget>();
    for (const [target] of READERS) if (!opened.has(target)) opened.set(target, await target.open(folder));
    return {
      samples: [{ name: 'hostile', value: {} }],
      run: async (input) => {
        const [target, sample] = input.random.pick(READERS);
        await opened.get(target)?.run({ ...input, sample, text: textOf(input.random) });
      },
      async close() {
        for (const target of opened.values()) await target.close?.();
      },
    };
  },
};
