// Orders of the Services of an audit.
import { byGroup } from './group.ts';
import type { ServiceAudit } from './types.ts';
import { byText } from '../../apis/order.ts';

type Order = (left: ServiceAudit, right: ServiceAudit) => number;

const byName: Order = (a, b) => byText(a.namespace, b.namespace) || byText(a.name, b.name);

const RANK = { Ineffective: 0, Unknown: 1, NotWanted: 2, Assumed: 3, Effective: 4 } as const satisfies Record<
  ServiceAudit['verdict'],
  number
>;
const byVerdict: Order = (a, b) => RANK[a.verdict] - RANK[b.verdict];

/** Most first; what is not known last. */
const most =
  (of: (service: ServiceAudit) => number | null | undefined): Order =>
  (a, b) => {
    const [left, right] = [of(a) ?? undefined, of(b) ?? undefined];
    if (left === right) return 0;
    if (left === undefined) return 1;
    return right === undefined ? -1 : right - left;
  };

const least =
  (of: (service: ServiceAudit) => number | null): Order =>
  (a, b) =>
    most((service) => {
      const value = of(service);
      return value === null ? null : -value;
    })(a, b);

/** What crosses of all connections or, where prices are known, what that costs. */
const crossing = ({ monthlyCost, crossZoneShare, weight }: ServiceAudit): number =>
  monthlyCost?.current ?? (crossZoneShare ?? 0) * weight;

const saved = ({ monthlyCost, saving, weight }: ServiceAudit): number =>
  monthlyCost?.saving.routing ?? (saving?.routing ?? 0) * weight;

/** Each begins with what deserves a look first; ties are broken by the next order, at last by name. */
const ORDERS = {
  worst: [byGroup, most(crossing), byVerdict],
  saving: [most(saved), most(crossing)],
  'cross-zone': [most(({ crossZoneShare }) => crossZoneShare), most(crossing)],
  'in-zone': [least(({ inZoneShare }) => inZoneShare), most(crossing)],
  overload: [most(({ worstOverload }) => worstOverload)],
  endpoints: [most(({ endpoints }) => endpoints)],
  zones: [least(({ zones }) => zones)],
  verdict: [byVerdict, most(crossing)],
  cause: [(a, b) => byText(a.cause?.reason ?? '\uFFFF', b.cause?.reason ?? '\uFFFF'), most(crossing)],
  name: [(a, b) => byText(a.name, b.name)],
  namespace: [],
} as const satisfies Readonly<Record<string, readonly Order[]>>;

export type SortKey = keyof typeof ORDERS;

export const SORT_KEYS = Object.keys(ORDERS) as readonly SortKey[];

export const sortServices = (services: readonly ServiceAudit[], key: SortKey): ServiceAudit[] => {
  const orders: readonly Order[] = [...ORDERS[key], byName];
  return [...services].sort((a, b) => {
    for (const order of orders) {
      const result = order(a, b);
      if (result !== 0) return result;
    }
    return 0;
  });
};
