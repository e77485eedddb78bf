// Where the owner of a Service would undo a command: what to set there instead.
import { atLeast } from '../../routing/version.ts';
import { annotationKey, distributionFor, presentAnnotation } from './asking.ts';
import type { Facts } from './types.ts';

/** Helm values by chart that were read in its templates. */
const CHART_VALUES: Readonly<Record<string, string>> = {
  coredns: 'service.trafficDistribution (chart from 1.35.0)',
  'ingress-nginx': 'controller.service.trafficDistribution',
  istiod: 'trafficDistribution (chart from 1.27)',
};

/** Names that the DNS add-on's Service has had. */
const DNS_ADD_ON: ReadonlySet<string> = new Set(['coredns', 'kube-dns']);
/** First minor that serves `v1`, KEP-3962. */
const MUTATING_POLICIES_SINCE = 36;

/** What the commands change, as JSON pointer. */
const pointerOf = (facts: Facts): string => {
  const key = presentAnnotation(facts) ?? annotationKey(facts);
  return distributionFor(facts) === undefined
    ? `/metadata/annotations/${key.replaceAll('/', '~1')}`
    : '/spec/trafficDistribution';
};

/** Who rewrites the Service, and how to change it there; undefined where nothing shows an owner. */
export const ownerNote = (facts: Facts): string | undefined => {
  const { labels = {}, annotations = {} } = facts.service.metadata ?? {};
  const value = distributionFor(facts);
  const addOn = labels['eks.amazonaws.com/component'];
  if (addOn !== undefined && !DNS_ADD_ON.has(addOn)) {
    return '# EKS owns it: an update of the add-on may undo the command, unless its configuration has a value for it (aws eks describe-addon-configuration)';
  }
  if (addOn !== undefined) {
    return `# EKS owns it: aws eks update-addon --cluster-name <cluster> --addon-name coredns --configuration-values '{"annotationTopologyMode":"Auto"}'`;
  }
  if (labels['addonmanager.kubernetes.io/mode'] === 'Reconcile') {
    const policy = atLeast(facts.version, MUTATING_POLICIES_SINCE) ? 'a MutatingAdmissionPolicy or ' : '';
    return `# the add-on manager rewrites it: use ${policy}a Kyverno rule on Services instead (Kyverno has to be installed)`;
  }
  if (labels['kustomize.toolkit.fluxcd.io/name'] !== undefined) {
    return `# Flux owns it: the same change under spec.patches of Kustomization ${labels['kustomize.toolkit.fluxcd.io/name'] ?? ''}`;
  }
  if (annotations['argocd.argoproj.io/tracking-id'] !== undefined) {
    return `# Argo CD owns it: change the source, or ignoreDifferences jsonPointers: [${pointerOf(facts)}] with syncOptions: [RespectIgnoreDifferences=true]`;
  }
  if (labels['app.kubernetes.io/managed-by'] !== 'Helm') return undefined;
  const chart = (labels['helm.sh/chart'] ?? '').replace(/-v?\d.*$/, '');
  const known = CHART_VALUES[chart];
  return known === undefined || value === undefined
    ? '# Helm owns it: set it in the values of the chart where it has one, or in a post-renderer; an upgrade may undo the command'
    : `# Helm owns it: value ${known}: ${value}`;
};
