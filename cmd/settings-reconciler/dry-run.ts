// What the reconciler would change, as a table or as JSON: decisions from the caches, not a single write.
import type { SettingsReconcilerConfiguration } from '../../pkg/apis/config/settings-reconciler.ts';
import { type SettingsCaches, namespaceNames } from '../../pkg/controllers/settings/caches.ts';
import { type NamespaceDecision, createContext } from '../../pkg/controllers/settings/context.ts';
import { createDecider, createReleaseDecider } from '../../pkg/controllers/settings/decider.ts';
import { describeSettings, summaryReasonOf } from '../../pkg/controllers/settings/reporter.ts';
import { renderJson, renderTable } from '../../pkg/report/text.ts';
import type { KubernetesVersion } from '../../pkg/routing/types.ts';
import { formatVersion } from '../../pkg/routing/version.ts';

/** All decisions, what is to be released included, namespaces in name order. */
export const collectDecisions = (
  caches: SettingsCaches,
  config: SettingsReconcilerConfiguration,
  version: KubernetesVersion | undefined,
  routers: Parameters<typeof createContext>[2],
): NamespaceDecision[] => {
  const options = { caches, config, context: createContext(caches, { current: version }, routers) };
  const [decide, decideRelease] = [createDecider(options), createReleaseDecider(options)];
  const names = namespaceNames(caches).sort();
  return names.flatMap((name) => decide(name) ?? decideRelease(name) ?? []);
};

/**
 * What would be written, field by field; what stays without settings, and why; what becomes of the client Services of Etcds, which are
 * never written; and how many Services have all they should have. `null`: not set, or not known.
 */
export const reportOf = (decisions: readonly NamespaceDecision[], version: KubernetesVersion | undefined) => {
  const objects = decisions.flatMap((decision) => decision.objects);
  const changes = objects.flatMap((item) =>
    item.plan.kind === 'unchanged'
      ? []
      : item.plan.changes.map(({ field, before, after }) => ({
          namespace: item.ref.namespace,
          kind: item.kind,
          name: item.ref.name,
          field,
          before: before ?? null,
          after: after ?? null,
          reason: summaryReasonOf(item),
        })),
  );
  const refused = objects.flatMap((item) => {
    const { kind, ref, decision } = item;
    if (decision.kind === 'enabled') return [];
    return [{ namespace: ref.namespace, kind, name: ref.name, reason: decision.reason, message: decision.message }];
  });
  const wanted = objects.filter(({ want }) => want !== undefined);
  const unchanged = wanted.filter(({ kind, plan }) => kind === 'Service' && plan.kind === 'unchanged').length;
  const etcds = wanted
    .filter(({ kind }) => kind === 'Etcd')
    .map((item) => ({ namespace: item.ref.namespace, name: item.ref.name, settings: describeSettings(item) }));
  const kubernetesVersion = version === undefined ? null : formatVersion(version);
  return { kubernetesVersion, changes, refused, etcds, unchanged };
};

/** The report as text for a terminal (`table`) or for programs (`json`), ending in a line break. */
export const renderReport = (report: ReturnType<typeof reportOf>, format: 'table' | 'json'): string => {
  if (format === 'json') return renderJson(report);
  const { changes, refused, etcds, unchanged, kubernetesVersion } = report;
  const tables = [
    {
      header: ['NAMESPACE', 'OBJECT', 'FIELD', 'BEFORE', 'AFTER', 'REASON'],
      rows: changes.map((row) => [
        row.namespace,
        `${row.kind}/${row.name}`,
        row.field,
        row.before ?? '-',
        row.after ?? '-',
        row.reason,
      ]),
    },
    { header: ['NAMESPACE', 'ETCD', 'SETTINGS'], rows: etcds.map((row) => [row.namespace, row.name, row.settings]) },
    {
      header: ['NAMESPACE', 'OBJECT', 'REASON', 'MESSAGE'],
      rows: refused.map((row) => [row.namespace, `${row.kind}/${row.name}`, row.reason, row.message]),
    },
  ];
  const touched = new Set(changes.map(({ namespace, kind, name }) => `${kind}/${namespace}/${name}`)).size;
  const summary = `Kubernetes ${kubernetesVersion ?? 'unknown'}: ${touched} Service(s) would be changed, ${unchanged} are up to date, ${etcds.length} Etcd(s) would be hinted, ${refused.length} object(s) are refused. Nothing was written.`;
  const shown = tables.filter(({ rows }) => rows.length > 0).map(({ header, rows }) => renderTable(header, rows));
  return [...shown, `${summary}\n`].join('\n');
};
