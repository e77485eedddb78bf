// SPDX-License-Identifier: Apache-2.0
// load-aware: the flow controller plans by measured load; admission keeps the plan through the writes of others.
import { LABEL_STRATEGY } from '../../apis/names.ts';
import type { HintStrategy } from '../types.ts';

export const loadAware: HintStrategy = {
  name: 'load-aware',
  labels: [{ key: LABEL_STRATEGY, value: 'load-aware' }],
  zones: 'carried-over',
  nodes: 'none',
  planned: true,
};
