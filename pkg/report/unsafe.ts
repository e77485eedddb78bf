// Characters that a terminal obeys instead of showing: control characters (C0, C1), and invisible ones that turn or hide text.

/** All but line breaks and tabs; Cf holds the bidi controls, of which U+202E shows `gpj.exe` as `exe.jpg`. A new expression each time. */
export const unsafeCharacters = (): RegExp => /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

const escaped = (character: string): string =>
  Array.from(
    { length: character.length },
    (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`,
  ).join('');

/** The same JSON with these characters as escapes, which JSON.stringify leaves as they are beyond U+001F. */
export const escapeUnsafe = (json: string): string => json.replaceAll(unsafeCharacters(), escaped);
