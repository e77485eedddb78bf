// SPDX-License-Identifier: Apache-2.0
// Recorded traffic as one self-contained page: over time, zone by zone, and by Service.
import { sumBy } from '../../apis/sum.ts';
import { addUp, bytesOf, connectionsOf, crosses, hasZones } from '../../traffic/measured.ts';
import type { Measured, MeasuredFlow } from '../../traffic/measured.ts';
import { percentText, rateText } from '../figures.ts';
import { heatMap } from '../svg.ts';
import type { ZoneMatrix } from '../svg.ts';
import { timePicture } from '../svg-time.ts';
import type { TimePoint } from '../svg-time.ts';
import { servicesOf } from '../traffic.ts';
import type { ServiceTraffic } from '../traffic.ts';
import { AUDIT_STYLE } from './audit-style.ts';
import { card, renderPage } from './document.ts';
import { markup, NOTHING } from './markup.ts';
import type { Markup } from './markup.ts';

/** One reading of a recording. */
export interface Recorded {
  /** Milliseconds since the epoch. */
  readonly time: number;
  readonly measured: Measured;
}

export interface TrafficPage {
  /** Whose traffic it is, e.g. `Service shop/web`. */
  readonly of: string;
  /** Oldest first; at least one. */
  readonly recording: readonly Recorded[];
}

const STYLE = `${AUDIT_STYLE}
.time { width: 100%; height: auto; display: block; }
.time text { font-size: 14px; fill: var(--muted); }
.time .value, .time .until { text-anchor: end; }
.axis-line { stroke: var(--line); }
.area-stays { fill: var(--stay-4); } .area-crosses { fill: var(--cross-3); }
td.service { overflow-wrap: anywhere; }
`;

const TOP_SERVICES = 200;

const pointsOf = (recording: readonly Recorded[], of: (flow: MeasuredFlow) => number): TimePoint[] =>
  recording.map(({ time, measured }) => {
    const known = measured.flows.filter(hasZones);
    const crossing = sumBy(known.filter(crosses), of);
    return { time, stays: sumBy(known, of) - crossing, crosses: crossing };
  });

/** Averages over the recording, each reading by its own time. */
export const averageRecording = (recording: readonly Recorded[]): MeasuredFlow[] => {
  const seconds = recording.reduce((sum, { measured }) => sum + measured.seconds, 0);
  const weighted = recording.flatMap(({ measured }) => {
    const weight = seconds === 0 ? 0 : measured.seconds / seconds;
    return measured.flows.map((flow) => ({
      ...flow,
      connections: flow.connections === null ? null : flow.connections * weight,
      requestBytes: flow.requestBytes * weight,
      responseBytes: flow.responseBytes * weight,
    }));
  });
  return addUp(weighted);
};

/** Shares of the bytes between known zones. */
const sharesOf = (flows: readonly MeasuredFlow[]): ZoneMatrix => {
  const known = flows.filter(hasZones);
  const all = sumBy(known, bytesOf);
  const zones = [...new Set(known.flatMap(({ source, destination }) => [source, destination]))].sort();
  const share = (from: string, to: string): number =>
    all === 0
      ? 0
      : sumBy(
          known.filter(({ source, destination }) => source === from && destination === to),
          bytesOf,
        ) / all;
  return Object.fromEntries(zones.map((from) => [from, Object.fromEntries(zones.map((to) => [to, share(from, to)]))]));
};

const serviceRow = ({ service, bytes, connections, crossZoneShare }: ServiceTraffic): Markup =>
  markup`<tr role="row">
    <td role="cell" class="service">${service}</td>
    <td role="cell" class="number" data-label="Bytes">${rateText(bytes)}</td>
    <td role="cell" class="number" data-label="Connections a second">${connections === null ? '–' : connections.toPrecision(3)}</td>
    <td role="cell" class="number" data-label="Crosses">${percentText(crossZoneShare)}</td>
  </tr>`;

const servicesTable = (services: readonly ServiceTraffic[]): Markup =>
  markup`<h2>By Service</h2>
    <table role="table" class="cards-when-narrow" aria-label="Services">
      <thead role="rowgroup">
        <tr role="row">
          <th role="columnheader" scope="col">Service</th>
          <th role="columnheader" scope="col" class="number">Bytes</th>
          <th role="columnheader" scope="col" class="number">Connections a second</th>
          <th role="columnheader" scope="col" class="number">Crosses</th>
        </tr>
      </thead>
      <tbody role="rowgroup">
        ${services.slice(0, TOP_SERVICES).map(serviceRow)}
      </tbody>
    </table>
    ${services.length > TOP_SERVICES ? markup`<p class="muted">${services.length - TOP_SERVICES} more Services carry less.</p>` : NOTHING}`;

const spanOf = (recording: readonly Recorded[]): string => {
  const text = (time: number): string => `${new Date(time).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
  const [first, last] = [recording[0], recording.at(-1)];
  if (first === undefined || last === undefined) return 'nothing recorded';
  return recording.length === 1 ? text(first.time) : `${text(first.time)} to ${text(last.time)}`;
};

const picture = (title: string, points: readonly TimePoint[], text: (value: number) => string): Markup =>
  points.length < 2 ? NOTHING : markup`<h3>${title}</h3>${timePicture({ title, points, text })}`;

export const renderTrafficPage = ({ of, recording }: TrafficPage): string => {
  const flows = averageRecording(recording);
  const known = flows.filter(hasZones);
  const [bytes, crossing] = [sumBy(known, bytesOf), sumBy(known.filter(crosses), bytesOf)];
  const counted = flows.some(({ connections }) => connections !== null);
  const notes = [...new Set(recording.flatMap(({ measured }) => measured.notes))];
  const over =
    recording.length > 1
      ? markup`<h2>Over time</h2><p class="muted">Green stays in its zone, orange crosses.</p>`
      : NOTHING;
  return renderPage({
    title: `Traffic of ${of}`,
    style: STYLE,
    script: '',
    body: markup`<header>
        <h1>Traffic of ${of}</h1>
        <p class="muted">${recording.at(-1)?.measured.by ?? ''} · ${spanOf(recording)}</p>
      </header>
      <main>
        <ul class="cards">
          ${card(rateText(bytes), 'between known zones, requests and answers')}
          ${card(percentText(bytes === 0 ? null : crossing / bytes), 'of these bytes cross zones')}
          ${card(rateText(sumBy(flows, bytesOf) - bytes), 'from or to outside of the cluster, or a zone that is not known')}
          ${counted ? card(sumBy(flows, connectionsOf).toPrecision(3), 'new connections a second') : NOTHING}
        </ul>
        ${over} ${picture('Bytes a second', pointsOf(recording, bytesOf), rateText)}
        ${counted ? picture('New connections a second', pointsOf(recording, connectionsOf), (value) => value.toPrecision(3)) : NOTHING}
        <h2>From zone to zone</h2>
        <p class="muted">Shares of the bytes between known zones.</p>
        <div class="scroll" tabindex="0" role="region" aria-label="Zone matrix">${heatMap(sharesOf(flows), 'bytes')}</div>
        ${servicesTable(servicesOf(flows))}
      </main>
      <footer>
        <h2>How to read this</h2>
        <p>
          Measured, with IP headers. Bytes of connections that live on are counted when the meters read the whole table of
          connections, every minute unless set otherwise; new connections show within two seconds.
        </p>
        ${notes.map((note) => markup`<p>Note: ${note}.</p>`)}
      </footer>`,
  });
};
