// SPDX-License-Identifier: Apache-2.0
// Writes the strategy label of a Service, less and less often where its owner takes it away each time.
import type { Service } from '../../apis/core.ts';
import { LABEL_STRATEGY } from '../../apis/names.ts';
import type { Client, Clock } from '../../kubernetes/types.ts';
import type { SettingsPlan } from '../../routing/index.ts';
import { createPlanGuard, writeService } from './apply.ts';

export interface LabelWriter {
  /** Carries the plan out, if it is not too early; resolves with when it is due again, milliseconds. */
  write(key: string, service: Service, plan: SettingsPlan, signal: AbortSignal): Promise<number | undefined>;
  /** The Service is gone, or no longer ours. */
  forget(key: string): void;
}

const labelIn = ({ patch }: Extract<SettingsPlan, { kind: 'patch' }>): string => {
  const { labels } = (patch['metadata'] ?? {}) as { labels?: Readonly<Record<string, string | null>> };
  return labels?.[LABEL_STRATEGY] ?? '';
};

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
