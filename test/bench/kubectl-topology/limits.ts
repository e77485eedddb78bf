// What kubectl-topology promises, and whether the figures keep it.
import { formatMegabytes, formatNumber } from '../statistics.ts';
import type { Limit, Measurement } from './types.ts';

const MB = 1024 * 1024;
const AUDIT_SECONDS = 5;
const [JSON_BYTES, YAML_BYTES, START_MS] = [500 * MB, 600 * MB, 100];
const MS = 1000;

const auditLimits = (suffix: string, maxBytes: number, audit: Measurement): Limit[] => [
  {
    name: `time${suffix}`,
    holds: audit.wallMs <= AUDIT_SECONDS * MS,
    text: `${audit.command}: at most ${AUDIT_SECONDS} s (${formatNumber(audit.wallMs / MS)} s)`,
  },
  {
    name: `memory${suffix}`,
    holds: audit.peakBytes <= maxBytes,
    text: `${audit.command}: at most ${formatMegabytes(maxBytes)} (${formatMegabytes(audit.peakBytes)})`,
  },
];

export interface Judged {
  /** `--help` of the bundle. */
  readonly help: Measurement;
  /** The audit of JSON files at full size. */
  readonly audit: Measurement;
  /** The same of YAML files. */
  readonly yaml: Measurement;
}

export const limitsOf = ({ help, audit, yaml }: Judged): Limit[] => [
  {
    name: 'start',
    holds: help.wallMs <= START_MS,
    text: `${help.command}: at most ${START_MS} ms (${formatNumber(help.wallMs)} ms)`,
  },
  ...auditLimits('', JSON_BYTES, audit),
  ...auditLimits(' of YAML', YAML_BYTES, yaml),
];
