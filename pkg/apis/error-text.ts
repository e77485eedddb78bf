// What was thrown, in words.

/** The message of an Error; anything else that was thrown as text. */
export const errorText = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** A parser's message up to where it quotes the text: that may be a secret of another file. */
export const parserText = (error: unknown): string => (errorText(error).split(/["'`!:<&*]/, 1)[0] ?? '').trim();
