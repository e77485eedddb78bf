// SPDX-License-Identifier: Apache-2.0
// A write that is meant for one carrier alone: how it is known whether that one works while the other one does too.
import { ANNOTATION_PROBE } from '../../apis/names.ts';
import type { Carrier } from './types.ts';

/** Whether the write is a probe of this carrier, which the other one leaves alone. */
export const isProbeOf = (carrier: Carrier, object: unknown): boolean => {
  const { metadata } = (object ?? {}) as { metadata?: { annotations?: Record<string, unknown> | null } | null };
  return metadata?.annotations?.[ANNOTATION_PROBE] === carrier;
};
