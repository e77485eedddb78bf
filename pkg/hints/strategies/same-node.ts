// SPDX-License-Identifier: Apache-2.0
// same-node: every endpoint serves its own node and, for proxies that know no node hints, its own zone.
import { LABEL_STRATEGY } from '../../apis/names.ts';
import type { HintStrategy } from '../types.ts';

export const sameNode: HintStrategy = {
  name: 'same-node',
  labels: [{ key: LABEL_STRATEGY, value: 'same-node' }],
  zones: 'own',
  nodes: 'own',
  planned: false,
};
