// Finds the line and column of a field in a parsed YAML document, so that errors point at the text that is wrong.
import { isMap, isNode, isPair, isScalar, isSeq } from 'yaml';
import type { Document, LineCounter, Node } from 'yaml';
import type { FieldPath } from './field-path.ts';

export { renderPath } from './field-path.ts';
export type { FieldPath } from './field-path.ts';

/** 1-based position. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** Splits a JSON pointer (`/a/b~1c/0`); digits become indexes only where the document has a sequence. */
export const pathOfPointer = (pointer: string): readonly string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));

const keyNode = (node: unknown, key: string): Node | undefined => {
  if (!isMap(node)) return undefined;
  const pair = node.items.find((item) => isPair(item) && isScalar(item.key) && String(item.key.value) === key);
  return pair !== undefined && isNode(pair.key) ? pair.key : undefined;
};

/** Follows the path as far as the document has it; the last step found wins, so a missing field points at its parent. */
const nodeAt = (document: Document, path: FieldPath): { node: Node | undefined; resolved: FieldPath } => {
  let node: unknown = document.contents;
  let shown: Node | undefined = isNode(node) ? node : undefined;
  const resolved: (string | number)[] = [];
  for (const step of path) {
    const index = isSeq(node) ? Number(step) : undefined;
    const next: unknown = isMap(node) ? node.get(step, true) : isSeq(node) ? node.get(Number(step), true) : undefined;
    resolved.push(index ?? step);
    if (next === undefined) {
      shown = keyNode(node, String(step)) ?? shown;
      break;
    }
    shown = isNode(next) ? next : shown;
    node = next;
  }
  return { node: shown, resolved: [...resolved, ...path.slice(resolved.length)] };
};

/** Position of the field's value, or of the nearest parent that the document holds; and the path with indexes as numbers. */
export const locate = (
  document: Document,
  lines: LineCounter,
  path: FieldPath,
): Position & { readonly path: FieldPath } => {
  const { node, resolved } = nodeAt(document, path);
  return { ...positionOfOffset(lines, node?.range?.[0] ?? 0), path: resolved };
};

/** Position of the key of a field (for fields that should not be there). */
export const locateKey = (document: Document, lines: LineCounter, parent: FieldPath, key: string): Position => {
  const { node } = nodeAt(document, parent);
  return positionOfOffset(lines, (keyNode(node, key) ?? node)?.range?.[0] ?? 0);
};

export const positionOfOffset = (lines: LineCounter, offset: number): Position => {
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(line, 1), column: Math.max(col, 1) };
};
