// Lines out of a stream that comes in pieces.

/** Returns what takes the pieces; `onLine` gets every line once it is whole, without its end. */
export const byLine = (onLine: (line: string) => void): ((chunk: string) => void) => {
  let rest = '';
  return (chunk) => {
    const lines = `${rest}${chunk}`.split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) onLine(line);
  };
};
