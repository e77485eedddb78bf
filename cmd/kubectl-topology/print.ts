// Prints a report in the format that was asked for.
import { renderJson } from '../../pkg/report/json.ts';
import type { OutputFormat } from './flags.ts';
import type { Io } from './io.ts';

/** `table` renders for people; the reports themselves are what JSON and YAML show. */
export const print = async (
  io: Io,
  format: OutputFormat,
  report: unknown,
  table: (wide: boolean) => string,
): Promise<void> => {
  if (format === 'json') io.out.write(renderJson(report));
  else if (format === 'yaml') {
    const { renderYaml } = await import('../../pkg/report/yaml.ts');
    io.out.write(renderYaml(report));
  } else io.out.write(table(format === 'wide'));
};
