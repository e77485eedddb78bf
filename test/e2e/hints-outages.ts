// What an outage of the webhook did, and how it is told.

/** One outage as measured. */
export interface Outage {
  readonly failurePolicy: 'Ignore' | 'Fail';
  readonly services: number;
  readonly pods: number;
  /** From the kill to the start of the next process. */
  readonly awaySeconds: number;
  /** Writes of slices that the API server refused meanwhile. */
  readonly refused: number;
  /** Versions stored meanwhile with a ready endpoint without hint. */
  readonly unhinted: number;
  /** From the last change of a Pod until all slices showed it. */
  readonly freshAfterSeconds: number;
  /** From "webhook ready" until every endpoint was hinted and fresh. */
  readonly hintedAfterSeconds: number;
  /** Accepted writes that brought the hints back, by user. */
  readonly writes: Readonly<Record<string, number>>;
}

/** A Markdown table with a line for each outage. */
export const formatOutages = (outages: readonly Outage[]): string => {
  const columns: readonly (readonly [string, (outage: Outage) => string])[] = [
    ['failurePolicy', ({ failurePolicy }) => `\`${failurePolicy}\``],
    ['webhook away', ({ awaySeconds }) => `${awaySeconds.toFixed(1)} s`],
    ['writes refused', ({ refused }) => String(refused)],
    ['versions stored without hints', ({ unhinted }) => String(unhinted)],
    ['Pods published after', ({ freshAfterSeconds }) => `${freshAfterSeconds.toFixed(1)} s`],
    ['all hinted, after it was back', ({ hintedAfterSeconds }) => `${hintedAfterSeconds.toFixed(1)} s`],
    [
      'by writes of',
      ({ writes }) =>
        Object.entries(writes)
          .map(([user, count]) => `${user.split(':').at(-1)} (${count})`)
          .join(', '),
    ],
  ];
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [
    line(columns.map(([name]) => name)),
    line(columns.map((_, index) => (index === 0 || index === columns.length - 1 ? '---' : '---:'))),
    ...outages.map((outage) => line(columns.map(([, cell]) => cell(outage)))),
  ].join('\n');
};
