// The audit as one self-contained page, for people who decide about money and have no terminal.
import type { AuditReport } from '../../diagnosis/audit/types.ts';
import { clientsText, costText, verdictsText } from '../audit.ts';
import { heatMap } from '../svg.ts';
import { AUDIT_SCRIPT } from './audit-script.ts';
import { servicesTable } from './audit-services.ts';
import { AUDIT_STYLE } from './audit-style.ts';
import { cards, causes, findings, measured, savings } from './audit-summary.ts';
import { routerHead } from '../routers.ts';
import { unseenList } from '../text.ts';
import { minuteOf, renderPage } from './document.ts';
import { markup, NOTHING } from './markup.ts';
import type { Markup } from './markup.ts';

const heading = ({ namespace, kubernetesVersion, sum, ...routers }: AuditReport, now: number): Markup =>
  markup`<header>
    <h1>Traffic across zones</h1>
    <p class="muted">
      ${namespace === null ? 'All namespaces' : `Namespace ${namespace}`} · Kubernetes ${kubernetesVersion} · ${routerHead(routers)} ·
      ${minuteOf(now)}
    </p>
    <p>${verdictsText(sum)}</p>
  </header>`;

const matrixSection = (report: AuditReport): Markup =>
  report.sum.inZoneShare === null
    ? NOTHING
    : markup`<h2>From zone to zone</h2>
        <p class="muted">
          Shares of all connections. Green stays in its zone, orange crosses; the stronger the color, the more.
        </p>
        <div class="scroll" tabindex="0" role="region" aria-label="Zone matrix">${heatMap(report.matrix)}</div>`;

const notes = (report: AuditReport): Markup => {
  const unseen = unseenList(report.unseen);
  const cost = costText(report);
  return markup`<footer>
    <h2>How to read this</h2>
    <p>
      ${report.measured === undefined ? 'Nothing was measured: shares' : 'Bytes and money are measured; shares of connections'} are predicted from Nodes, Services and EndpointSlices by models of the control plane
      and of the proxies, with ${clientsText(report.sum)}. Services are weighted by their ready endpoints, which stand
      in for their traffic. <em>Overload</em> is how far the busiest endpoint is above its fair share.
    </p>
    ${cost === '' ? NOTHING : markup`<p>${cost}</p>`} ${unseen === '' ? NOTHING : markup`<p>Not seen: ${unseen}.</p>`}
  </footer>`;
};

/** `now`: milliseconds since the epoch. Services come in the order of the report, which should be worst first. */
export const renderAuditPage = (report: AuditReport, { now }: { readonly now: number }): string =>
  renderPage({
    title: 'Traffic across zones',
    style: AUDIT_STYLE,
    script: AUDIT_SCRIPT,
    body: markup`${heading(report, now)}
      <main>
        ${cards(report)} ${measured(report)} ${savings(report)} ${matrixSection(report)} ${causes(report)} ${findings(report)}
        ${servicesTable(report)}
      </main>
      ${notes(report)}`,
  });
