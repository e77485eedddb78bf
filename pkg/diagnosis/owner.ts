// Who owns an object, by the marks that it carries, and where its owner wants a change: another one reverts a patch of the object.
import type { ObjectMeta, StringMap } from '../apis/meta.ts';
import { type Fields, defined, picked } from '../apis/values.ts';
import type { KubernetesVersion } from '../routing/types.ts';
import { isAuto } from '../routing/slots.ts';
import { atLeast } from '../routing/version.ts';
import { listIn, pickTexts, textIn } from './project/fields.ts';

/** What of an object says who owns it. */
export type Marks = Pick<ObjectMeta, 'name' | 'labels' | 'annotations' | 'ownerReferences' | 'managedFields'>;

/** Names of the marks in labels and annotations. */
const LABELS = [
  'app.kubernetes.io/managed-by',
  'helm.sh/chart',
  'helm.toolkit.fluxcd.io/name',
  'kustomize.toolkit.fluxcd.io/name',
  'eks.amazonaws.com/component',
  'addonmanager.kubernetes.io/mode',
  'kubernetes.azure.com/managedby',
] as const;
const ANNOTATIONS = [
  'meta.helm.sh/release-name',
  'argocd.argoproj.io/tracking-id',
  'objectset.rio.cattle.io/owner-gvk',
  'objectset.rio.cattle.io/owner-name',
] as const;

/** The controller of an object, and who else wrote to it, by name. */
export const writersIn = (object: Fields): Pick<Marks, 'ownerReferences' | 'managedFields'> => {
  const controllers = listIn(object, 'metadata.ownerReferences').filter(({ controller }) => controller === true);
  const managers = new Set(listIn(object, 'metadata.managedFields').map((entry) => textIn(entry, 'manager')));
  return {
    ...(controllers.length === 0
      ? {}
      : { ownerReferences: controllers.map((one) => pickTexts(one, 'apiVersion', 'kind', 'name', 'uid')) }),
    ...(managers.size === 0 ? {} : { managedFields: [...managers].map((manager) => ({ manager })) }),
  };
};

/** Of a workload, which is kept without its labels and annotations; undefined where nothing says who owns it. */
export const marksIn = (object: Fields, { name, labels, annotations }: ObjectMeta): Marks | undefined => {
  const found = { labels: picked(labels, LABELS), annotations: picked(annotations, ANNOTATIONS), ...writersIn(object) };
  const some = Object.values(found).some((marks) => Object.keys(marks).length > 0);
  return some ? { ...defined({ name }), ...found } : undefined;
};

/** What is to be changed. */
export interface Change {
  /** The field, as a JSON pointer. */
  readonly pointer: string;
  /** The value that `spec.trafficDistribution` is to have. */
  readonly distribution?: string | undefined;
}

/** Helm values by chart that were read in its templates. */
const CHART_VALUES: Readonly<Record<string, string>> = {
  coredns: 'service.trafficDistribution (chart from 1.35.0)',
  'ingress-nginx': 'controller.service.trafficDistribution',
  istiod: 'trafficDistribution (chart from 1.27)',
};

/** Fields of custom resources that their operators make a Service from, by API group. */
const SERVICE_FIELDS: Readonly<Record<string, string>> = {
  // elastic.co/guide/en/cloud-on-k8s, "Services"
  'k8s.elastic.co': 'spec.http.service',
};

/** Groups of the API server's own controllers. */
const BUILT_IN: ReadonlySet<string> = new Set(['', 'apps', 'batch', 'discovery.k8s.io', 'autoscaling']);

/** Names that the DNS add-on's Service has had. */
const DNS_ADD_ON: ReadonlySet<string> = new Set(['coredns', 'kube-dns']);

/** First minor that serves `v1`, KEP-3962. */
const MUTATING_POLICIES_SINCE = 36;

interface Question extends Change {
  readonly labels: StringMap;
  readonly annotations: StringMap;
  readonly name: string;
  readonly managers: ReadonlySet<string>;
  readonly owner: { readonly apiVersion: string; readonly kind: string; readonly name: string } | undefined;
  readonly version: KubernetesVersion;
}

const byEks = ({ labels, annotations, managers, name }: Question): string | undefined => {
  const addOn = labels['eks.amazonaws.com/component'] ?? (managers.has('eks') ? name : undefined);
  if (addOn === undefined) return undefined;
  // The one value that is known: of no use where it is set already, and the CPU heuristic is what does not work.
  const isSet = Object.values(annotations).some(isAuto);
  return DNS_ADD_ON.has(addOn) && !isSet
    ? `# EKS owns it: aws eks update-addon --cluster-name <cluster> --addon-name coredns --configuration-values '{"annotationTopologyMode":"Auto"}'`
    : '# EKS owns it: an update of the add-on may undo the command, unless its configuration has a value for it (aws eks describe-addon-configuration)';
};

const byAddOnManager = ({ labels, version }: Question): string | undefined => {
  if (labels['addonmanager.kubernetes.io/mode'] !== 'Reconcile') return undefined;
  const policy = atLeast(version, MUTATING_POLICIES_SINCE) ? 'a MutatingAdmissionPolicy or ' : '';
  return `# the add-on manager rewrites it: use ${policy}a Kyverno rule on Services instead (Kyverno has to be installed)`;
};

const byAks = ({ labels }: Question): string | undefined =>
  labels['kubernetes.azure.com/managedby'] === 'aks' ? '# AKS owns it and writes it back' : undefined;

/** docs.k3s.io/installation/packaged-components */
const byK3s = ({ annotations }: Question): string | undefined => {
  if (annotations['objectset.rio.cattle.io/owner-gvk']?.startsWith('k3s.cattle.io/') !== true) return undefined;
  const addOn = annotations['objectset.rio.cattle.io/owner-name'] ?? '';
  return `# k3s writes it back from ${addOn}.yaml in /var/lib/rancher/k3s/server/manifests, and that file too if k3s brings it: then start k3s with --disable=${addOn} and put a manifest of your own there`;
};

const byOperator = ({ owner, pointer }: Question): string | undefined => {
  const group = owner?.apiVersion.includes('/') === true ? (owner.apiVersion.split('/')[0] ?? '') : '';
  if (owner === undefined || BUILT_IN.has(group)) return undefined;
  const who = `${owner.kind} ${owner.name}`;
  const field = Object.entries(SERVICE_FIELDS).find(([known]) => group === known || group.endsWith(`.${known}`))?.[1];
  return field === undefined || pointer.startsWith('/spec/template') || pointer === '/spec/replicas'
    ? `# ${who} owns it, and its operator may revert the command: make the change there if it has a field for it`
    : `# ${who} owns it, and its operator reverts the command: make the change under ${field} there`;
};

const byFlux = ({ labels, managers }: Question): string | undefined => {
  const [set, release] = [labels['kustomize.toolkit.fluxcd.io/name'], labels['helm.toolkit.fluxcd.io/name']];
  if (set !== undefined) return `# Flux owns it: the same change under spec.patches of Kustomization ${set}`;
  if (release !== undefined)
    return `# Flux owns it: a value of the chart under spec.values of HelmRelease ${release}, or the same change under spec.postRenderers`;
  return managers.has('kustomize-controller') ? '# Flux owns it: make the change in its source' : undefined;
};

const byArgo = ({ annotations, managers, pointer }: Question): string | undefined =>
  annotations['argocd.argoproj.io/tracking-id'] !== undefined || managers.has('argocd-controller')
    ? `# Argo CD owns it: change the source, or ignoreDifferences jsonPointers: [${pointer}] with syncOptions: [RespectIgnoreDifferences=true]`
    : undefined;

const byHelm = ({ labels, annotations, managers, distribution }: Question): string | undefined => {
  const isHelms =
    labels['app.kubernetes.io/managed-by'] === 'Helm' ||
    annotations['meta.helm.sh/release-name'] !== undefined ||
    managers.has('helm');
  if (!isHelms) return undefined;
  const value = CHART_VALUES[(labels['helm.sh/chart'] ?? '').replace(/-v?\d.*$/, '')];
  return value === undefined || distribution === undefined
    ? '# Helm owns it: set it in the values of the chart where it has one, or in a post-renderer; an upgrade may undo the command'
    : `# Helm owns it: value ${value}: ${distribution}`;
};

/** In this order: what Flux or Argo CD install by Helm carries Helm's marks too. */
const OWNERS = [byEks, byAddOnManager, byAks, byK3s, byOperator, byFlux, byArgo, byHelm] as const;

/** A line for the person who would patch the object; undefined where nothing says that another one owns it. */
export const ownerNote = (marks: Marks, change: Change, version: KubernetesVersion): string | undefined => {
  const { name = '', labels = {}, annotations = {}, ownerReferences = [], managedFields = [] } = marks;
  const managers = new Set(managedFields.map((entry) => textIn(entry, 'manager')));
  const [owner] = ownerReferences;
  const question = { ...change, name, labels, annotations, managers, owner, version };
  for (const by of OWNERS) {
    const note = by(question);
    if (note !== undefined) return note;
  }
  return undefined;
};
