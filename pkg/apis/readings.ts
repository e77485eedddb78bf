// SPDX-License-Identifier: Apache-2.0
// Small readings of core objects.
import type { Endpoint, Node } from './core.ts';
import { LABEL_ZONE } from './names.ts';

/** Empty where the Node has no zone. */
export const zoneOfNode = ({ metadata }: Node): string => metadata?.labels?.[LABEL_ZONE] ?? '';

export const isNodeReady = ({ status }: Node): boolean =>
  (status?.conditions ?? []).some(({ type, status: value }) => type === 'Ready' && value === 'True');

/** An endpoint that does not state it counts as ready, as the API documents. */
export const isEndpointReady = ({ conditions }: Pick<Endpoint, 'conditions'>): boolean => conditions?.ready !== false;
