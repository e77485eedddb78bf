// JSON for programs, which people look at as well: nothing in it acts on a terminal, and every value is what it was.
import { escapeUnsafe } from './unsafe.ts';

/** Two spaces of indentation and a final line break, keys in the order they were given. */
export const renderJson = (value: unknown): string => `${escapeUnsafe(JSON.stringify(value, null, 2))}\n`;

/** One line. */
export const renderJsonLine = (value: unknown): string => `${escapeUnsafe(JSON.stringify(value))}\n`;
