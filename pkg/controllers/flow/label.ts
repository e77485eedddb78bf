// SPDX-License-Identifier: Apache-2.0
// The strategy label that a Service's annotation asks for, as far as it is the flow controller's to write.
import type { Service } from '../../apis/core.ts';
import { ANNOTATION_APPLIED, LABEL_STRATEGY } from '../../apis/names.ts';
import { parseApplied, planStrategyLabel, effectiveStrategy } from '../../routing/index.ts';
import type { SettingsPlan } from '../../routing/index.ts';
import { isPlannedStrategy } from '../../routing/strategy.ts';

const NOTHING: SettingsPlan = { kind: 'unchanged', foreign: [] };

/** Our label on the Service, which `applied` says is not its author's. */
const ownLabel = ({ metadata }: Service): string | undefined => {
  const { record } = parseApplied(metadata?.annotations?.[ANNOTATION_APPLIED]);
  return record.labels?.[LABEL_STRATEGY];
};

/** The Service as if its author had asked for nothing: what taking our label back is planned with. */
const withoutWish = (service: Service): Service => ({
  ...service,
  metadata: {
    ...service.metadata,
    annotations: { [ANNOTATION_APPLIED]: service.metadata?.annotations?.[ANNOTATION_APPLIED] ?? '' },
  },
});

/** Takes back a label of ours that asks for a plan; everything else stays. */
export const takeBackLabel = (service: Service): SettingsPlan =>
  isPlannedStrategy(ownLabel(service)) ? planStrategyLabel(withoutWish(service)) : NOTHING;

/**
 * Sets, follows or takes back the label of a Service that asks, or asked, for a plan. While its policy says `Observe` there is
 * no label of ours: with it admission would give hints.
 */
export const labelPlan = (service: Service, observeOnly: boolean): SettingsPlan => {
  if (!isPlannedStrategy(effectiveStrategy(service)) && !isPlannedStrategy(ownLabel(service))) return NOTHING;
  return observeOnly ? takeBackLabel(service) : planStrategyLabel(service);
};
