// Reads YAML from a ConfigMap.
import { parse, YAMLParseError } from 'yaml';

/** Undefined where it is no YAML. */
export const parseQuietly = (text: string): unknown => {
  try {
    return parse(text, { logLevel: 'silent' }) as unknown;
  } catch (error) {
    if (error instanceof YAMLParseError || error instanceof ReferenceError) return undefined;
    throw error;
  }
};
