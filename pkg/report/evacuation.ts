// Evacuations as text: the check before, the progress, what is left, and the list of all.
import type { ZoneEvacuation } from '../apis/zone-evacuation.ts';
import type { EvacuationCheck } from '../diagnosis/survival/check.ts';
import type { WritesEstimate } from '../diagnosis/survival/writes.ts';
import { countText } from './figures.ts';
import { paintFor, wrapText } from './paint.ts';
import { servicesText, sumText, unmovedText } from './survival.ts';
import type { SurvivalStyle } from './survival.ts';
import { clean, renderTable } from './table.ts';

const KILO = 1000;

/** `820 B`, `12 kB`, `3.4 MB`: powers of ten. */
export const bytesText = (bytes: number): string => {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let [value, unit] = [bytes, 0];
  while (value >= KILO && unit < units.length - 1) [value, unit] = [value / KILO, unit + 1];
  return `${value < 10 && unit > 0 ? value.toFixed(1).replace(/\.0$/, '') : Math.round(value)} ${units[unit] ?? ''}`;
};

const seconds = (value: number): string =>
  value < 10 ? value.toFixed(1).replace(/\.0$/, '') : String(Math.round(value));

/** What the control plane does because of it. */
export const writesText = ({ slices, bytes, proxies, fanOutBytes, echo }: WritesEstimate): string =>
  `${countText(slices, 'slice')} would be written, about ${bytesText(bytes)} as JSON; the proxies of ${countText(proxies, 'Node')} receive about ${bytesText(fanOutBytes)} together. The EndpointSlice controller answers with ${countText(echo.puts, 'write')} that ${echo.puts === 1 ? 'changes' : 'change'} nothing: ${seconds(echo.seconds)} s of its ${echo.requestsPerSecond} requests a second, in which new Pods wait longer to be published.`;

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
export const renderSurvivalCheck = (check: EvacuationCheck, { color, wide, columns }: SurvivalStyle): string => {
  const { survival, refusals, beside, writes } = check;
  const paint = paintFor(color);
  const width = Math.max(columns, 60);
  const services = survival.services.filter(({ answer }) => wide || NOTEWORTHY.has(answer));
  const sentences = [
    scopeText(check),
    ...sumText(survival.sum).slice(1),
    writesText(writes),
    ...(beside.length === 0 ? [] : [`Evacuations that run already count as well: ${beside.join(', ')}.`]),
  ];
  return [
    servicesText(services, wide),
    ...sentences.map((text) => wrapText(clean(text), width, '')),
    unmovedText(survival, width, paint),
    refusals.length === 0 ? '' : '\n',
    ...refusals.map(
      ({ reason, message }) => `${paint.bad(reason)}: ${wrapText(clean(message), width, '').trimEnd()}\n`,
    ),
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
  const left = status?.left ?? [];
  if (left.length === 0) return '';
  const rows = left.map(({ namespace, name, reason, message }) => [namespace, name, reason, message]);
  const more = status?.omitted ?? 0;
  return `${renderTable(['NAMESPACE', 'SERVICE', 'LEFT BECAUSE', 'MESSAGE'], rows)}${more === 0 ? '' : `and ${more} more\n`}`;
};

const MINUTE = 60_000;

/** `1h59m`, `12m`; `expired` where it has passed, a dash where it is not known. */
const remaining = (until: string | undefined, now: number): string => {
  const left = Date.parse(until ?? '') - now;
  if (Number.isNaN(left)) return '-';
  if (left <= 0) return 'expired';
  const minutes = Math.ceil(left / MINUTE);
  const hours = Math.floor(minutes / 60);
  return hours === 0 ? `${minutes}m` : `${hours}h${minutes % 60}m`;
};

const selectorText = (selector: object | undefined): string =>
  selector === undefined ? 'all' : JSON.stringify(selector);

export interface ListStyle {
  readonly wide: boolean;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

const count = (value: number | undefined): string => (value === undefined ? '-' : String(value));

const row = ({ metadata, spec, status }: ZoneEvacuation, { wide, now }: ListStyle): string[] => [
  metadata.name ?? '',
  spec.zone,
  `${spec.percent} %`,
  status?.phase ?? '-',
  count(status?.services?.moved),
  count(status?.services?.pending),
  count(status?.services?.left),
  remaining(status?.expiresAt, now),
  spec.reason ?? '-',
  ...(wide ? [selectorText(spec.namespaceSelector), selectorText(spec.serviceSelector)] : []),
];

const HEADERS = ['NAME', 'ZONE', 'PERCENT', 'PHASE', 'MOVED', 'PENDING', 'LEFT', 'ENDS IN', 'REASON'];

/** One row each, in the order given. */
export const renderEvacuations = (evacuations: readonly ZoneEvacuation[], style: ListStyle): string =>
  renderTable(
    style.wide ? [...HEADERS, 'NAMESPACES', 'SERVICES'] : HEADERS,
    evacuations.map((evacuation) => row(evacuation, style)),
  );
