// SPDX-License-Identifier: Apache-2.0
// What kubectl-topology promises, and whether the figures keep it.
import { formatMegabytes, formatNumber } from '../statistics.ts';
import type { Limit, Measurement } from './types.ts';

const [AUDIT_SECONDS, AUDIT_BYTES, START_MS] = [5, 500 * 1024 * 1024, 100];
const MS = 1000;

/** `help` of the bundle, and the audit of JSON files at full size. */
export const limitsOf = ({ help, audit }: { help: Measurement; audit: Measurement }): Limit[] => [
  {
    name: 'start',
    holds: help.wallMs <= START_MS,
    text: `${help.command}: at most ${START_MS} ms (${formatNumber(help.wallMs)} ms)`,
  },
  {
    name: 'time',
    holds: audit.wallMs <= AUDIT_SECONDS * MS,
    text: `${audit.command}: at most ${AUDIT_SECONDS} s (${formatNumber(audit.wallMs / MS)} s)`,
  },
  {
    name: 'memory',
    holds: audit.peakBytes <= AUDIT_BYTES,
    text: `${audit.command}: at most ${formatMegabytes(AUDIT_BYTES)} (${formatMegabytes(audit.peakBytes)})`,
  },
];
