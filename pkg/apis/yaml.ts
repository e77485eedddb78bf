// Reads YAML of other writers, of whatever it may be.
import { load } from 'js-yaml';
import { orElse } from './values.ts';

/** Undefined for what is none, or has aliases. By js-yaml, which takes milliseconds for what others wrote to keep a reader busy: `yaml` takes minutes. */
export const parseYaml = (text: string): unknown => orElse(() => load(text, { maxAliases: 0 }), undefined);
