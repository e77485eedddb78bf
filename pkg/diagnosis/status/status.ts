// SPDX-License-Identifier: Apache-2.0
// Judges installations of the chart: what runs, who leads, whether admission acts, and what went wrong last.
import { EXTENSION_NAME, GROUP } from '../../apis/names.ts';
import { isNodeReady } from '../../apis/readings.ts';
import { markOf } from '../../evacuation/decide.ts';
import { routersOf } from '../routers/of-snapshot.ts';
import { routersReport } from '../routers/report.ts';
import { itemsOf } from '../snapshot.ts';
import { clusterStatus } from './cluster.ts';
import type { StatusEvidence } from './evidence.ts';
import { statusFindings } from './findings.ts';
import { installationStatuses } from './installations.ts';
import { LABEL_NAME } from './read-workloads.ts';
import { NOTES } from './reasons.ts';
import { flowStatus, servicesStatus } from './services.ts';
import type { StatusReport } from './types.ts';
import { webhookStatuses } from './webhooks.ts';
import { byText } from '../../apis/order.ts';

/** Selects everything that the chart renders. */
export const CHART_SELECTOR = `${LABEL_NAME}=${EXTENSION_NAME}`;
/** apiVersion of what a status prints and of what a bundle keeps. */
export const STATUS_API_VERSION = `status.${GROUP}/v1alpha1`;

export interface StatusOptions {
  /** Most events that are reported, the newest first. */
  readonly events: number;
}

const extensionsOf = ({ extensions, unseen }: StatusEvidence): StatusReport['extensions'] => {
  if (unseen.some(({ what }) => what === 'extensions')) return null;
  const failing = extensions.filter(({ lastError, conditions }) => lastError !== '' || conditions.length > 0);
  return { count: extensions.length, failing };
};

const evacuationsOf = ({ snapshot, now }: StatusEvidence): StatusReport['evacuations'] => {
  if (snapshot.evacuations.kind === 'unknown' || snapshot.slices.kind === 'unknown') return null;
  const running = itemsOf(snapshot.evacuations).filter(({ until = 0 }) => until > now);
  const left = new Set(running.map(({ zone }) => zone));
  const zones = itemsOf(snapshot.slices).flatMap((slice) => [...(markOf(slice)?.out.keys() ?? [])]);
  const overdue = [...Map.groupBy(zones, (zone) => zone)].filter(([zone]) => !left.has(zone));
  return {
    running,
    overdue: overdue.map(([zone, own]) => ({ zone, slices: own.length })).sort((a, b) => byText(a.zone, b.zone)),
  };
};

export const status = (evidence: StatusEvidence, { events }: StatusOptions): StatusReport => {
  const { snapshot, namespace, serverVersion, probes, policies } = evidence;
  const cluster = clusterStatus(snapshot, serverVersion);
  const webhooks = webhookStatuses(evidence);
  const installations = installationStatuses(evidence, webhooks);
  const found = new Set(installations.map((installation) => installation.namespace));
  // Where one namespace was looked at, others may have installations as well.
  const strays = namespace === undefined ? webhooks.filter(({ service }) => !found.has(service?.namespace ?? '')) : [];
  const admission = {
    strays,
    policies: policies.map(({ kind, name, warnings }) => ({ kind, name, warnings })),
    probes,
  };
  const services = servicesStatus(evidence);
  const findings = statusFindings({ cluster, installations, admission, services }, evidence);
  const bad = findings.some(({ reason }) => !NOTES.has(reason));
  return {
    apiVersion: STATUS_API_VERSION,
    kind: 'TopologyStatus',
    time: new Date(evidence.now).toISOString(),
    verdict: installations.length === 0 ? 'NotInstalled' : bad ? 'Degraded' : 'Healthy',
    lookedFor: { labelSelector: CHART_SELECTOR, namespace: namespace ?? null },
    cluster,
    ...routersReport(itemsOf(snapshot.nodes).filter(isNodeReady), routersOf(snapshot)),
    installations,
    admission,
    services,
    flowPolicies: flowStatus(snapshot),
    extensions: extensionsOf(evidence),
    evacuations: evacuationsOf(evidence),
    events: evidence.events.toSorted((a, b) => byText(b.lastSeen, a.lastSeen)).slice(0, events),
    findings,
    unseen: evidence.unseen,
  };
};
