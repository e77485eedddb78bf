// SPDX-License-Identifier: Apache-2.0
// The answer to "would we survive losing this zone?" as one self-contained page, for a review without a terminal.
import type { ServiceSurvival, SurvivalReport, UnmovedGroup } from '../../diagnosis/survival/types.ts';
import { routerHead } from '../routers.ts';
import { answerText, loadText, replicasText, sumText, unseenText } from '../survival.ts';
import { AUDIT_STYLE } from './audit-style.ts';
import { minuteOf, renderPage } from './document.ts';
import { markup, NOTHING, sentence } from './markup.ts';
import type { Content, Markup } from './markup.ts';

/** The colours that verdicts of an audit have. */
const BADGES = {
  NoEndpointElsewhere: 'Ineffective',
  Overloaded: 'Ineffective',
  Survives: 'Effective',
  LessThanOne: 'NotWanted',
  NoEndpointThere: 'NotWanted',
  NotTouched: 'NotWanted',
} as const;

const cell = (title: string, content: Content, kind = 'number'): Markup =>
  markup`<td role="cell" class="${kind}" data-label="${title}">${content}</td>`;

const row = (service: ServiceSurvival): Markup => {
  const { namespace, name, answer, message, endpoints, load, unmoved } = service;
  const text = (value: number | null): string => (load === null ? '–' : loadText(load.basis, value));
  const items = unmoved.map(
    ({ reason, evidence, remedy }) =>
      markup`<p><code>${reason}</code> ${evidence}</p><p class="remedy">${sentence(remedy)}</p>`,
  );
  return markup`<tr role="row">${cell(
    'Service',
    markup`<strong>${name}</strong><small>${namespace}</small><span class="badge ${BADGES[answer]}">${answer}</span>`,
    'service',
  )}${cell('There', `${endpoints.count}/${endpoints.of}`)}${cell('Busiest', text(load?.now ?? null))}${cell(
    'Then',
    text(load?.after ?? null),
  )}${cell('Limit', text(load?.limit ?? null))}${cell('Add', replicasText(service))}${cell(
    'Why, and what hints do not move',
    markup`<p>${message}</p>${items}`,
    'why',
  )}</tr>\n`;
};

const TITLES = ['Service', 'There', 'Busiest', 'Then', 'Limit', 'Add', 'Why, and what hints do not move'] as const;

const table = ({ services }: SurvivalReport): Markup =>
  markup`<h2 id="services-title">Services, worst first</h2>
    <table role="table" id="services" class="cards-when-narrow" aria-labelledby="services-title">
      <thead role="rowgroup">
        <tr role="row">${TITLES.map((title) => markup`<th role="columnheader" scope="col">${title}</th>`)}</tr>
      </thead>
      <tbody role="rowgroup">
        ${services.map(row)}
      </tbody>
    </table>`;

const group = ({ reason, services, evidence, remedy }: UnmovedGroup): Markup =>
  markup`<li class="seen"><code>${reason}</code> <span class="muted">(Services: ${services})</span><p>${evidence}</p><p class="remedy">${sentence(remedy)}</p></li>`;

const groups = ({ unmoved }: SurvivalReport): Markup =>
  unmoved.length === 0
    ? NOTHING
    : markup`<h2>What hints do not move, in an evacuation</h2><ul class="findings">${unmoved.map(group)}</ul>`;

/** `now`: milliseconds since the epoch. */
export const renderSurvivalPage = (report: SurvivalReport, { now }: { readonly now: number }): string => {
  const { zones, namespace, kubernetesVersion, sum } = report;
  const unseen = unseenText(report);
  const title = `Without ${zones.join(', ')}`;
  return renderPage({
    title,
    style: AUDIT_STYLE,
    script: '',
    body: markup`<header>
        <h1>${title}</h1>
        <p class="muted">
          ${namespace === null ? 'All namespaces' : `Namespace ${namespace}`} · Kubernetes ${kubernetesVersion} · ${routerHead(report)} ·
          ${minuteOf(now)}
        </p>
        <p>${answerText(report)}</p>
        ${sumText(sum).map((text) => markup`<p>${text}</p>`)}
      </header>
      <main>${groups(report)} ${table(report)}</main>
      <footer>
        <p>Existing connections stay where they are until they end; hints affect only new ones.</p>
        ${unseen === '' ? NOTHING : markup`<p>${unseen}</p>`}
      </footer>`,
  });
};
