// SPDX-License-Identifier: Apache-2.0
// What clients measure of a zone that is evacuated, compared with the other zones: the condition that says so.
import type { ZoneEvacuationCondition } from '../apis/zone-evacuation.ts';

export type Unit = 'None' | 'PerSecond' | 'Ratio' | 'Seconds';

/** What one query came to. */
export interface Measurement {
  readonly name: string;
  readonly unit: Unit;
  /** By zone of the servers, 0 or more; or why there is none. */
  readonly found: ReadonlyMap<string, number> | { readonly failure: string };
}

/** New connections a second, as the meters count them; or why they cannot be read. */
export type Arrivals = { readonly text: string } | { readonly failure: string };

export type MeasuredCondition = Pick<ZoneEvacuationCondition, 'status' | 'reason' | 'message'>;

const DIGITS = 2;
const PERCENT = 100;
const MILLI = 1_000;

/** Two digits, so that noise alone writes no status. */
const round = (value: number): string => String(Number(value.toPrecision(DIGITS)));

const seconds = (value: number): string => (value < 1 ? `${round(value * MILLI)} ms` : `${round(value)} s`);

const TEXT: Readonly<Record<Unit, (value: number) => string>> = {
  None: round,
  PerSecond: (value) => `${round(value)} a second`,
  Ratio: (value) => `${round(value * PERCENT)} %`,
  Seconds: seconds,
};

/** The other zone with the highest value. */
const worstElsewhere = (found: ReadonlyMap<string, number>, zone: string): readonly [string, number] | undefined =>
  [...found].filter(([name]) => name !== zone).sort(([a, one], [b, other]) => other - one || (a < b ? -1 : 1))[0];

const sentenceOf = ({ name, unit, found }: Measurement, zone: string): string => {
  if ('failure' in found) return `${name}: ${found.failure}`;
  const text = TEXT[unit];
  const here = found.get(zone);
  const worst = worstElsewhere(found, zone);
  const elsewhere = worst === undefined ? 'no sample elsewhere' : `at most ${text(worst[1])} elsewhere (${worst[0]})`;
  return `${name}: ${here === undefined ? `no sample of ${zone}` : `${text(here)} in ${zone}`}, ${elsewhere}`;
};

/** `True`: something could be read; what it is stands in the message. Never whether it is good. */
export const measuredCondition = (
  zone: string,
  measurements: readonly Measurement[],
  arrivals: Arrivals | undefined,
): MeasuredCondition => {
  const read =
    measurements.some(({ found }) => !('failure' in found)) || (arrivals !== undefined && 'text' in arrivals);
  const sentences = [
    ...measurements.map((one) => sentenceOf(one, zone)),
    ...(arrivals === undefined ? [] : ['text' in arrivals ? arrivals.text : `traffic-meters: ${arrivals.failure}`]),
  ];
  return {
    status: read ? 'True' : 'Unknown',
    reason: read ? 'Measured' : 'CannotMeasure',
    message: sentences.join('; '),
  };
};
