// Prints a report in the format that was asked for; SARIF, for code scanning, only where a command reports findings.
import type { Finding } from '../../pkg/diagnosis/check/check.ts';
import { type Style as ReportStyle, renderJson } from '../../pkg/report/text.ts';
import { choiceFlag } from './command.ts';
import { type Io, UsageError, wantsColor } from './io.ts';
import { OUTPUT_FORMATS, type OutputFormat } from './flags.ts';

type Style = Required<ReportStyle>;

export const styleOf = (io: Io, format: OutputFormat): Style => ({
  wide: format === 'wide',
  color: wantsColor(io),
  columns: io.out.columns,
});

export const print = async (io: Io, format: OutputFormat, report: unknown, render: (style: Style) => string) => {
  if (format === 'json') io.out.write(renderJson(report));
  else if (format === 'yaml') {
    const { renderYaml } = await import('../../pkg/report/yaml.ts');
    io.out.write(renderYaml(report));
  } else io.out.write(render(styleOf(io, format)));
};

/** @throws UsageError where the file cannot be written. */
export const writePage = async (page: string, file: string, io: Io): Promise<void> => {
  const { writeFile } = await import('node:fs/promises');
  const { fileErrorText } = await import('./input/files.ts');
  await writeFile(file, page).catch((error: unknown) => {
    throw new UsageError(`--html ${file}: ${fileErrorText(error)}`);
  });
  io.err.write(`wrote ${file}\n`);
};

const FORMATS = [...OUTPUT_FORMATS, 'sarif'] as const;

export const FINDINGS_OUTPUT_FLAG = {
  output: choiceFlag('-o, --output <format>', 'output format; sarif for code scanning', FORMATS, 'table'),
};

export const printFindings = async (
  io: Io,
  format: OutputFormat | 'sarif',
  { report, findings }: { readonly report: unknown; readonly findings: readonly Finding[] },
  render: (style: Style) => string,
): Promise<void> => {
  if (format !== 'sarif') return print(io, format, report, render);
  const { renderSarif } = await import('../../pkg/report/check.ts');
  io.out.write(renderSarif(findings));
};
