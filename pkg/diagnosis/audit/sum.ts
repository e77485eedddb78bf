// Sums of an audit, over all Services and over those with the same first cause, and the orders of both.
import { countBy, sumBy, tally } from '../../apis/values.ts';
import type { Cause } from '../explain/reasons.ts';
import { AUDIT_GROUPS, isEffectiveInPart, isMeasuredPast } from './service.ts';
import type { AuditGroup, MonthlyCost, Saving, ServiceAudit } from './service.ts';

const savingOf = (services: readonly ServiceAudit[]): Saving => ({
  routing: sumBy(services, ({ saving, weight }) => (saving?.routing ?? 0) * weight),
  endpoints: sumBy(services, ({ saving, weight }) => (saving?.endpoints ?? 0) * weight),
});

const costOf = (services: readonly ServiceAudit[]): { monthlyCost?: MonthlyCost } => {
  const costs = services.flatMap(({ monthlyCost }) => monthlyCost ?? []);
  if (costs.length === 0) return {};
  const savings = costs.flatMap(({ saving }) => saving ?? []);
  const sumOf = (part: keyof Saving): number => sumBy(savings, (saving) => saving[part]);
  return {
    monthlyCost: {
      ...(costs.some(({ saved }) => saved !== undefined) ? { saved: sumBy(costs, ({ saved = 0 }) => saved) } : {}),
      current: sumBy(costs, ({ current }) => current),
      saving: savings.length === 0 ? null : { routing: sumOf('routing'), endpoints: sumOf('endpoints') },
    },
  };
};

const crossingOf = (services: readonly ServiceAudit[]): number =>
  sumBy(services, ({ crossZoneShare, weight }) => (crossZoneShare ?? 0) * weight);

/** Of all connections: those from or to what has no zone. */
const unplaced = ({ inZoneShare, crossZoneShare, weight }: ServiceAudit): number =>
  (1 - (inZoneShare ?? 0) - (crossZoneShare ?? 0)) * weight;

export const auditSum = (services: readonly ServiceAudit[], nodes: number, clientsBy: 'cpu' | 'nodes') => {
  const predicted = services.filter(({ crossZoneShare }) => crossZoneShare !== null);
  const verdicts = services.map(({ verdict }) => verdict);
  const bypassing = services.flatMap(({ bypasses }) => bypasses);
  const promised = predicted.filter(({ saving }) => saving !== null);
  const crossZoneShare = predicted.length === 0 ? null : Math.min(1, crossingOf(predicted));
  return {
    services: services.length,
    verdicts: tally(['Effective', 'Assumed', 'Unknown', 'NotWanted', 'Ineffective'], verdicts),
    /** Of the effective ones (if the router is as assumed): those whose cluster IP a client is known to go around. */
    effectiveInPart: services.filter(isEffectiveInPart).length,
    /** How clients are taken to be spread, as in `simulate`: by the CPU of the Nodes, or alike on every Node where that is not known. */
    clientsBy,
    /** Services that clients bypass the proxies of, by the client's name; no saving is predicted of them. */
    bypassed: Object.fromEntries(countBy(bypassing, (client) => client)),
    /** Services without a prediction; they do not count below. */
    unpredicted: services.length - predicted.length,
    endpoints: sumBy(services, ({ endpoints }) => endpoints),
    nodes,
    /** Fractions of all connections, Services weighted by their ready endpoints; null where nothing is predicted. */
    inZoneShare: crossZoneShare === null ? null : 1 - crossZoneShare - sumBy(predicted, unplaced),
    /** The rest goes from or to what has no zone, and may cross or not. */
    crossZoneShare,
    /** Services of which a saving can be promised; null without any. */
    promised: promised.length,
    /** Of these, Services of which only the share counts that meters saw go through the cluster IP. */
    promisedInPart: promised.filter(isMeasuredPast).length,
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

/** What a list is sorted by: least first, what is not known last. */
type Key<T> = (item: T) => number | string;

const compareBy =
  <T>(keys: readonly Key<T>[]) =>
  (a: T, b: T): number => {
    for (const key of keys) {
      const [left, right] = [key(a), key(b)];
      if (left !== right) return left < right ? -1 : 1;
    }
    return 0;
  };

/** Most first; what is not known still last. */
const most =
  <T>(of: (item: T) => number | null): Key<T> =>
  (item) =>
    -(of(item) ?? -Infinity);

const byGroup = ({ group }: { readonly group: AuditGroup }): number => AUDIT_GROUPS.indexOf(group);

const byShare = most<CauseGroup>(({ crossZoneShare }) => crossZoneShare ?? 0);

/** What fails comes first, then what crosses most, then what concerns most Services. */
export const causeGroups = (services: readonly ServiceAudit[]): CauseGroup[] => {
  const caused = services.filter((service): service is Caused => service.cause !== null);
  return [...Map.groupBy(caused, ({ group, cause }) => `${group} ${cause.reason}`).values()]
    .flatMap((own) => (own[0] === undefined ? [] : [groupOf(own, own[0])]))
    .sort(compareBy<CauseGroup>([byGroup, byShare, most((cause) => cause.services), ({ reason }) => reason]));
};

const VERDICTS: readonly ServiceAudit['verdict'][] = ['Ineffective', 'Unknown', 'NotWanted', 'Assumed', 'Effective'];
const byVerdict: Key<ServiceAudit> = ({ verdict }) => VERDICTS.indexOf(verdict);

/** What crosses of all connections or, where prices are known, what that costs. */
const crossing = most<ServiceAudit>((own) => own.monthlyCost?.current ?? (own.crossZoneShare ?? 0) * own.weight);

const saved = most<ServiceAudit>((own) => own.monthlyCost?.saving?.routing ?? (own.saving?.routing ?? 0) * own.weight);

/** Each begins with what deserves a look first; ties are broken by the next key, at last by name. */
const ORDERS = {
  worst: [byGroup, crossing, byVerdict],
  saving: [saved, crossing],
  'cross-zone': [most(({ crossZoneShare }) => crossZoneShare), crossing],
  'in-zone': [({ inZoneShare }) => inZoneShare ?? Infinity, crossing],
  overload: [most(({ worstOverload }) => worstOverload)],
  endpoints: [most(({ endpoints }) => endpoints)],
  zones: [({ zones }) => zones],
  verdict: [byVerdict, crossing],
  cause: [({ cause }) => cause?.reason ?? '~', crossing],
  name: [({ name }) => name],
  namespace: [],
} as const satisfies Readonly<Record<string, readonly Key<ServiceAudit>[]>>;

export type SortKey = keyof typeof ORDERS;

export const SORT_KEYS = Object.keys(ORDERS) as readonly SortKey[];

export const sortServices = (services: readonly ServiceAudit[], key: SortKey): ServiceAudit[] =>
  [...services].sort(compareBy<ServiceAudit>([...ORDERS[key], ({ namespace }) => namespace, ({ name }) => name]));
