// SPDX-License-Identifier: Apache-2.0
// proportional: the flow controller plans by capacity; admission keeps the plan through the writes of others.
import { LABEL_STRATEGY } from '../../apis/names.ts';
import type { HintStrategy } from '../types.ts';

export const proportional: HintStrategy = {
  name: 'proportional',
  labels: [{ key: LABEL_STRATEGY, value: 'proportional' }],
  zones: 'carried-over',
  nodes: 'none',
  planned: true,
};
