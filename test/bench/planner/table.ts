// The planner's figures as Markdown.
import { formatNumber } from '../statistics.ts';
import { describeMachine, markdownTable } from '../table.ts';
import type { Measurement, PlannerResults, ShapeResults } from './types.ts';

const HEAD = [
  'endpoints',
  'contender',
  'median',
  '× planner',
  'p90',
  'in-zone',
  'above the target',
  'problems within the target',
  'proven optimal',
];

const milliseconds = (value: number): string => `${formatNumber(value, 3)} ms`;
const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

const rowsOf = ({ shape, measurements, bound }: ShapeResults): string[][] => {
  const planner = measurements[0]?.medianMs ?? 1;
  const row = ({ contender, ...one }: Measurement): string[] => [
    shape.name,
    contender,
    milliseconds(one.medianMs),
    formatNumber(one.medianMs / planner, 2),
    milliseconds(one.p90Ms),
    percent(one.inZoneShare),
    percent(one.overload),
    percent(one.within),
    one.exact === undefined ? '' : percent(one.exact),
  ];
  return [...measurements.map(row), [shape.name, 'upper bound', '', '', '', percent(bound), '', '', '']];
};

const targetOf = ({ shape, measurements }: ShapeResults): string[] => {
  if (shape.targetMs === undefined) return [];
  const took = measurements[0]?.medianMs ?? Infinity;
  const verdict = took <= shape.targetMs ? 'holds' : '**missed**';
  return [`- ${verdict}: ${shape.name}: median at most ${shape.targetMs} ms (${milliseconds(took)})`];
};

export const plannerMarkdown = ({ environment, shapes }: PlannerResults): string =>
  [
    describeMachine(environment),
    'One core; target utilization 70 %, demand 40 to 65 % of the capacity and unlike the endpoints in its distribution.',
    '',
    markdownTable(HEAD, shapes.flatMap(rowsOf)),
    '',
    ...shapes.flatMap(targetOf),
  ].join('\n');
