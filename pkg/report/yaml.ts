// YAML for people and for kubectl: the same values as the JSON, never with aliases.
import { Document, Scalar, visit } from 'yaml';
import { escapeUnsafe, unsafeCharacters } from './text.ts';

/** Where a text holds what acts on a terminal, quotes, so that it can be escaped as in JSON. */
export const renderYaml = (value: unknown): string => {
  const document = new Document(value, { aliasDuplicateObjects: false });
  visit(document, {
    Scalar(_, node) {
      if (typeof node.value === 'string' && unsafeCharacters().test(node.value)) node.type = Scalar.QUOTE_DOUBLE;
    },
  });
  return escapeUnsafe(document.toString({ lineWidth: 0 }));
};
