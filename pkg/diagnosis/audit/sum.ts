// Sums of an audit: over all Services, and over those with the same first cause.
import { sumBy } from '../../apis/sum.ts';
import type { Cause } from '../explain/types.ts';
import { byGroup } from './group.ts';
import type { AuditSum, CauseGroup, MonthlyCost, Saving, ServiceAudit } from './types.ts';
import { byText } from '../../apis/order.ts';

const savingOf = (services: readonly ServiceAudit[]): Saving => ({
  routing: sumBy(services, ({ saving, weight }) => (saving?.routing ?? 0) * weight),
  endpoints: sumBy(services, ({ saving, weight }) => (saving?.endpoints ?? 0) * weight),
});

const costOf = (services: readonly ServiceAudit[]): { monthlyCost?: MonthlyCost } => {
  if (services.every(({ monthlyCost }) => monthlyCost === undefined)) return {};
  const measured = services.some(({ monthlyCost }) => monthlyCost?.saved !== undefined);
  return {
    monthlyCost: {
      ...(measured ? { saved: sumBy(services, ({ monthlyCost }) => monthlyCost?.saved ?? 0) } : {}),
      current: sumBy(services, ({ monthlyCost }) => monthlyCost?.current ?? 0),
      saving: {
        routing: sumBy(services, ({ monthlyCost }) => monthlyCost?.saving.routing ?? 0),
        endpoints: sumBy(services, ({ monthlyCost }) => monthlyCost?.saving.endpoints ?? 0),
      },
    },
  };
};

const crossingOf = (services: readonly ServiceAudit[]): number =>
  sumBy(services, ({ crossZoneShare, weight }) => (crossZoneShare ?? 0) * weight);

const bypassedOf = (services: readonly ServiceAudit[]): AuditSum['bypassed'] => {
  const names = services.flatMap(({ bypasses }) => bypasses).sort(byText);
  return Object.fromEntries([...Map.groupBy(names, (name) => name)].map(([name, own]) => [name, own.length]));
};

export const auditSum = (
  services: readonly ServiceAudit[],
  nodes: number,
  clientsBy: AuditSum['clientsBy'],
): AuditSum => {
  const predicted = services.filter(({ crossZoneShare }) => crossZoneShare !== null);
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
    clientsBy,
    bypassed: bypassedOf(services),
    unpredicted: services.length - predicted.length,
    endpoints: sumBy(services, ({ endpoints }) => endpoints),
    nodes,
    inZoneShare: crossZoneShare === null ? null : 1 - crossZoneShare,
    crossZoneShare,
    saving: savingOf(predicted),
    // What was measured needs no prediction.
    ...costOf(services),
  };
};

type Caused = ServiceAudit & { readonly cause: Cause };

const groupOf = (services: readonly ServiceAudit[], { group, cause: { reason, remedy } }: Caused): CauseGroup => ({
  group,
  reason,
  services: services.length,
  crossZoneShare: services.every(({ crossZoneShare }) => crossZoneShare === null) ? null : crossingOf(services),
  saving: services.every(({ saving }) => saving === null) ? null : savingOf(services),
  ...costOf(services),
  remedy,
});

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
