// Reads Prometheus' text format, as far as counters and gauges need it: https://prometheus.io/docs/instrumenting/exposition_formats/

export interface ExposedSample {
  readonly labels: Readonly<Record<string, string>>;
  /** Finite. */
  readonly value: number;
}

// One label; a value ends at the first quote that is not escaped.
const LABEL = /\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(?:,|$)/sy;
const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})?\s+([^\s}]+)(?:\s+-?\d+)?\s*$/s;

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', '"': '"', '\\': '\\' };

const unescaped = (text: string): string =>
  text.replaceAll(/\\(.)/gs, (whole, character: string) => ESCAPES[character] ?? whole);

/** A sample of a meter has 5 labels, and a page of all its Services has fewer lines. */
const [MAX_LABELS, MAX_LINES] = [8, 200_000];
const MAX_LINE = 4_096;

/** Undefined where the text is not a list of labels, or of more than any meter has. */
const labelsOf = (text: string): Record<string, string> | undefined => {
  const labels: [string, string][] = [];
  LABEL.lastIndex = 0;
  while (LABEL.lastIndex < text.trimEnd().length) {
    const [, name = '', value = ''] = LABEL.exec(text) ?? [];
    if (name === '' || labels.length === MAX_LABELS) return undefined;
    labels.push([name, unescaped(value)]);
  }
  return Object.fromEntries(labels);
};

/**
 * Samples of the metrics that are named, by name; lines that are none, and values that are not finite, are passed over. Undefined where
 * the text has more lines than the page of any meter.
 */
export const parseExposition = (text: string, names: readonly string[]): Map<string, ExposedSample[]> | undefined => {
  const samples = new Map<string, ExposedSample[]>(names.map((name) => [name, []]));
  for (let [start, lines] = [0, 1]; start < text.length; lines += 1) {
    if (lines > MAX_LINES) return undefined;
    const found = text.indexOf('\n', start);
    const end = found === -1 ? text.length : found;
    const line = end - start > MAX_LINE ? '' : text.slice(start, end);
    start = end + 1;
    const [, name = '', labelText = '', valueText = ''] = SAMPLE.exec(line) ?? [];
    const list = samples.get(name);
    const labels = list === undefined ? undefined : labelsOf(labelText);
    const value = Number(valueText);
    if (labels !== undefined && Number.isFinite(value)) list?.push({ labels, value });
  }
  return samples;
};
