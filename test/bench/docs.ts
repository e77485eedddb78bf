// Puts generated text between its markers in a Markdown file and leaves the rest alone.

const markersOf = (name: string): { begin: string; end: string } => ({
  begin: `<!-- begin generated: ${name} -->`,
  end: `<!-- end generated: ${name} -->`,
});

/** Throws if the document lacks the pair of markers: silently writing nothing would leave old figures in place. */
export const replaceGenerated = (document: string, name: string, text: string): string => {
  const { begin, end } = markersOf(name);
  const from = document.indexOf(begin);
  const to = document.indexOf(end, from);
  if (from < 0 || to < 0) throw new Error(`the document lacks the markers ${begin} and ${end}`);
  return `${document.slice(0, from + begin.length)}\n\n${text.trim()}\n\n${document.slice(to)}`;
};
