// Flags that give bytes and prices: commands show costs only with them.
import { InvalidArgumentError } from 'commander';
import type { Command } from 'commander';
import { BUILT_IN_PRICES, DEFAULT_PRICES, isBuiltInPrices, parsePrices } from '../../pkg/diagnosis/prices.ts';
import type { PriceTable } from '../../pkg/diagnosis/prices.ts';
import { InputError, UsageError } from './errors.ts';

export interface PriceFlags {
  gbPerDay?: number;
  prices?: string;
}

const NUMBER = /^(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

const gigabytes = (text: string): number => {
  const value = NUMBER.test(text) ? Number(text) : Number.NaN;
  if (!Number.isFinite(value)) throw new InvalidArgumentError('expected gigabytes, 0 or more, like 250 or 1.5e3.');
  return value;
};

export const addPricesFlag = (command: Command): Command =>
  command.option(
    '--prices <table|file>',
    `what crossing costs: ${Object.keys(BUILT_IN_PRICES).join(', ')}, or a YAML or JSON file (default: ${DEFAULT_PRICES})`,
  );

/** `of`: whose traffic it is, e.g. `the Service`. */
export const addPriceFlags = (command: Command, of: string): Command =>
  addPricesFlag(
    command.option(
      '--gb-per-day <gigabytes>',
      `assumed traffic of ${of} a day, requests and responses together; without it there are shares only`,
      gigabytes,
    ),
  );

/** The built-in table of that name, else the table in that file. Throws an InputError with file, line and field. */
export const readPrices = async (name: string = DEFAULT_PRICES): Promise<PriceTable> => {
  if (isBuiltInPrices(name)) return BUILT_IN_PRICES[name];
  const [{ readNamed }, { readYaml }] = await Promise.all([import('./input/files.ts'), import('./input/documents.ts')]);
  const content = await readNamed(name).catch((error: unknown) => {
    if (!(error instanceof InputError)) throw error;
    throw new UsageError(`${error.message}; built-in tables of prices are ${Object.keys(BUILT_IN_PRICES).join(', ')}`);
  });
  const tables: PriceTable[] = [];
  // JSON is YAML, too.
  readYaml(content.toString('utf8'), name, (object) => tables.push(parsePrices(object)));
  const [table] = tables;
  if (table === undefined || tables.length > 1) {
    throw new InputError(name, undefined, `expected one table of prices, found ${tables.length}`);
  }
  return table;
};
