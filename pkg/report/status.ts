// The status of installations on one screen.
import { timeText } from '../apis/values.ts';
import { NOTES, type StatusFinding, WARN_DAYS } from '../diagnosis/status/findings.ts';
import type { ComponentStatus } from '../diagnosis/status/installations.ts';
import type { InstallationStatus, LeaseStatus, WebhookStatus } from '../diagnosis/status/installations.ts';
import type { StatusReport } from '../diagnosis/status/status.ts';
import { ageText, countText } from './figures.ts';
import { type Column, type Screen, type Style, clean, indented, screenFor, tableOf } from './text.ts';
import { routersText } from './routers.ts';

/** What follows the repository's path: `controller:v1`, `controller@sha256:0123456789ab`. */
export const imageText = (image: string): string =>
  (image.split('/').at(-1) ?? image).replace(/@sha256:([0-9a-f]{12})[0-9a-f]*$/, '@sha256:$1');

const authorityText = ({ authority }: WebhookStatus): string => {
  if (authority === null) return 'authority missing';
  const { daysLeft, notAfter } = authority;
  const date = notAfter.slice(0, 10);
  return `authority ${daysLeft < 0 ? `ended on ${date}` : `${countText(daysLeft, 'day')} left (${date})`}`;
};

/** The part of a holder's identity that is the Pod's name. */
const holderText = ({ holder, state, ageSeconds }: LeaseStatus): string => {
  if (state === 'Released') return 'no holder';
  const pod = holder.replace(/_[0-9a-f-]{8,}$/, '');
  return state === 'Stale' ? `${pod}, stale ${ageText(ageSeconds)}` : `${pod}, ${ageText(ageSeconds)} ago`;
};

const entriesText = ({ entries }: WebhookStatus): string =>
  `${entries.length} ${entries.length === 1 ? 'entry' : 'entries'}, ${[...new Set(entries.map(({ failurePolicy }) => failurePolicy))].join('/')}`;

const INDENT = ' '.repeat(14);

/** A title, a mark and a sentence that is wrapped under itself. */
const line = (title: string, ok: boolean | null, text: string, { strong, mark, wrap }: Screen): string =>
  `${strong(title.padEnd(12))}${mark(ok)} ${wrap(text, INDENT).slice(INDENT.length)}`;

const verdictText = ({ verdict, findings, lookedFor }: StatusReport, paint: Screen): string => {
  if (verdict === 'NotInstalled') {
    const where = lookedFor.namespace === null ? 'any namespace' : `namespace ${lookedFor.namespace}`;
    return `${paint.bad('Not installed')}: no Deployment with ${lookedFor.labelSelector} in ${where}\n`;
  }
  const reasons = [...new Set(findings.filter(({ reason }) => !NOTES.has(reason)).map(({ reason }) => reason))];
  return verdict === 'Healthy' ? `${paint.good('Healthy')}\n` : `${paint.bad('Degraded')}: ${reasons.join(', ')}\n`;
};

const clusterText = ({ cluster }: StatusReport, { wrap }: Screen): string => {
  const { version, mechanism, nodes } = cluster;
  const kubelets = Object.entries(nodes?.versions ?? {}).map(([name, count]) => `${name || '-'} ${count}`);
  const zones = nodes === null ? '' : Object.keys(nodes.zones).filter((zone) => zone !== '');
  const seen =
    nodes === null || nodes.count === 0
      ? 'Nodes not seen'
      : `${nodes.ready} of ${countText(nodes.count, 'Node')} ready in ${countText(zones.length, 'zone')}${
          nodes.zones[''] === undefined ? '' : ` (${nodes.zones['']} without)`
        }, kubelet ${kubelets.join(', ')}`;
  return wrap(`Kubernetes ${version} (${mechanism}); ${seen}`);
};

const findingText = ({ reason, message, remedy }: StatusFinding, { faint, bad, strong, evidence }: Screen): string =>
  `${NOTES.has(reason) ? faint('-') : bad('✗')} ${strong(reason)}\n${evidence(message, remedy)}`;

/** ` in other`, of a Lease that another installation holds. */
const elsewhere = ({ installation }: LeaseStatus, namespace: string): string =>
  installation === '' || installation === namespace ? '' : ` in ${installation}`;

const readyText = ({ ready, desired, updated }: ComponentStatus['replicas']): string =>
  `${ready}/${desired}${updated === desired ? '' : ` (${updated} new)`}`;

const componentsText = ({ namespace, components, leases }: InstallationStatus, { wide }: Screen): string => {
  const leaderOf = (component: string): string => {
    const lease = leases.find((each) => each.component === component);
    if (lease === undefined) return '-';
    return `${holderText(lease).replace(`${component}-`, '')}${elsewhere(lease, namespace)}`;
  };
  const columns: readonly Column<ComponentStatus>[] = [
    ['COMPONENT', ({ component }) => component],
    ['READY', ({ replicas }) => readyText(replicas)],
    ['VERSION', ({ version }) => version || '-'],
    ['IMAGE', ({ image }) => image],
    ['RESTARTS', ({ pods }) => String(pods?.restarts ?? '?')],
    ['NODES/ZONES', ({ pods }) => (pods === null ? '?' : `${pods.nodes}/${pods.zones.length}`)],
    ['LEADER', ({ component }) => leaderOf(component)],
  ];
  const shown = columns.filter(([title]) => wide || title !== 'IMAGE');
  return indented(tableOf(shown, components), '  ');
};

const leasesText = ({ namespace, leases }: InstallationStatus, screen: Screen): string =>
  leases
    .filter(({ purpose }) => purpose === 'heartbeat' || purpose === 'claim')
    .map((lease) => {
      const { purpose, name, state } = lease;
      const text = `${name}: ${holderText(lease)}${elsewhere(lease, namespace)}`;
      return line(`  ${purpose}`, state === 'Held', text, screen);
    })
    .join('');

const webhookText = (webhook: WebhookStatus, screen: Screen): string => {
  const { configuration, authority, service, readyEndpoints } = webhook;
  const isServed = readyEndpoints === null ? null : readyEndpoints > 0;
  const ready = readyEndpoints === null ? 'endpoints not seen' : countText(readyEndpoints, 'ready endpoint');
  const target = service === null ? 'a URL' : `${service.namespace}/${service.name}, ${ready}`;
  return [
    line('  webhook', isServed, `${configuration}: ${entriesText(webhook)} → ${target}`, screen),
    line('  certs', authority !== null && authority.daysLeft >= WARN_DAYS, authorityText(webhook), screen),
  ].join('');
};

/** The namespace, then facts that are wrapped under it. */
const headText = (namespace: string, facts: string, { strong, wrap }: Screen): string => {
  const title = `Namespace ${clean(namespace)}`;
  const text = wrap(`${title}: ${facts}`, '  ').slice(2);
  return text.startsWith(title) ? `${strong(title)}${text.slice(title.length)}` : text;
};

const installationText = (installation: InstallationStatus, screen: Screen): string => {
  const { namespace, release, modes, webhooks, components } = installation;
  const images = [...new Set(components.map(({ image }) => imageText(image)))].join(', ');
  const facts = [`release ${release}`, images, ...(modes === null ? [] : [`modes ${modes.join(', ')}`])];
  return [
    `\n${headText(namespace, facts.join('; '), screen)}`,
    componentsText(installation, screen),
    leasesText(installation, screen),
    ...webhooks.map((webhook) => webhookText(webhook, screen)),
  ].join('');
};

const OUTCOMES = {
  Hinted: 'hints came back',
  NotHinted: 'came back without hints',
  Refused: 'refused',
  Unknown: 'not tried',
} as const;

const admissionText = ({ admission }: StatusReport, screen: Screen): string => {
  const { probes, strays } = admission;
  return [
    ...strays.map((stray) => webhookText(stray, screen)),
    ...probes.map(({ namespace, outcome, milliseconds, message }) => {
      const took = milliseconds === undefined ? '' : ` in ${milliseconds} ms`;
      const why = message === '' ? '' : `: ${message}`;
      const where = namespace === '' ? '' : ` in namespace ${namespace}`;
      const ok = outcome === 'Unknown' ? null : outcome === 'Hinted';
      return line('DRY RUN', ok, `slice${where}: ${OUTCOMES[outcome]}${took}${why}`, screen);
    }),
  ].join('');
};

const servicesText = ({ services }: StatusReport, screen: Screen): string => {
  if (services === null) return line('SERVICES', null, 'not seen', screen);
  const { count, effective, assumed, unknown, ineffective, notWanted, causes } = services;
  const why = causes.map(({ reason, services: own }) => `${reason} ${own}`).join(', ');
  const rest = [
    ...(assumed === 0 ? [] : [`${assumed} effective if the router is as assumed`]),
    ...(unknown === 0 ? [] : [`${unknown} with an unknown router`]),
    ...(ineffective === 0 ? [] : [`${ineffective} not`]),
    ...(notWanted === 0 ? [] : [`${notWanted} not wanted`]),
  ].map((text) => `, ${text}`);
  const text = `${countText(count, 'managed Service')}: ${effective} effective${rest.join('')}${why === '' ? '' : ` (${why})`}`;
  return line('SERVICES', ineffective === 0, text, screen);
};

const STANDS: Readonly<Record<string, boolean>> = { Evacuated: true, Refused: false };

const evacuationsText = ({ evacuations }: StatusReport, screen: Screen): string => {
  if (evacuations === null) return '';
  const running = evacuations.running.map(({ zone, until, phase, services, reason }) => {
    const end = until === undefined ? '' : ` until ${timeText(until)}`;
    const why = reason === '' ? '' : ` (${reason})`;
    const how = [phase === '' ? 'not begun' : phase, services].filter((text) => text !== '').join(', ');
    return line('EVACUATION', STANDS[phase] ?? null, `${zone}${end}${why}: ${how}`, screen);
  });
  const overdue = evacuations.overdue.map(({ zone, slices }) =>
    line('EVACUATION', false, `${zone} is over, and ${countText(slices, 'slice')} still show it`, screen),
  );
  return [...running, ...overdue].join('');
};

export const renderStatus = (report: StatusReport, style: Style): string => {
  const screen = screenFor(style);
  const findings = report.findings.map((each) => findingText(each, screen)).join('');
  const parts = [admissionText, servicesText, evacuationsText].map((textOf) => textOf(report, screen));
  const admission = [routersText(report, ' '.repeat(12), screen), ...parts].join('');
  return [
    verdictText(report, screen),
    clusterText(report, screen),
    findings === '' ? '' : `\n${findings}`,
    ...report.installations.map((installation) => installationText(installation, screen)),
    report.verdict !== 'NotInstalled' || report.admission.strays.length > 0 ? `\n${admission}` : '',
    screen.unseen(report.unseen),
  ].join('');
};
