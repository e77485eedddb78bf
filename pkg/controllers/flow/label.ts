// The strategy label that a Service's annotation asks for, as far as it is the flow controller's to write, and how it is written.
import type { Service } from '../../apis/core.ts';
import { ANNOTATION_APPLIED, LABEL_STRATEGY } from '../../apis/names.ts';
import type { Client, Clock } from '../../kubernetes/types.ts';
import { parseApplied, planStrategyLabel, effectiveStrategy } from '../../routing/index.ts';
import type { SettingsPlan } from '../../routing/index.ts';
import { isPlannedStrategy, observeLabel, plannedByLabel } from '../../routing/strategy.ts';
import { createPlanGuard, writeService } from './apply.ts';

const NOTHING: SettingsPlan = { kind: 'unchanged', foreign: [] };

/** Our label on the Service, which `applied` says is not its author's. */
const ownLabel = ({ metadata }: Service): string | undefined => {
  const { record } = parseApplied(metadata?.annotations?.[ANNOTATION_APPLIED]);
  return record.labels?.[LABEL_STRATEGY];
};

/** The Service as if its author had asked for nothing: what removing our label is planned with. */
const withoutWish = (service: Service): Service => ({
  ...service,
  metadata: {
    ...service.metadata,
    annotations: { [ANNOTATION_APPLIED]: service.metadata?.annotations?.[ANNOTATION_APPLIED] ?? '' },
  },
});

/** Reverts the label that asks for a plan, if this project set it; everything else stays. */
export const revertLabel = (service: Service): SettingsPlan =>
  plannedByLabel(ownLabel(service)) === undefined ? NOTHING : planStrategyLabel(withoutWish(service));

/**
 * Sets or follows the label of a Service that asks for a plan, and reverts that of one that asked. While its policy says
 * `Observe` none is set; one that admission or the settings reconciler set, which know no policy, comes to say so too. With
 * the strategy's name admission would keep the hints of an earlier plan, and one that is only taken away they would set again.
 */
export const labelPlan = (service: Service, observeOnly: boolean): SettingsPlan => {
  const strategy = effectiveStrategy(service);
  if (!isPlannedStrategy(strategy)) return revertLabel(service);
  if (observeOnly && ownLabel(service) === undefined) return NOTHING;
  return planStrategyLabel(service, () => (observeOnly ? observeLabel(strategy) : strategy));
};

export interface LabelWriter {
  /** Carries the plan out, if it is not too early; resolves with when it is due again, milliseconds. */
  write(key: string, service: Service, plan: SettingsPlan, signal: AbortSignal): Promise<number | undefined>;
  /** The Service is gone, or no longer served. */
  forget(key: string): void;
}

const labelIn = ({ patch }: Extract<SettingsPlan, { kind: 'patch' }>): string => {
  const { labels } = (patch['metadata'] ?? {}) as { labels?: Readonly<Record<string, string | null>> };
  return labels?.[LABEL_STRATEGY] ?? '';
};

/** Writes the label less and less often where the Service's owner removes it each time. */
export const createLabelWriter = (client: Pick<Client, 'patch'>, clock: Pick<Clock, 'monotonic'>): LabelWriter => {
  const guard = createPlanGuard(clock);
  return {
    async write(key, service, plan, signal) {
      if (plan.kind === 'unchanged') {
        const label = service.metadata?.labels?.[LABEL_STRATEGY];
        if (label !== undefined) guard.confirmed(key, label);
        return undefined;
      }
      const label = labelIn(plan);
      const permit = guard.admit(key, label);
      if (permit.kind === 'wait') return permit.afterMs;
      if (await writeService(service, plan, client, signal)) guard.written(key, label);
      return undefined;
    },
    forget: (key) => guard.forget(key),
  };
};
