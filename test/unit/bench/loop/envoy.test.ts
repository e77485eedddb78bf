// The model of Envoy's rule beside a real Envoy 1.40.0 that was given the same: what each sends to every zone.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { envoyRule } from '../../../bench/loop/envoy.ts';
import type { Weights } from '../../../bench/loop/types.ts';

type Reports = Readonly<Record<'a' | 'b' | 'c', readonly number[]>>;
const hosts = (count: number, value: number): number[] => Array.from({ length: count }, () => value);
/** Three hosts in each zone; NaN: they report nothing. */
const three = (a: number, b: number, c: number): Reports => ({ a: hosts(3, a), b: hosts(3, b), c: hosts(3, c) });

/** Utilisation that every host reports with each answer, and the percentages that a caller in a then sent to a, b and c: 3,000 requests, so off by a point or so. */
const MEASURED: readonly (readonly [name: string, reports: Reports, percent: readonly number[]])[] = [
  ['the example of its documentation', { a: hosts(10, 0.7), b: hosts(10, 0.3), c: hosts(10, 0.4) }, [20.4, 40.7, 38.9]],
  ['a plant at rest', three(0.4, 0.27, 0.17), [27.4, 34.2, 38.4]],
  ['just within the threshold', three(0.31, 0.27, 0.17), [96.6, 1.9, 1.5]],
  ['just beyond the threshold', three(0.33, 0.27, 0.17), [30.6, 32.6, 36.8]],
  ['a full zone', three(1, 0.27, 0.17), [0, 46.3, 53.7]],
  ['more than full', three(1.4, 0.27, 0.17), [0, 46.2, 53.8]],
  ['a full zone, and others that nearly are', three(1, 0.95, 0.95), [96.9, 1.4, 1.7]],
  ['all nearly full', three(0.99, 0.99, 0.99), [97.5, 1.2, 1.3]],
  ['all full', three(1, 1, 1), [32.2, 33.5, 34.2]],
  ['all more than full', three(1.2, 1.1, 1.1), [35.2, 32.4, 32.3]],
  ['1, 3 and 5 hosts', { a: [0.6], b: hosts(3, 0.2), c: hosts(5, 0.3) }, [6.2, 38, 55.8]],
  ['no host in the own zone', { a: [], b: hosts(3, 0.5), c: hosts(3, 0.2) }, [0, 37.5, 62.5]],
  ['uneven hosts', { a: [0.9, 0.3, 0.3], b: hosts(3, 0.2), c: hosts(3, 0.2) }, [25.1, 37.1, 37.8]],
  ['a zone that never reports', three(0.6, 0.2, NaN), [18.3, 36.7, 45]],
  ['no reports at all', three(NaN, NaN, NaN), [97.3, 1.5, 1.3]],
  ['reports of 0', three(0.05, 0, 0), [96.8, 1.5, 1.6]],
];

/** The shares of the caller's requests by zone after so many seconds. */
const sharesAfter = (
  seconds: number,
  reportsAt: (second: number) => Reports,
  { expirySeconds, rate = 100 }: { expirySeconds?: number; rate?: number } = {},
): Record<string, number>[] => {
  const rule = envoyRule(expirySeconds)();
  return Array.from({ length: seconds }, (_, time) => {
    const endpoints = Object.entries(reportsAt(time)).flatMap(([zone, values]) =>
      values.map((value, index) => ({ name: `${zone}${index}`, zone, capacity: 1, value })),
    );
    const loads = new Map(endpoints.flatMap(({ name, value }) => (Number.isNaN(value) ? [] : [[name, value]])));
    const observation = { time, zones: ['a'], endpoints: [], window: 1 };
    const { weights } = rule({ observation, endpoints, loads, asked: { a: rate / 100 }, trueDemand: {} }) as Weights;
    const shares: Record<string, number> = { a: 0, b: 0, c: 0 };
    for (const [name, weight] of weights.get('a') ?? []) shares[name.charAt(0)]! += weight;
    return shares;
  });
};

const expectPercent = (shares: Record<string, number> | undefined, percent: readonly number[]): void =>
  ['a', 'b', 'c'].forEach((zone, index) =>
    expect(100 * (shares?.[zone] ?? NaN), `zone ${zone}`).to.be.closeTo(percent[index]!, 3.5),
  );

describe("the model of Envoy's load_aware_locality sends where a real Envoy 1.40.0 sent", () => {
  for (const [name, reports, percent] of MEASURED)
    it(name, () => expectPercent(sharesAfter(40, () => reports).at(-1), percent));

  it('a zone whose reports have expired, which counts by its hosts', () => {
    const shares = sharesAfter(40, (second) => three(0.8, 0.2, second < 4 ? 0.9 : NaN), { expirySeconds: 2 });
    expectPercent(shares.at(-1), [10.2, 38.6, 51.2]);
  });

  const leaves = (rate: number): number[] =>
    sharesAfter(60, (second) => three(0.6, second < 20 ? 0.6 : 0.1, second < 20 ? 0.6 : 0.1), { rate }).map(
      ({ a = 0 }) => 100 * (1 - a),
    );
  it('others that get free, within three seconds with 120 requests a second', () =>
    expect(leaves(120).findIndex((away) => away > 50) - 20).to.be.within(0, 3));
  it('others that get free, only after seven to ten seconds with ten requests a second: probes alone show it', () =>
    expect(leaves(10).findIndex((away) => away > 50) - 20).to.be.within(6, 11));
});
