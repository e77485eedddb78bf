// Objects of kinds that are not known here, reduced to the Services that they name: what acts on them may go around those.
import { type Fields, isFields } from '../../apis/values.ts';
import { objectsIn, pickTexts, textIn } from './fields.ts';

/**
 * Kubernetes' own, and of what certifies, releases, scales, backs up, monitors or calls by name: cert-manager usage/certificate.md, argo-cd operator-manual/application.yaml,
 * fluxcd/helm-controller helmreleases.md, keda-docs scaling-deployments.md, velero api-types/backup.md, prometheus-operator and VictoriaMetrics/operator api.md,
 * opentelemetry-operator instrumentations.md, external-secrets secretstore.md, grafana-operator datasources.md
 */
const SENDS_NOTHING =
  /(?:^|[-.])(?:(?:k8s|cert-manager|argoproj|fluxcd|velero|opentelemetry|external-secrets)\.io|keda\.sh|monitoring\.coreos\.com|victoriametrics\.com|integreatly\.org)$/;

const SENT_TO = /^(?:(?:service|target|backend)?_?port(?:name|number)?|weight)$/i;
/** Lists of what something listens on itself, whose items have names of their own. */
const LISTENS = /(?:port|listener|entrypoint)s$/i;

/** Services that what stands under a key names by its form, as `namespace/name`; a name in DNS leads to the cluster IP. */
const placesIn = (key: string, value: unknown, beside: string): string[] => {
  if (!isFields(value)) return [];
  const { apiVersion, group, kind, service, serviceName, name } = value;
  const isCore = /^(?:v1)?,(?:core)?,(?:Service)?$/.test([apiVersion, group, kind].join());
  const isSent = kind === 'Service' || (!LISTENS.test(key) && Object.keys(value).some((own) => SENT_TO.test(own)));
  const names = isCore ? [service, isSent ? (serviceName ?? name) : undefined] : [];
  return names.filter((own) => typeof own === 'string').map((own) => `${textIn(value, 'namespace') || beside}/${own}`);
};

/** Services that an object of a kind without a row names, each alone; none where its group sends nothing. */
export const referencesOf = ({ metadata, status: _, ...object }: Fields, group: string) => {
  if (!group.includes('.') || SENDS_NOTHING.test(group)) return [];
  const { namespace, name } = pickTexts(metadata, 'namespace', 'name');
  const inside = objectsIn(object).flatMap((own) => Object.entries(own));
  const places = inside.flatMap(([key, value]) =>
    [value].flat().flatMap((item: unknown) => placesIn(key, item, namespace || 'default')),
  );
  return [...new Set(places)].map((service) => ({ group, ...pickTexts(object, 'kind'), namespace, name, service }));
};

export type Reference = Readonly<ReturnType<typeof referencesOf>[number]>;
