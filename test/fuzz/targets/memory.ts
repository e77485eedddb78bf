// Texts that are nothing but values, as long as each reader takes them, to the other targets: in the heap that their thread has.
import fc from 'fast-check';
import { readMeter } from '../../../pkg/traffic/meter-reading.ts';
import type { OpenTarget, Target } from '../types.ts';
import { target as admission } from './admission.ts';
import { target as lists } from './lists.ts';
import { target as load } from './load.ts';

/** What is said again and again, by its place; few bytes that become many. */
const UNITS: readonly ((index: number) => string)[] = [
  ...['{},', '[],', '[[]],', '[', '{"":', '"",', '0,', '\n\n', 'topology_traffic_state 1\n'].map((text) => () => text),
  (index) => `{"${index.toString(36)}":0},`,
  (index) => `"${index.toString(36)}":0,`,
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

const texts = fc
  .tuple(fc.constantFrom(...UNITS), fc.constantFrom(...FRAMES), fc.constantFrom(...LENGTHS))
  .map(([unit, [before, after], length]) => {
    const parts: Buffer[] = [Buffer.from(before)];
    for (let index = 0, bytes = 0; bytes < length; bytes += parts.at(-1)?.length ?? 0) {
      const block = Array.from({ length: 1_000 }, () => unit((index += 1)));
      parts.push(Buffer.from(block.join('')));
    }
    return Buffer.concat([...parts, Buffer.from(after)]);
  });

const meters: OpenTarget = { samples: [], run: ({ text }) => void readMeter('node', text.toString('utf8')) };

export const target: Target = {
  bytes: false,
  async open(folder) {
    const [reviews, loads, listing] = await Promise.all([admission, load, lists].map(async (one) => one.open(folder)));
    /** Those whose texts come over the network, with the sample that says how they are read. */
    const readers = [
      [reviews, ''],
      [loads, 'Pods'],
      [loads, 'PodMetricsList'],
      [listing, 'list'],
      [meters, ''],
    ] as const;
    return {
      samples: [],
      texts,
      async run(input) {
        const [reader, sample] = input.random.pick(readers);
        await reader?.run({ ...input, sample });
      },
      async close() {
        for (const opened of [reviews, loads, listing]) await opened?.close?.();
      },
    };
  },
};
