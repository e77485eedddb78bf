// Measured traffic of one Service beside its explanation: the audit of it alone.
import type { Service } from '../../apis/core.ts';
import type { Measured } from '../../traffic/measured.ts';
import { audit } from './audit.ts';
import type { MonthlyCost } from './types.ts';
import type { ExplainOptions } from '../explain/types.ts';
import type { Tariff } from '../prices.ts';
import { known } from '../snapshot.ts';
import type { ClusterSnapshot } from '../snapshot.ts';
import type { MeasuredService } from '../measured/cost.ts';

export interface ExplainedTraffic extends MeasuredService, Pick<Measured, 'by' | 'seconds' | 'notes'> {
  readonly monthlyCost: MonthlyCost;
  readonly prices: { readonly currency: string; readonly source: string; readonly date: string };
}

export const explainTraffic = (
  snapshot: ClusterSnapshot,
  service: Service,
  options: ExplainOptions,
  bill: { readonly tariff: Tariff; readonly measured: Measured },
): ExplainedTraffic | undefined => {
  const [only] = audit({ ...snapshot, services: known([service]) }, { ...options, bill }).services;
  if (only?.measured === undefined || only.monthlyCost === undefined) return undefined;
  const { by, seconds, notes } = bill.measured;
  const { currency, source, date } = bill.tariff.table;
  return { by, seconds, notes, ...only.measured, monthlyCost: only.monthlyCost, prices: { currency, source, date } };
};
