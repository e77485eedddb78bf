// Reads YAML of other writers, of whatever it may be.
import { parseDocument } from 'yaml';
import { orElse } from './values.ts';

/** As far as it can be read; undefined for what is none, or multiplies content by aliases. */
export const parseYaml = (text: string): unknown =>
  orElse(() => parseDocument(text, { logLevel: 'silent' }).toJS() as unknown, undefined);
