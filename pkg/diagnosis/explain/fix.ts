// SPDX-License-Identifier: Apache-2.0
// The commands that mend a cause, with the value that this version and these data planes read, and where the owner of the
// Service would undo them, what to set there instead.
import { ANNOTATION_TOPOLOGY_AWARE_HINTS, ANNOTATION_TOPOLOGY_MODE, LABEL_ZONE } from '../../apis/names.ts';
import { isMadeByDruid } from '../../routing/etcd-clients.ts';
import { atLeast } from '../../routing/version.ts';
import { readsPreferCloseOnly } from '../../upstream/proxy/cilium.ts';
import { distributionOf } from '../../upstream/index.ts';
import type { Proxy } from '../../upstream/index.ts';
import { zoneOfNode } from '../models/lookup.ts';
import { evacuatedZones } from './evacuated.ts';
import { isBarred } from './spread.ts';
import type { CauseReason, Facts } from './types.ts';

/** Data planes of this kind look at hints of annotated Services only. */
const needsAnnotation = (proxy: Proxy, minor: number): boolean => {
  if (proxy.kind === 'kube-proxy') return minor < 31;
  if (proxy.kind === 'cilium') return proxy.ciliumVersion !== undefined && proxy.ciliumVersion.minor < 16;
  return proxy.kind === 'ruled' && proxy.rule.optIn?.hintsAlone === false;
};

/** The value of `spec.trafficDistribution` that everything here reads; undefined: none does. */
export const distributionFor = ({ version, nodes, index, options }: Facts): string | undefined => {
  const routings = nodes.map((node) => index.routers.of(node).routing);
  if (routings.some(({ proxy, version: own }) => needsAnnotation(proxy, own.minor))) return undefined;
  const onlyClose = routings.some(
    ({ proxy }) =>
      proxy.kind === 'cilium' && proxy.ciliumVersion !== undefined && readsPreferCloseOnly(proxy.ciliumVersion),
  );
  const wanted = onlyClose ? ['PreferClose'] : ['PreferSameZone', 'PreferClose'];
  return wanted.find((value) => distributionOf(value, version, options.gates) !== undefined);
};

const target = ({ ref }: Facts): string => `service ${ref.name} -n ${ref.namespace}`;

const presentAnnotation = ({ service }: Facts): string | undefined =>
  [ANNOTATION_TOPOLOGY_AWARE_HINTS, ANNOTATION_TOPOLOGY_MODE].find(
    (key) => service.metadata?.annotations?.[key] !== undefined,
  );

const patchField = (facts: Facts, value: string): string =>
  `kubectl patch ${target(facts)} --type merge -p '{"spec":{"trafficDistribution":"${value}"}}'`;

const annotationKey = ({ version }: Facts): string =>
  atLeast(version, 27) ? ANNOTATION_TOPOLOGY_MODE : ANNOTATION_TOPOLOGY_AWARE_HINTS;

const annotate = (facts: Facts): string =>
  `kubectl annotate ${target(facts)} --overwrite ${annotationKey(facts)}=${atLeast(facts.version, 27) ? 'Auto' : 'auto'}`;

/** Asks in words that count everywhere; an annotation in the way of the field is removed. */
const ask = (facts: Facts): string[] => {
  const value = distributionFor(facts);
  if (value === undefined) return [annotate(facts)];
  const key = presentAnnotation(facts);
  const set = facts.service.spec?.trafficDistribution === value ? [] : [patchField(facts, value)];
  return [...(key === undefined ? [] : [`kubectl annotate ${target(facts)} ${key}-`]), ...set];
};

/** The field instead of the CPU heuristic, where something here reads it. */
const useField = (facts: Facts): string[] => (distributionFor(facts) === undefined ? [] : ask(facts));

const unlabelled = ({ nodes }: Facts): string[] =>
  nodes
    .filter((node) => zoneOfNode(node) === '')
    .slice(0, 1)
    .map(({ metadata }) => `kubectl label node ${metadata?.name ?? ''} ${LABEL_ZONE}=<zone of the Node>`);

/** A HorizontalPodAutoscaler would undo another number of replicas. */
const scale = ({ workloads, autoscalers, clientZones, ref }: Facts): string[] =>
  workloads
    .filter(({ replicas }) => replicas < clientZones.length)
    .map(({ kind, name }) => {
      const own = autoscalers.find(
        (each) => each.kind === 'HorizontalPodAutoscaler' && each.targetKind === kind && each.targetName === name,
      );
      return own === undefined
        ? `kubectl scale ${kind.toLowerCase()} ${name} -n ${ref.namespace} --replicas=${clientZones.length}`
        : `kubectl patch hpa ${own.name} -n ${ref.namespace} --type merge -p '{"spec":{"minReplicas":${clientZones.length}}}'`;
    });

/** Where Nodes keep the Pods away, a constraint would leave them pending. */
const BARRED_NOTE =
  '# Nodes keep the Pods away: give the Pods a toleration or other affinity, or add Nodes that take them';

const spreadOut = (facts: Facts): string[] =>
  facts.workloads
    .filter(
      ({ spread, kind }) => spread.every(({ topologyKey }) => topologyKey !== LABEL_ZONE) && kind !== 'ReplicaSet',
    )
    .map(({ kind, name }) => {
      const selector = { matchLabels: facts.service.spec?.selector ?? {} };
      const constraint = {
        maxSkew: 1,
        topologyKey: LABEL_ZONE,
        whenUnsatisfiable: 'DoNotSchedule',
        labelSelector: selector,
      };
      const patch = { spec: { template: { spec: { topologySpreadConstraints: [constraint] } } } };
      // Strategic: constraints on other keys stay.
      return `kubectl patch ${kind.toLowerCase()} ${name} -n ${facts.ref.namespace} -p '${JSON.stringify(patch)}'`;
    });

const CILIUM_TOPOLOGY = [
  'helm upgrade cilium cilium/cilium -n kube-system --reuse-values --set loadBalancer.serviceTopology=true',
  'kubectl -n kube-system rollout restart daemonset/cilium',
];

const FIXES: Partial<Readonly<Record<CauseReason, (facts: Facts) => readonly string[]>>> = {
  NotRequested: ask,
  AnnotationNotRecognized: ask,
  AnnotationKeyNotRead: ask,
  AnnotationWins: useField,
  TrafficDistributionNotRecognized: ask,
  CiliumNotOptedIn: ask,
  RouterNotOptedIn: (facts) => [annotate(facts)],
  ProxyNeedsAnnotation: (facts) => [annotate(facts)],
  OverloadThreshold: useField,
  TooFewEndpoints: useField,
  HintsLost: useField,
  NodeWithoutCpu: useField,
  NodeWithoutZone: unlabelled,
  ClientNodeWithoutZone: unlabelled,
  EndpointWithoutZone: unlabelled,
  CiliumServiceTopologyOff: () => CILIUM_TOPOLOGY,
  SingleEndpoint: scale,
  Evacuated: (facts) => evacuatedZones(facts).map((zone) => `kubectl topology return ${zone}`),
  PodsNotSpread: (facts) => (isBarred(facts) ? [BARRED_NOTE] : [...scale(facts), ...spreadOut(facts)]),
};

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

/** Who would write the Service anew, and what to tell it; undefined where nothing shows an owner. */
const ownerNote = (facts: Facts): string | undefined => {
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

const CHANGES_SERVICE = /^kubectl (?:patch|annotate) service /;

/** Its `etcdcomponents` webhook denies everybody else to update it. */
const DRUID_NOTE =
  '# etcd-druid owns it and denies the change: switch topologyAwareRouting on in the Seed or Garden instead';

/** Commands in their order; empty where no command mends the cause. */
export const fixOf = (reason: CauseReason, facts: Facts): readonly string[] => {
  const commands = FIXES[reason]?.(facts) ?? [];
  if (isMadeByDruid(facts.service) && commands.some((command) => CHANGES_SERVICE.test(command))) {
    return [...commands.filter((command) => !CHANGES_SERVICE.test(command)), DRUID_NOTE];
  }
  const note = commands.some((command) => CHANGES_SERVICE.test(command)) ? ownerNote(facts) : undefined;
  return note === undefined ? commands : [...commands, note];
};
