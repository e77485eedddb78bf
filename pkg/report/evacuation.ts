// Evacuations as text: the answer to "would we survive losing this zone?", the check before, the progress, what is left, and the list of all.
import type { ZoneEvacuation } from '../apis/zone-evacuation.ts';
import type { EvacuationCheck } from '../diagnosis/survival/check.ts';
import type { LoadReport, ServiceSurvival, SurvivalReport } from '../diagnosis/survival/survival.ts';
import { bytesText, countText, percentText, spanText, threeDigits } from './figures.ts';
import { type Column, type Screen, type Style, screenFor, tableOf } from './text.ts';

type SurvivalSum = SurvivalReport['sum'];

/** `eu-1b +1, eu-1c +2`. */
const replicasText = ({ replicas }: ServiceSurvival): string =>
  Array.from(Object.entries(replicas), ([zone, count]) => `${zone} +${count}`).join(', ');

/** `82 %` of a capacity, `1.5×` a fair share; a dash for what is not known. */
const ofLoad =
  (pick: (load: LoadReport) => number | null) =>
  ({ load }: ServiceSurvival): string => {
    const value = load && pick(load);
    if (load === null || value === null) return '-';
    return load.basis === 'measured' ? percentText(value) : `${value.toFixed(1).replace(/\.0$/, '')}×`;
  };

const COLUMNS: readonly Column<ServiceSurvival>[] = [
  ['NAMESPACE', ({ namespace }) => namespace],
  ['SERVICE', ({ name }) => name],
  ['ANSWER', ({ answer }) => answer],
  ['THERE', ({ endpoints: { count, of } }) => (of === 0 ? '-' : `${count}/${of}`)],
  ['BUSIEST', ofLoad(({ now }) => now)],
  ['THEN', ofLoad(({ after }) => after)],
  ['LIMIT', ofLoad(({ limit }) => limit)],
  ['ADD', (service) => replicasText(service) || '-'],
];

const WIDE: readonly Column<ServiceSurvival>[] = [
  ['TYPE', ({ type }) => type],
  ['BECAUSE', ({ message }) => message],
];

const answerText = ({ survives, zones, sum }: SurvivalReport): string => {
  const { NoEndpointElsewhere: lost, Overloaded: over } = sum.answers;
  const names = zones.join(', ');
  if (survives) return `Yes: every Service survives without ${names}.`;
  const down = lost === 0 ? [] : [`${countText(lost, 'Service')} would be down`];
  const full = over === 0 ? [] : [`${over} overloaded`];
  return `No: without ${names} ${[...down, ...full].join(', ')}.`;
};

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
const sumText = (sum: SurvivalSum): string[] => {
  const { answers, services, endpoints, nodes, replicas } = sum;
  return [
    `${countText(services, 'Service')}: ${answers.Survives} with enough elsewhere, ${answers.NoEndpointThere} without an endpoint there, ${answers.NotTouched} not judged. ${partText(endpoints, 'ready endpoint')} and ${partText(nodes, 'ready Node')} are there.`,
    basisText(sum),
    ...(replicas === 0 ? [] : [`${replicas} more ${replicas === 1 ? 'replica' : 'replicas'} would be enough.`]),
  ];
};

/** A row each, in the order given; empty without any. */
const servicesText = (services: readonly ServiceSurvival[], { wide }: Screen): string =>
  services.length === 0 ? '' : `${tableOf(wide ? [...COLUMNS, ...WIDE] : COLUMNS, services)}\n`;

/** What no figure shows, and what was not seen. */
const noteText = ({ unseen }: SurvivalReport, screen: Screen): string =>
  screen.wrap(
    'Existing connections stay where they are until they end; hints affect only new ones, and only those through the proxies (see `kubectl topology explain`).',
  ) + screen.unseen(unseen);

export const renderSurvival = (report: SurvivalReport, style: Style): string => {
  const screen = screenFor(style);
  const answer = answerText(report);
  return [
    servicesText(report.services, screen),
    `${report.survives ? screen.good(answer) : screen.bad(answer)}\n`,
    ...sumText(report.sum).map((text) => screen.wrap(text)),
    noteText(report, screen),
  ].join('');
};

/** What the control plane does because of it. */
const writesText = ({ slices, bytes, proxies, fanOutBytes, echo }: EvacuationCheck['writes']): string =>
  `${countText(slices, 'slice')} would be written, about ${bytesText(bytes)} as JSON; the proxies of ${countText(proxies, 'Node')} receive about ${bytesText(fanOutBytes)} together. The EndpointSlice controller answers with ${countText(echo.puts, 'write')} that ${echo.puts === 1 ? 'changes' : 'change'} nothing: ${threeDigits(echo.seconds)} s of its ${echo.requestsPerSecond} requests a second, in which new Pods wait longer to be published.`;

/** What becomes of the Services in scope, in one sentence. */
const scopeText = ({ survival: { zones, sum } }: EvacuationCheck): string => {
  const { Survives, Overloaded, NoEndpointElsewhere, LessThanOne, NoEndpointThere } = sum.answers;
  const parts = [
    `${Survives + Overloaded} of ${countText(sum.services, 'Service')} would leave ${zones.join(', ')}`,
    ...(NoEndpointElsewhere === 0 ? [] : [`${NoEndpointElsewhere} stay, having no endpoint elsewhere`]),
    ...(LessThanOne === 0 ? [] : [`${LessThanOne} stay, having too few endpoints for the share`]),
    `${NoEndpointThere} have none there`,
  ];
  return `${parts.join(', ')}; ${sum.endpoints.count} of ${countText(sum.endpoints.of, 'ready endpoint')} get no new connections.`;
};

const NOTEWORTHY: ReadonlySet<string> = new Set(['Overloaded', 'NoEndpointElsewhere', 'LessThanOne']);

/** The check, with what is against it at the end; of Services those that are not simply fine, or all where it is wide. */
export const renderSurvivalCheck = (check: EvacuationCheck, style: Style): string => {
  const { survival, refusals, beside, writes } = check;
  const screen = screenFor(style);
  const shown = survival.services.filter(({ answer }) => screen.wide || NOTEWORTHY.has(answer));
  const sentences = [
    scopeText(check),
    ...sumText(survival.sum).slice(1),
    writesText(writes),
    ...(beside.length === 0 ? [] : [`Evacuations that run already count as well: ${beside.join(', ')}.`]),
  ];
  return [
    servicesText(shown, screen),
    ...sentences.map((text) => screen.wrap(text)),
    noteText(survival, screen),
    refusals.length === 0 ? '' : '\n',
    ...refusals.map(({ reason, message }) => `${screen.bad(reason)}: ${screen.wrap(message)}`),
  ].join('');
};

/** Why it was refused or waits. */
export const acceptedText = ({ status }: ZoneEvacuation): string => {
  const found = status?.conditions?.find(({ type }) => type === 'Accepted');
  return found === undefined ? '' : `${found.reason}: ${found.message}`;
};

/** `Moving: 12 of 40 Services moved, 25 pending, 3 left`; before the first status what is waited for. */
export const progressText = (evacuation: ZoneEvacuation): string => {
  const { phase, services } = evacuation.status ?? {};
  if (phase === undefined) return 'accepted by the API server; waiting for the settings-reconciler';
  if (services === undefined) return [phase, acceptedText(evacuation)].filter((text) => text !== '').join(': ');
  const { total, moved, pending, left } = services;
  return `${phase}: ${moved} of ${countText(total, 'Service')} moved, ${pending} pending, ${left} left`;
};

/** Services that stay as they are, with the reason of each. */
export const renderLeft = ({ status }: ZoneEvacuation): string => {
  const { left = [], omitted = 0 } = status ?? {};
  if (left.length === 0) return '';
  const columns: readonly Column<(typeof left)[number]>[] = [
    ['NAMESPACE', ({ namespace }) => namespace],
    ['SERVICE', ({ name }) => name],
    ['LEFT BECAUSE', ({ reason }) => reason],
    ['MESSAGE', ({ message }) => message],
  ];
  return `${tableOf(columns, left)}${omitted === 0 ? '' : `and ${omitted} more\n`}`;
};

/** `119 min`, `3 h`; `expired` where it has passed, a dash where it is not known. */
const remaining = (until: string | undefined, now: number): string => {
  const left = Date.parse(until ?? '') - now;
  if (Number.isNaN(left)) return '-';
  return left <= 0 ? 'expired' : spanText(left / 1_000);
};

const selectorText = (selector: object | undefined): string => (selector ? JSON.stringify(selector) : 'all');

const servicesIn =
  (state: 'moved' | 'pending' | 'left') =>
  ({ status }: ZoneEvacuation): string =>
    String(status?.services?.[state] ?? '-');

/** One row each, in the order given; `now`: milliseconds since the epoch. */
export const renderEvacuations = (
  evacuations: readonly ZoneEvacuation[],
  { wide, now }: { readonly wide: boolean; readonly now: number },
): string => {
  const columns: readonly Column<ZoneEvacuation>[] = [
    ['NAME', ({ metadata }) => metadata.name ?? ''],
    ['ZONE', ({ spec }) => spec.zone],
    ['PERCENT', ({ spec }) => `${spec.percent} %`],
    ['PHASE', ({ status }) => status?.phase ?? '-'],
    ['MOVED', servicesIn('moved')],
    ['PENDING', servicesIn('pending')],
    ['LEFT', servicesIn('left')],
    ['ENDS IN', ({ status }) => remaining(status?.expiresAt, now)],
    ['REASON', ({ spec }) => spec.reason ?? '-'],
  ];
  const scope: readonly Column<ZoneEvacuation>[] = [
    ['NAMESPACES', ({ spec }) => selectorText(spec.namespaceSelector)],
    ['SERVICES', ({ spec }) => selectorText(spec.serviceSelector)],
  ];
  return tableOf(wide ? [...columns, ...scope] : columns, evacuations);
};
