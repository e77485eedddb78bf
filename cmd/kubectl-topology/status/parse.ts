// SPDX-License-Identifier: Apache-2.0
// Reads YAML that somebody put into a ConfigMap.
import { parse, YAMLParseError } from 'yaml';

/** Undefined where it is no YAML: then there is nothing to tell of it. */
export const parseQuietly = (text: string): unknown => {
  try {
    return parse(text, { logLevel: 'silent' }) as unknown;
  } catch (error) {
    if (error instanceof YAMLParseError || error instanceof ReferenceError) return undefined;
    throw error;
  }
};
