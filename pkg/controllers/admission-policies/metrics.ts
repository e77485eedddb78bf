// SPDX-License-Identifier: Apache-2.0
// Metrics of admission: the backend in use, the one that is awaited, and whether the planner is alive.
import type { LeaseWatch } from '../../kubernetes/lease-liveness.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { Backends } from './reconciler.ts';

const CARRIERS = ['webhook', 'policy'] as const;

export interface AdmissionState {
  readonly planner: Pick<LeaseWatch, 'alive' | 'known'>;
  /** Undefined until it is known. */
  backends(): Backends | undefined;
}

/** Gauges are computed when they are scraped. */
export const showAdmission = (metrics: Metrics, { planner, backends }: AdmissionState): void => {
  const byBackend = (name: string, help: string, which: (now: Backends) => string | undefined): void =>
    void metrics.gauge({
      name,
      help,
      labels: ['carrier'],
      collect(gauge) {
        gauge.reset();
        const now = backends();
        if (now === undefined) return;
        for (const carrier of CARRIERS) gauge.set({ carrier }, carrier === which(now) ? 1 : 0);
      },
    });
  metrics.gauge({
    name: 'planner_alive',
    help: '1 while the flow-controller renews its Lease; admission keeps plans only then. Absent until known.',
    collect(gauge) {
      if (planner.known()) gauge.set(planner.alive() ? 1 : 0);
      else gauge.remove();
    },
  });
  byBackend(
    'admission_carrier',
    'Admission backend in use: 1 for webhook or policy, 0 for the other. Absent until known.',
    ({ acting }) => acting,
  );
  byBackend(
    'admission_carrier_awaited',
    '1 for the admission backend that takes over once it is observed to act; the other one acts until then.',
    ({ awaited }) => awaited,
  );
};
