// The answer to "would we survive losing this zone?" as text: a row a Service, the sum, and what hints would not move.
import type {
  LoadReport,
  ServiceSurvival,
  SurvivalReport,
  SurvivalSum,
  UnmovedGroup,
} from '../diagnosis/survival/types.ts';
import { countText, percentText } from './figures.ts';
import { paintFor, wrapText } from './paint.ts';
import type { Paint } from './paint.ts';
import { renderTable } from './table.ts';
import { evidenceText, unseenText } from './text.ts';

export interface SurvivalStyle {
  readonly color: boolean;
  /** The answer of every Service as a sentence, with everything that hints do not move. */
  readonly wide: boolean;
  /** Characters a line, of sentences; rows are as wide as they are. */
  readonly columns: number;
}

/** `82 %` of a capacity, `1.5×` a fair share; a dash for what is not known. */
const loadText = (basis: LoadReport['basis'], load: number | null): string => {
  if (load === null) return '-';
  return basis === 'measured' ? percentText(load) : `${load.toFixed(1).replace(/\.0$/, '')}×`;
};

/** `eu-1b +1, eu-1c +2`. */
const replicasText = ({ replicas }: ServiceSurvival): string =>
  Object.entries(replicas)
    .map(([zone, count]) => `${zone} +${count}`)
    .join(', ');

const or = (text: string): string => (text === '' ? '-' : text);

const ofLoad = ({ load }: ServiceSurvival, pick: (load: LoadReport) => number | null): string =>
  load === null ? '-' : loadText(load.basis, pick(load));

type Column = readonly [title: string, cell: (service: ServiceSurvival) => string];

const reasonsOf = ({ unmoved }: ServiceSurvival): string => [...new Set(unmoved.map(({ reason }) => reason))].join(',');

const COLUMNS: readonly Column[] = [
  ['NAMESPACE', ({ namespace }) => namespace],
  ['SERVICE', ({ name }) => name],
  ['ANSWER', ({ answer }) => answer],
  ['THERE', ({ endpoints: { count, of } }) => (of === 0 ? '-' : `${count}/${of}`)],
  ['BUSIEST', (service) => ofLoad(service, ({ now }) => now)],
  ['THEN', (service) => ofLoad(service, ({ after }) => after)],
  ['LIMIT', (service) => ofLoad(service, ({ limit }) => limit)],
  ['ADD', (service) => or(replicasText(service))],
];

const WIDE: readonly Column[] = [
  ['NOT MOVED', (service) => or(reasonsOf(service))],
  ['TYPE', ({ type }) => type],
  ['BECAUSE', ({ message }) => message],
];

/** The answer, as one sentence. */
const answerText = ({ survives, zones, sum }: SurvivalReport): string => {
  const { NoEndpointElsewhere: lost, Overloaded: over } = sum.answers;
  const names = zones.join(', ');
  if (survives) return `Yes: every Service survives without ${names}.`;
  const parts = [
    ...(lost === 0 ? [] : [`${countText(lost, 'Service')} would be down`]),
    ...(over === 0 ? [] : [`${over} overloaded`]),
  ];
  return `No: without ${names} ${parts.join(', ')}.`;
};

/** By which figures clients and loads are taken. */
const basisText = ({ measured, clientsMeasured, clientsBy }: SurvivalSum): string => {
  const others = `clients ${clientsBy === 'cpu' ? 'where the CPU of the Nodes is' : 'equally many on every Node'}`;
  const load =
    measured === 0
      ? "No load is measured: shares are of today's endpoints"
      : `${countText(measured, 'Service')} by the load that a FlowPolicy measured, the others by shares of today's endpoints`;
  const placed = clientsMeasured - measured;
  return placed === 0
    ? `${load}, ${others}.`
    : `${load}; clients of ${countText(placed, 'Service')} as measured, else ${others}.`;
};

const partText = ({ count, of }: SurvivalSum['nodes'], what: string): string =>
  of === 0 ? `no ${what}` : `${count} of ${countText(of, what)}`;

/** What is in the zone, by which figures, and what it takes. */
export const sumText = (sum: SurvivalSum): string[] => {
  const { answers, services, endpoints, nodes, replicas } = sum;
  return [
    `${countText(services, 'Service')}: ${answers.Survives} with enough elsewhere, ${answers.NoEndpointThere} without an endpoint there, ${answers.NotTouched} not judged. ${partText(endpoints, 'ready endpoint')} and ${partText(nodes, 'ready Node')} are there.`,
    basisText(sum),
    ...(replicas === 0 ? [] : [`${replicas} more ${replicas === 1 ? 'replica' : 'replicas'} would be enough.`]),
  ];
};

const groupText = ({ reason, services, evidence, remedy }: UnmovedGroup, columns: number, paint: Paint): string =>
  [`  ${paint.strong(reason)} (${countText(services, 'Service')})\n`, evidenceText(evidence, remedy, columns)].join('');

const row = (service: ServiceSurvival, columns: readonly Column[]): string[] =>
  columns.map(([, cell]) => cell(service));

/** A row each, in the order given; empty without any. */
export const servicesText = (services: readonly ServiceSurvival[], wide: boolean): string => {
  const shown = wide ? [...COLUMNS, ...WIDE] : COLUMNS;
  const headers = shown.map(([title]) => title);
  return services.length === 0
    ? ''
    : `${renderTable(
        headers,
        services.map((service) => row(service, shown)),
      )}\n`;
};

/** What hints do not move, and what that leaves open. */
export const unmovedText = (report: SurvivalReport, columns: number, paint: Paint): string => {
  const groups = report.unmoved.map((group) => groupText(group, columns, paint)).join('');
  const note = 'Existing connections stay where they are until they end; hints affect only new ones.';
  return [
    groups === '' ? '' : `\n${paint.strong('What hints do not move, in an evacuation')}\n${groups}`,
    wrapText(note, columns, groups === '' ? '' : '  '),
    unseenText(report.unseen, columns, paint),
  ].join('');
};

/** Services come in the order of the report. */
export const renderSurvival = (report: SurvivalReport, { color, wide, columns }: SurvivalStyle): string => {
  const paint = paintFor(color);
  const width = Math.max(columns, 60);
  const answer = answerText(report);
  return [
    servicesText(report.services, wide),
    `${report.survives ? paint.good(answer) : paint.bad(answer)}\n`,
    ...sumText(report.sum).map((text) => wrapText(text, width, '')),
    unmovedText(report, width, paint),
  ].join('');
};
