// How many endpoints each zone lends to others so that every zone comes close to what it should have.
import type { ZoneAllocation } from './allocation.ts';
import { byText } from '../../apis/order.ts';

/** Whole endpoints by zone. */
export interface Lending {
  readonly give: ReadonlyMap<string, number>;
  readonly receive: ReadonlyMap<string, number>;
}

const WHOLE = 1;
const WORTHWHILE = 0.5;

/** Largest value above zero; ties, random in the original, go to the first name. */
const largest = (values: ReadonlyMap<string, number>): string | undefined => {
  let best: string | undefined;
  for (const zone of [...values.keys()].sort(byText)) {
    const value = values.get(zone) ?? 0;
    if (value > 0 && (best === undefined || value > (values.get(best) ?? 0))) best = zone;
  }
  return best;
};

const add = (map: Map<string, number>, zone: string, amount: number): void =>
  void map.set(zone, (map.get(zone) ?? 0) + amount);

/** `counts` are hinted endpoints by zone so far; zones without allocation neither give nor receive. */
export const planLending = (
  zones: ReadonlyMap<string, Pick<ZoneAllocation, 'desired'>>,
  counts: ReadonlyMap<string, number>,
): Lending => {
  const surplus = new Map<string, number>();
  const demand = new Map<string, number>();
  for (const [zone, { desired }] of zones) {
    const count = counts.get(zone) ?? 0;
    if (count > desired) surplus.set(zone, count - desired);
    if (count < desired) demand.set(zone, desired - count);
  }
  const give = new Map<string, number>();
  const receive = new Map<string, number>();
  for (;;) {
    const [giver, taker] = [largest(surplus), largest(demand)];
    if (giver === undefined || taker === undefined) break;
    const [spare, wanted] = [surplus.get(giver) ?? 0, demand.get(taker) ?? 0];
    if ((spare < WHOLE && wanted < WHOLE) || spare < WORTHWHILE || wanted < WORTHWHILE) break;
    add(give, giver, 1);
    add(receive, taker, 1);
    add(surplus, giver, -1);
    add(demand, taker, -1);
  }
  return { give, receive };
};
