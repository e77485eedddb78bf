// SPDX-License-Identifier: Apache-2.0
// same-zone: every endpoint serves its own zone; also what Gardener's consider label asks for.
import { LABEL_CONSIDER, LABEL_STRATEGY } from '../../apis/names.ts';
import type { HintStrategy } from '../types.ts';

export const sameZone: HintStrategy = {
  name: 'same-zone',
  labels: [
    { key: LABEL_STRATEGY, value: 'same-zone' },
    { key: LABEL_CONSIDER, value: 'true' },
  ],
  zones: 'own',
  nodes: 'none',
  planned: false,
};
