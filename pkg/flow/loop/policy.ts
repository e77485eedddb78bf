// Defaults of a loop.
import type { LoopPolicy } from './types.ts';

export const DEFAULT_LOOP_POLICY: LoopPolicy = {
  targetUtilization: 0.7,
  upperUtilization: 0.8,
  upDwellSeconds: 30,
  downDwellSeconds: 300,
  quickReturnSeconds: 3_600,
  planIntervalSeconds: 30,
  holdAfterSeconds: 120,
  safeModeAfterSeconds: 600,
  safeMode: 'spread',
  minEndpoints: 1,
  worthwhileSaving: 0.02,
  settleSeconds: 2,
};
