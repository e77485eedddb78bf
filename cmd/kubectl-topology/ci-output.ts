// The output formats of commands that report findings: those of all commands, and SARIF for code scanning.
import { Option } from 'commander';
import type { Command } from 'commander';
import type { Finding } from '../../pkg/diagnosis/check/types.ts';
import { OUTPUT_FORMATS } from './flags.ts';
import type { Io } from './io.ts';
import { print } from './print.ts';

const FINDINGS_FORMATS = [...OUTPUT_FORMATS, 'sarif'] as const;
export type FindingsFormat = (typeof FINDINGS_FORMATS)[number];

export const addFindingsOutput = (command: Command): Command =>
  command.addOption(
    new Option('-o, --output <format>', 'output format; sarif for code scanning')
      .choices(FINDINGS_FORMATS)
      .default('table'),
  );

interface Reported {
  readonly report: unknown;
  readonly findings: readonly Finding[];
}

export const printFindings = async (
  io: Io,
  format: FindingsFormat,
  { report, findings }: Reported,
  table: (wide: boolean) => string,
): Promise<void> => {
  if (format !== 'sarif') return print(io, format, report, table);
  const { renderSarif } = await import('../../pkg/report/ci.ts');
  io.out.write(renderSarif(findings));
};
