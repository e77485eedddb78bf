// New connections that endpoints of a zone still get, as the traffic-meters count them while it is evacuated.
import { sumBy } from '../apis/sum.ts';
import { connectionsOf, isOfService } from './measured.ts';
import type { Measured } from './measured.ts';

/** A second, over so many seconds. */
export interface StillSeen {
  readonly seconds: number;
  readonly throughServices: number;
  /** By address, or to Services that the meters do not know: hints decide nothing of it. */
  readonly pastServices: number;
}

export const stillSeen = ({ flows, seconds }: Measured, zone: string): StillSeen => {
  const there = flows.filter(({ destination }) => destination === zone);
  return {
    seconds,
    throughServices: sumBy(there.filter(isOfService), connectionsOf),
    pastServices: sumBy(
      there.filter((flow) => !isOfService(flow)),
      connectionsOf,
    ),
  };
};

const rate = (value: number): string => (value === 0 || value >= 10 ? String(Math.round(value)) : value.toFixed(1));

export const stillSeenText = ({ throughServices, pastServices, seconds }: StillSeen, zone: string): string =>
  `new connections to ${zone}: ${rate(throughServices)} a second through Services, ${rate(pastServices)} past them (measured over ${Math.round(seconds)} s)`;
