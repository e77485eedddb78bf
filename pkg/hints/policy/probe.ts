// SPDX-License-Identifier: Apache-2.0
// A write that is meant for one carrier alone: how it is known whether that one works while the other one does too.
import { GROUP } from '../../apis/names.ts';
import type { Carrier } from './types.ts';

/**
 * Slice annotation: the only carrier that shall act on this write. Sent with dry runs and never stored; on a stored slice
 * it does no more than the absence of the strategy label would.
 */
export const ANNOTATION_PROBE = `${GROUP}/probe`;

/** Whether the write is a probe of this carrier, which the other one leaves alone. */
export const isProbeOf = (carrier: Carrier, object: unknown): boolean => {
  const { metadata } = (object ?? {}) as { metadata?: { annotations?: Record<string, unknown> | null } | null };
  return metadata?.annotations?.[ANNOTATION_PROBE] === carrier;
};
