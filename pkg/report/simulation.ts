// The modes of a simulation side by side: figures, verdicts, traffic matrices, and which mode to take.
import type { Matrix, Outcome } from '../diagnosis/simulate/verdict.ts';
import type { ModeReport, SimulationReport } from '../diagnosis/simulate/simulate.ts';
import { boundedPercentText } from '../diagnosis/simulate/verdict.ts';
import { clean, countText, indented, moneyText, overloadText, paintFor, renderTable, wrapText } from './text.ts';
import type { Paint } from './text.ts';
import { routerHead, routersText } from './routers.ts';

export interface SimulationStyle {
  readonly color: boolean;
  /** The matrices of all modes, and what each is set by. */
  readonly wide: boolean;
  /** Characters a line. */
  readonly columns: number;
}

const INDENT = '  ';
const CENTS = 2;

/** Broken into lines, but not between a number and its percent sign. */
const wrapped = (text: string, columns: number, indent: string): string =>
  wrapText(clean(text).replaceAll(' %', '\u00A0%'), columns, indent).replaceAll('\u00A0%', ' %');

const zoneText = (zone: string): string => (zone === '' ? '(none)' : zone);
const coresText = (cores: number): string => String(Number(cores.toFixed(CENTS)));

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

const clientsText = ({ demand, capacity }: SimulationReport, columns: number, paint: Paint): string => {
  const { source, note, cores, zones } = demand;
  const served =
    capacity === null ? '' : `; endpoints ${CAPACITIES[capacity.source]}: ${coresText(capacity.cores)} cores`;
  const total = cores === null ? '' : `, ${coresText(cores)} cores${served}`;
  const headers = ['ZONE', 'DEMAND', ...(cores === null ? [] : ['CORES']), 'NODES', 'ENDPOINTS'];
  const rows = Object.entries(zones).map(([zone, own]) => [
    zoneText(zone),
    boundedPercentText(own.share),
    ...(own.cores === null ? [] : [coresText(own.cores)]),
    String(own.nodes),
    String(own.endpoints),
  ]);
  const title = `${paint.strong('Clients')} ${SOURCES[source]}${total}\n`;
  const remark = note === '' ? '' : wrapped(note, columns, INDENT);
  return `${title}${indented(renderTable(headers, rows), INDENT)}${remark}`;
};

const whatIfText = ({ replicas }: NonNullable<SimulationReport['whatIf']>, columns: number, paint: Paint): string => {
  const parts = Object.entries(replicas).map(
    ([zone, { before, after }]) => `${countText(after, 'ready endpoint')} in ${zone}, not ${before}`,
  );
  return paint.bad(wrapped(`WHAT IF: ${parts.join('; ')}. This is not the current cluster.`, columns, ''));
};

const MARKS = { recommended: '*', inForce: '>' } as const;

const figuresOf = (outcome: Outcome | null, { endpoints, capacity, prices }: SimulationReport): string[] => {
  if (outcome === null) return [];
  const { hinted, inZoneShare, worstOverload, maxUtilization, costPerMonth = 0 } = outcome;
  return [
    `${hinted}/${endpoints}`,
    boundedPercentText(inZoneShare),
    overloadText(worstOverload),
    ...(capacity === null ? [] : [boundedPercentText(maxUtilization ?? 0)]),
    ...(prices === undefined ? [] : [moneyText(costPerMonth, prices.currency)]),
  ];
};

const modesText = (report: SimulationReport): string => {
  const { capacity, prices, modes, now } = report;
  const headers = [
    '',
    'MODE',
    'HINTED',
    'IN ZONE',
    'OVERLOAD',
    ...(capacity === null ? [] : ['UTILIZATION']),
    ...(prices === undefined ? [] : ['COST/MONTH']),
    'VERDICT',
  ];
  const empty = headers.slice(2, -1).map(() => '-');
  const row = ({ mode, inForce, recommended, outcome, verdict }: ModeReport): string[] => [
    `${inForce ? MARKS.inForce : ' '}${recommended ? MARKS.recommended : ' '}`,
    mode,
    ...(outcome === null ? empty : figuresOf(outcome, report)),
    verdict.reason,
  ];
  const current = ['', 'now', ...figuresOf(now, report), report.whatIf === null ? '(as stored)' : '(as it would be)'];
  return renderTable(headers, [current, ...modes.map(row)]);
};

/** Modes of which the same is to be said, together. */
const verdictsText = ({ modes }: SimulationReport, columns: number, paint: Paint): string =>
  [...Map.groupBy(modes, ({ verdict }) => `${verdict.reason} ${verdict.message}`).values()]
    .map((group) => {
      const [first] = group;
      const names = group.map(({ mode }) => mode).join(', ');
      return `${paint.strong(names)}: ${first?.verdict.reason ?? ''}\n${wrapped(first?.verdict.message ?? '', columns, INDENT)}`;
    })
    .join('');

const matrixText = (title: string, matrix: Matrix, paint: Paint): string => {
  const to = [...new Set(Object.values(matrix).flatMap((row) => Object.keys(row)))].sort();
  const rows = Object.entries(matrix).map(([from, row]) => {
    const shares = new Map(Object.entries(row));
    return [zoneText(from), ...to.map((zone) => boundedPercentText(shares.get(zone) ?? 0))];
  });
  const headers = ['FROM', ...to.map((zone, index) => `${index === 0 ? 'TO ' : ''}${zoneText(zone)}`)];
  return `${paint.strong(title)}\n${indented(renderTable(headers, rows), INDENT)}`;
};

/** Of what happens now and of the mode to take; wide: of every mode, those alike together. */
const matricesText = ({ now, modes }: SimulationReport, wide: boolean, paint: Paint): string => {
  const shown = modes.flatMap(({ mode, outcome, recommended }) =>
    outcome !== null && (wide || recommended) ? [{ title: mode, matrix: outcome.matrix }] : [],
  );
  const all: { readonly title: string; readonly matrix: Matrix }[] = [{ title: 'now', matrix: now.matrix }, ...shown];
  return [...Map.groupBy(all, ({ matrix }) => JSON.stringify(matrix)).values()]
    .map((group) =>
      matrixText(`Share of all traffic: ${group.map(({ title }) => title).join(', ')}`, group[0]?.matrix ?? {}, paint),
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

const recommendationText = ({ recommendation, modes }: SimulationReport, columns: number, paint: Paint): string => {
  const { mode, reason, message, improves } = recommendation;
  const chosen = modes.find(({ recommended }) => recommended);
  const setting = chosen === undefined ? '' : settingText(chosen);
  const title = improves ? paint.good(`${mode} (${reason})`) : `${mode} (${reason}), no better than now`;
  const how = chosen?.inForce === true ? '' : wrapped(setting, columns, '    ').replace(/^ {4}/, '  → ');
  return `${paint.strong('Recommended:')} ${title}\n${wrapped(message, columns, INDENT)}${how}`;
};

const settingsText = ({ modes }: SimulationReport, paint: Paint): string =>
  `${paint.strong('Settings')}\n${indented(
    renderTable(
      ['MODE', 'SINCE', 'SET'],
      modes.map((mode) => [mode.mode, mode.since, mode.outcome === null ? '-' : settingText(mode)]),
    ),
    INDENT,
  )}`;

const pricesText = ({ prices }: SimulationReport, columns: number, paint: Paint): string => {
  if (prices === undefined) return '';
  const { gigabytesPerDay, source, date } = prices;
  const when = date === '' ? '' : `, ${date}`;
  return paint.faint(wrapped(`Cost of an assumed ${gigabytesPerDay} GB a day: ${source}${when}.`, columns, ''));
};

const ROUTER_INDENT = ' '.repeat(8);

const LEGEND =
  '> requested by the Service, * recommended. HINTED: ready endpoints with hints; OVERLOAD: busiest endpoint above its fair share.';

export const renderSimulation = (report: SimulationReport, style: SimulationStyle): string => {
  const paint = paintFor(style.color);
  const columns = Math.max(style.columns, 60);
  const { namespace, name, kubernetesVersion, addressType, port } = report;
  const what = [addressType, ...(port === '' ? [] : [`port ${port}`])].join(', ');
  const head = `Service ${namespace}/${name} (Kubernetes ${kubernetesVersion}, ${routerHead(report)}; ${what})`;
  return [
    `${paint.strong(clean(head))}\n`,
    report.certainty === 'seen' ? '' : routersText(report, { title: 'ROUTER', indent: ROUTER_INDENT, columns, paint }),
    report.whatIf === null ? '' : whatIfText(report.whatIf, columns, paint),
    `\n${clientsText(report, columns, paint)}`,
    `\n${modesText(report)}`,
    paint.faint(wrapText(LEGEND, columns, '')),
    pricesText(report, columns, paint),
    `\n${recommendationText(report, columns, paint)}`,
    `\n${matricesText(report, style.wide, paint)}`,
    `\n${verdictsText(report, columns, paint)}`,
    style.wide ? `\n${settingsText(report, paint)}` : '',
  ].join('');
};
