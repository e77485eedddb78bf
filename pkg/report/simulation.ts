// The modes of a simulation side by side: figures, verdicts, traffic matrices, and which mode to take.
import { type Matrix, type Outcome, boundedPercentText } from '../diagnosis/simulate/verdict.ts';
import type { ModeReport, SimulationReport } from '../diagnosis/simulate/simulate.ts';
import { coresText, countText, moneyText, overloadText } from './figures.ts';
import { type Column, type Screen, type Style, clean, indented, screenFor, tableOf, zoneText } from './text.ts';
import { matrixTable } from './text.ts';
import { routerHead, routersText } from './routers.ts';

const INDENT = '  ';

/** Broken into lines, but not between a number and its percent sign. */
const wrapped = ({ wrap }: Screen, text: string, indent = INDENT): string =>
  wrap(text.replaceAll(' %', '\u00A0%'), indent).replaceAll('\u00A0%', ' %');

const SOURCES: Readonly<Record<SimulationReport['demand']['source'], string>> = {
  demand: 'as given',
  flowPolicy: 'as the FlowPolicy observed them',
  weights: 'by the weights given',
  cpu: 'by CPU of the Nodes',
  nodes: 'by number of Nodes',
};

const CAPACITIES: Readonly<Record<NonNullable<SimulationReport['capacity']>['source'], string>> = {
  given: 'as given',
  flowPolicy: 'as in the FlowPolicy',
  requests: 'by requests of their Pods',
};

type Zone = readonly [name: string, SimulationReport['demand']['zones'][string]];

const clientsText = ({ demand, capacity }: SimulationReport, screen: Screen): string => {
  const { source, note, cores, zones } = demand;
  const served =
    capacity === null ? '' : `; endpoints ${CAPACITIES[capacity.source]}: ${coresText(capacity.cores)} cores`;
  const total = cores === null ? '' : `, ${coresText(cores)} cores${served}`;
  const ofCores: Column<Zone> = ['CORES', ([, own]) => coresText(own.cores ?? 0)];
  const columns: readonly Column<Zone>[] = [
    ['ZONE', ([zone]) => zoneText(zone)],
    ['DEMAND', ([, { share }]) => boundedPercentText(share)],
    ...(cores === null ? [] : [ofCores]),
    ['NODES', ([, { nodes }]) => String(nodes)],
    ['ENDPOINTS', ([, { endpoints }]) => String(endpoints)],
  ];
  const table = indented(tableOf(columns, Object.entries(zones)), INDENT);
  return `${screen.strong('Clients')} ${SOURCES[source]}${total}\n${table}${note === '' ? '' : wrapped(screen, note)}`;
};

const whatIfText = ({ replicas }: NonNullable<SimulationReport['whatIf']>, screen: Screen): string => {
  const parts = Object.entries(replicas).map(
    ([zone, { before, after }]) => `${countText(after, 'ready endpoint')} in ${zone}, not ${before}`,
  );
  return screen.bad(wrapped(screen, `WHAT IF: ${parts.join('; ')}. This is not the current cluster.`, ''));
};

/** A mode, or what is now; without an outcome its figures are not known. */
type ModeRow = Pick<ModeReport, 'inForce' | 'recommended' | 'outcome'> & Record<'mode' | 'verdict', string>;

const modesText = ({ capacity, endpoints, prices, modes, now, whatIf }: SimulationReport): string => {
  const figure = (text: (outcome: Outcome) => string) => (row: ModeRow) => (row.outcome ? text(row.outcome) : '-');
  const columns: readonly Column<ModeRow>[] = [
    ['', ({ inForce, recommended }) => `${inForce ? '>' : ' '}${recommended ? '*' : ' '}`],
    ['MODE', ({ mode }) => mode],
    ['HINTED', figure(({ hinted }) => `${hinted}/${endpoints}`)],
    ['IN ZONE', figure(({ inZoneShare }) => boundedPercentText(inZoneShare))],
    ['OVERLOAD', figure(({ worstOverload }) => overloadText(worstOverload))],
    ...(capacity === null
      ? []
      : [['UTILIZATION', figure(({ maxUtilization }) => boundedPercentText(maxUtilization ?? 0))] as const]),
    ...(prices === undefined
      ? []
      : [['COST/MONTH', figure(({ costPerMonth = 0 }) => moneyText(costPerMonth, prices.currency))] as const]),
    ['VERDICT', ({ verdict }) => verdict],
  ];
  const current = { mode: 'now', inForce: false, recommended: false, outcome: now };
  return tableOf(columns, [
    { ...current, verdict: whatIf === null ? '(as stored)' : '(as it would be)' },
    ...modes.map((mode) => ({ ...mode, verdict: mode.verdict.reason })),
  ]);
};

/** Modes of which the same is to be said, together. */
const verdictsText = ({ modes }: SimulationReport, screen: Screen): string =>
  [...Map.groupBy(modes, ({ verdict }) => `${verdict.reason} ${verdict.message}`).values()]
    .map((group) => {
      const { reason = '', message = '' } = group[0]?.verdict ?? {};
      return `${screen.strong(group.map(({ mode }) => mode).join(', '))}: ${reason}\n${wrapped(screen, message)}`;
    })
    .join('');

const matrixText = (title: string, matrix: Matrix, { strong }: Screen): string =>
  `${strong(title)}\n${indented(matrixTable(matrix, boundedPercentText, '0 %'), INDENT)}`;

/** Of what happens now and of the mode to take; wide: of every mode, those alike together. */
const matricesText = ({ now, modes }: SimulationReport, screen: Screen): string => {
  const shown = modes.flatMap(({ mode, outcome, recommended }) =>
    outcome !== null && (screen.wide || recommended) ? [{ title: mode, matrix: outcome.matrix }] : [],
  );
  const all: { readonly title: string; readonly matrix: Matrix }[] = [{ title: 'now', matrix: now.matrix }, ...shown];
  return [...Map.groupBy(all, ({ matrix }) => JSON.stringify(matrix)).values()]
    .map((group) =>
      matrixText(`Share of all traffic: ${group.map(({ title }) => title).join(', ')}`, group[0]?.matrix ?? {}, screen),
    )
    .join('');
};

const NEEDED: Readonly<Record<ModeReport['neededComponent'], string>> = {
  controlPlane: '',
  webhook: ' (needs endpointslice-webhook)',
  planner: ' (needs endpointslice-webhook and flow-controller)',
};

const settingText = ({ settings, neededComponent }: ModeReport): string =>
  settings.length === 0 ? 'remove every setting for topology' : `${settings.join(', ')}${NEEDED[neededComponent]}`;

const recommendationText = ({ recommendation, modes }: SimulationReport, screen: Screen): string => {
  const { mode, reason, message, improves } = recommendation;
  const chosen = modes.find(({ recommended }) => recommended);
  const setting = chosen === undefined ? '' : settingText(chosen);
  const title = improves ? screen.good(`${mode} (${reason})`) : `${mode} (${reason}), no better than now`;
  const how = chosen?.inForce === true ? '' : wrapped(screen, setting, '    ').replace(/^ {4}/, '  → ');
  return `${screen.strong('Recommended:')} ${title}\n${wrapped(screen, message)}${how}`;
};

const SETTINGS: readonly Column<ModeReport>[] = [
  ['MODE', ({ mode }) => mode],
  ['SINCE', ({ since }) => since],
  ['SET', (mode) => (mode.outcome === null ? '-' : settingText(mode))],
];

const pricesText = ({ prices }: SimulationReport, screen: Screen): string => {
  if (prices === undefined) return '';
  const { gigabytesPerDay, source, date } = prices;
  const when = date === '' ? '' : `, ${date}`;
  return screen.faint(wrapped(screen, `Cost of an assumed ${gigabytesPerDay} GB a day: ${source}${when}.`, ''));
};

const LEGEND =
  '> requested by the Service, * recommended. HINTED: ready endpoints with hints; OVERLOAD: busiest endpoint above its fair share.';

export const renderSimulation = (report: SimulationReport, style: Style): string => {
  const screen = screenFor(style);
  const { namespace, name, kubernetesVersion, addressType, port, modes } = report;
  const what = [addressType, ...(port === '' ? [] : [`port ${port}`])].join(', ');
  const head = `Service ${namespace}/${name} (Kubernetes ${kubernetesVersion}, ${routerHead(report)}; ${what})`;
  return [
    `${screen.strong(clean(head))}\n`,
    report.certainty === 'seen' ? '' : routersText(report, ' '.repeat(8), screen),
    report.whatIf === null ? '' : whatIfText(report.whatIf, screen),
    `\n${clientsText(report, screen)}`,
    `\n${modesText(report)}`,
    screen.faint(screen.wrap(LEGEND)),
    pricesText(report, screen),
    `\n${recommendationText(report, screen)}`,
    `\n${matricesText(report, screen)}`,
    `\n${verdictsText(report, screen)}`,
    screen.wide ? `\n${screen.strong('Settings')}\n${indented(tableOf(SETTINGS, modes), INDENT)}` : '',
  ].join('');
};
