// Sums of an audit: over all Services, and over those with the same first cause.
// Orders of the Services of an audit.
import { byText, sumBy } from '../../apis/values.ts';
import type { Cause } from '../explain/reasons.ts';
import { AUDIT_GROUPS, type AuditGroup, type MonthlyCost, type Saving, type ServiceAudit } from './service.ts';

const byGroup = (a: { readonly group: AuditGroup }, b: { readonly group: AuditGroup }): number =>
  AUDIT_GROUPS.indexOf(a.group) - AUDIT_GROUPS.indexOf(b.group);

const savingOf = (services: readonly ServiceAudit[]): Saving => ({
  routing: sumBy(services, ({ saving, weight }) => (saving?.routing ?? 0) * weight),
  endpoints: sumBy(services, ({ saving, weight }) => (saving?.endpoints ?? 0) * weight),
});

const costOf = (services: readonly ServiceAudit[]): { monthlyCost?: MonthlyCost } => {
  if (services.every(({ monthlyCost }) => monthlyCost === undefined)) return {};
  const costs = services.flatMap(({ monthlyCost }) => monthlyCost ?? []);
  const savings = costs.flatMap(({ saving }) => saving ?? []);
  const measured = costs.some(({ saved }) => saved !== undefined);
  return {
    monthlyCost: {
      ...(measured ? { saved: sumBy(costs, ({ saved = 0 }) => saved) } : {}),
      current: sumBy(costs, ({ current }) => current),
      saving:
        savings.length === 0
          ? null
          : {
              routing: sumBy(savings, ({ routing }) => routing),
              endpoints: sumBy(savings, ({ endpoints }) => endpoints),
            },
    },
  };
};

const crossingOf = (services: readonly ServiceAudit[]): number =>
  sumBy(services, ({ crossZoneShare, weight }) => (crossZoneShare ?? 0) * weight);

const bypassedOf = (services: readonly ServiceAudit[]): Readonly<Record<string, number>> => {
  const names = services.flatMap(({ bypasses }) => bypasses).sort(byText);
  return Object.fromEntries([...Map.groupBy(names, (name) => name)].map(([name, own]) => [name, own.length]));
};

export const auditSum = (services: readonly ServiceAudit[], nodes: number, clientsBy: 'cpu' | 'nodes') => {
  const predicted = services.filter(({ crossZoneShare }) => crossZoneShare !== null);
  const promised = predicted.filter(({ saving }) => saving !== null);
  const crossZoneShare = predicted.length === 0 ? null : Math.min(1, crossingOf(predicted));
  const count = (verdict: ServiceAudit['verdict']): number =>
    services.filter((service) => service.verdict === verdict).length;
  return {
    services: services.length,
    verdicts: {
      Effective: count('Effective'),
      Assumed: count('Assumed'),
      Unknown: count('Unknown'),
      NotWanted: count('NotWanted'),
      Ineffective: count('Ineffective'),
    },
    /** How clients are taken to be spread, as in `simulate`: by the CPU of the Nodes, or alike on every Node where that is not known. */
    clientsBy,
    /** Services that clients bypass the proxies of, by the client's name; no saving is predicted of them. */
    bypassed: bypassedOf(services),
    /** Services without a prediction; they do not count below. */
    unpredicted: services.length - predicted.length,
    endpoints: sumBy(services, ({ endpoints }) => endpoints),
    nodes,
    /** Fractions of all connections, Services weighted by their ready endpoints; null where nothing is predicted. */
    inZoneShare: crossZoneShare === null ? null : 1 - crossZoneShare,
    crossZoneShare,
    /** Services of which a saving can be promised; null without any. */
    promised: promised.length,
    saving: promised.length === 0 ? null : savingOf(promised),
    // What was measured needs no prediction.
    ...costOf(services),
  };
};

export type AuditSum = ReturnType<typeof auditSum>;

type Caused = ServiceAudit & { readonly cause: Cause };

const groupOf = (services: readonly ServiceAudit[], { group, cause: { reason, remedy } }: Caused) => ({
  group,
  reason,
  services: services.length,
  /** Of all connections: those of these Services that cross zones; null where nothing is predicted of any of them. */
  crossZoneShare: services.every(({ crossZoneShare }) => crossZoneShare === null) ? null : crossingOf(services),
  /** Fractions of all connections; null where nothing is predicted or promised of any of them. */
  saving: services.every(({ saving }) => saving === null) ? null : savingOf(services),
  ...costOf(services),
  remedy,
});

/** Services of one group whose first cause is the same. */
export type CauseGroup = ReturnType<typeof groupOf>;

/** What fails comes first, then what crosses most, then what concerns most Services. */
export const causeGroups = (services: readonly ServiceAudit[]): CauseGroup[] => {
  const caused = services.filter((service): service is Caused => service.cause !== null);
  return [...Map.groupBy(caused, ({ group, cause }) => `${group} ${cause.reason}`).values()]
    .flatMap((own) => (own[0] === undefined ? [] : [groupOf(own, own[0])]))
    .sort(
      (a, b) =>
        byGroup(a, b) ||
        (b.crossZoneShare ?? 0) - (a.crossZoneShare ?? 0) ||
        b.services - a.services ||
        byText(a.reason, b.reason),
    );
};

type Order = (left: ServiceAudit, right: ServiceAudit) => number;

const byName: Order = (a, b) => byText(a.namespace, b.namespace) || byText(a.name, b.name);

const VERDICT_RANK = { Ineffective: 0, Unknown: 1, NotWanted: 2, Assumed: 3, Effective: 4 } as const satisfies Record<
  ServiceAudit['verdict'],
  number
>;
const byVerdict: Order = (a, b) => VERDICT_RANK[a.verdict] - VERDICT_RANK[b.verdict];

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
  monthlyCost?.saving?.routing ?? (saving?.routing ?? 0) * weight;

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
