// What makes Pods in manifests beside Deployments and the like: DaemonSets, and custom resources that an operator makes Pods of.
import { isFields } from '../../apis/values.ts';
import { fieldsIn, pickTexts, stringsIn } from '../project/fields.ts';
import { type Workload, workloadOf } from '../project/workloads.ts';

/** Kinds of prometheus-operator, which sets the labels of their Pods as its definitions say, beside those of `spec.podMetadata`. */
const OPERATED: Readonly<Record<string, string>> = { Prometheus: 'prometheus', Alertmanager: 'alertmanager' };

const operatedLabels = (kind: string, name: string): Record<string, string> => {
  const app = OPERATED[kind];
  if (app === undefined) return {};
  const labels = {
    [app]: name,
    'app.kubernetes.io/name': app,
    'app.kubernetes.io/instance': name,
    'app.kubernetes.io/managed-by': 'prometheus-operator',
  };
  return kind === 'Prometheus' ? { ...labels, 'operator.prometheus.io/name': name } : labels;
};

/** Undefined for what has no Pods whose labels are known. */
export const templateOwnerOf = (object: unknown): Workload | undefined => {
  if (!isFields(object)) return undefined;
  const { apiVersion, kind } = pickTexts(object, 'apiVersion', 'kind');
  const { name, namespace } = pickTexts(object, 'metadata.name', 'metadata.namespace');
  const [group = ''] = apiVersion.split('/');
  // Groups of Kubernetes itself have no dot, but for those that hold no Pods.
  if (kind !== 'DaemonSet' && !group.includes('.')) return undefined;
  const spec = fieldsIn(object, 'spec');
  const template = fieldsIn(spec, spec['podTemplate'] === undefined ? 'template' : 'podTemplate');
  const operated = { ...stringsIn(spec, 'podMetadata.labels'), ...operatedLabels(kind, name) };
  // Where there is no template, the spec itself says where the Pods may run.
  const pods =
    Object.keys(operated).length === 0
      ? { metadata: { labels: stringsIn(template, 'metadata.labels') }, spec: fieldsIn(template, 'spec') }
      : { metadata: { labels: operated }, spec };
  if (name === '' || Object.keys(pods.metadata.labels).length === 0) return undefined;
  return workloadOf({ ...object, spec: { ...spec, template: pods } }, { name, namespace: namespace || 'default' });
};
