// SPDX-License-Identifier: Apache-2.0
// The output formats of commands that report findings: those of all commands, and two for continuous integration.
import { Option } from 'commander';
import type { Command } from 'commander';
import type { Finding } from '../../pkg/diagnosis/check/types.ts';
import { OUTPUT_FORMATS } from './flags.ts';
import type { Io } from './io.ts';
import { print } from './print.ts';

const FINDINGS_FORMATS = [...OUTPUT_FORMATS, 'junit', 'sarif'] as const;
export type FindingsFormat = (typeof FINDINGS_FORMATS)[number];

export const addFindingsOutput = (command: Command): Command =>
  command.addOption(
    new Option('-o, --output <format>', 'output format; junit and sarif for pipelines')
      .choices(FINDINGS_FORMATS)
      .default('table'),
  );

interface Reported {
  /** Of the test suite. */
  readonly name: string;
  readonly report: unknown;
  readonly findings: readonly Finding[];
}

export const printFindings = async (
  io: Io,
  format: FindingsFormat,
  { name, report, findings }: Reported,
  table: (wide: boolean) => string,
): Promise<void> => {
  if (format !== 'junit' && format !== 'sarif') return print(io, format, report, table);
  const { renderJunit, renderSarif } = await import('../../pkg/report/ci.ts');
  io.out.write(format === 'junit' ? renderJunit(name, findings) : renderSarif(findings));
};
