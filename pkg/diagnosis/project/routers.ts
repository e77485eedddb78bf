// What shows who load-balances Services and whether hints are written and used: agents, their settings, webhooks and events.
import type { LabelSelector } from '../../apis/admission.ts';
import { type Fields, defined, isFields } from '../../apis/values.ts';
import type { StringMap } from '../../apis/meta.ts';
import { unitsOf } from '../../apis/quantity.ts';
import { parseYaml } from '../../apis/yaml.ts';
import { flagValue } from '../routers/kube-proxy.ts';
import { isAnyAgent } from '../routers/planes.ts';
import { configMapsIn, namesIn } from './names.ts';
import type { RouterObject } from '../routers/types.ts';
import { type Metadata, fieldsIn, imageIn, listIn, pickTexts, stringsIn, textIn, textsIn, wholeIn } from './fields.ts';

const OPERATORS: ReadonlySet<string> = new Set(['In', 'NotIn', 'Exists', 'DoesNotExist']);

export const selectorOf = (selector: unknown): LabelSelector => ({
  matchLabels: stringsIn(selector, 'matchLabels'),
  matchExpressions: listIn(selector, 'matchExpressions').flatMap((inner) => {
    const operator = textIn(inner, 'operator');
    if (!OPERATORS.has(operator)) return [];
    return [{ key: textIn(inner, 'key'), operator: operator as 'In', values: textsIn(inner, 'values') }];
  }),
});

const OF_SLICES = { apiGroups: 'discovery.k8s.io', resources: 'endpointslices', operations: 'UPDATE' };

const servesSlices = (rule: Fields): boolean =>
  Object.entries(OF_SLICES).every(([field, own]) => textsIn(rule, field).some((each) => [own, '*'].includes(each)));

export type WebhookSummary = Readonly<ReturnType<typeof webhooksOf>[number]> & {
  /** End of the validity of the certificate that is valid longest, milliseconds since the epoch; undefined: none could be read. */
  readonly caNotAfter?: number;
};

/** `caNotAfter` is filled in where certificates can be read. */
export const webhooksOf = (object: Fields, { name: configuration }: Metadata) =>
  listIn(object, 'webhooks').map((item) => {
    const { name, failurePolicy } = pickTexts(item, 'name', 'failurePolicy');
    const service = pickTexts(fieldsIn(item, 'clientConfig.service'), 'namespace', 'name');
    return {
      configuration,
      name,
      slices: listIn(item, 'rules').some(servesSlices),
      objectSelector: item['objectSelector'] === undefined ? {} : selectorOf(item['objectSelector']),
      namespaceSelector: item['namespaceSelector'] === undefined ? {} : selectorOf(item['namespaceSelector']),
      failurePolicy: failurePolicy || 'Fail',
      ...defined({
        // None for a URL.
        service: service.name === '' ? undefined : service,
        caBundle: textIn(item, 'clientConfig.caBundle') || undefined,
      }),
    };
  });

export type EventSummary = Readonly<NonNullable<ReturnType<typeof eventOf>>>;

/** Undefined where it is neither about a Service nor warns of a Pod. Reads core/v1 and events.k8s.io/v1. */
export const eventOf = (object: Fields, metadata: Metadata) => {
  const regarding = fieldsIn(object, object['involvedObject'] === undefined ? 'regarding' : 'involvedObject');
  const { kind, namespace, name } = pickTexts(regarding, 'kind', 'namespace', 'name');
  if (kind !== 'Service' && `${kind} ${textIn(object, 'type')}` !== 'Pod Warning') return undefined;
  return {
    namespace: namespace || (metadata.namespace ?? ''),
    of: `${kind}/${name}`,
    ...pickTexts(object, 'type', 'reason'),
    message: textIn(object, 'message') || textIn(object, 'note'),
    /** RFC 3339; empty if not known. */
    lastSeen:
      textIn(object, 'lastTimestamp') || textIn(object, 'series.lastObservedTime') || textIn(object, 'eventTime'),
  };
};

/** Of Calico, Weave Net and kube-vip. */
const KEPT_VARIABLES = /^(?:FELIX_.*|NO_MASQ_LOCAL|svc_election|bgp_enable|vip_arp|vip_routingtable)$/;

const containersOf = (podSpec: Fields) =>
  listIn(podSpec, 'containers').map((container) => {
    const env = listIn(container, 'env').map((item) => [textIn(item, 'name'), textIn(item, 'value')] as const);
    const kept = env.filter(([name, value]) => KEPT_VARIABLES.test(name) && value !== '');
    const args = [...textsIn(container, 'command'), ...textsIn(container, 'args')];
    return { ...pickTexts(container, 'name'), image: imageIn(container), args, env: Object.fromEntries(kept) };
  });

/** Node selector and the terms of a required node affinity, as alternatives. */
export const selectorsOf = (podSpec: Fields): LabelSelector[] => {
  const matchLabels = stringsIn(podSpec, 'nodeSelector');
  const path = 'affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms';
  const terms = listIn(podSpec, path).map((term) => selectorOf(term).matchExpressions ?? []);
  if (terms.length > 0) return terms.map((matchExpressions) => ({ matchLabels, matchExpressions }));
  return Object.keys(matchLabels).length === 0 ? [] : [{ matchLabels, matchExpressions: [] }];
};

const scheduled = (object: Fields, which: string): number => wholeIn(object, `status.${which}NumberScheduled`) ?? 0;

/** Undefined while the DaemonSet's controller has not seen its last change, or a Pod is still to come or of an older template. */
const scheduledOf = (object: Fields): number | undefined => {
  const [desired, observed] = [scheduled(object, 'desired'), wholeIn(object, 'status.observedGeneration')];
  const seen = observed !== undefined && observed === wholeIn(object, 'metadata.generation');
  return seen && scheduled(object, 'updated') === desired ? desired : undefined;
};

/** Of what MetalLB announces, and of what Calico does: addresses of load balancers, and externalIPs. */
export const POOLS = 'spec.ipAddressPools';
export const RANGES = 'spec.serviceLoadBalancerIPs';
export const EXTERNAL = 'spec.serviceExternalIPs';

const LISTS = new Set([POOLS, RANGES, EXTERNAL, 'localityLbSetting.distribute']);

/** Plain values, and what these lists name, at any depth by dotted path. */
const scalarsIn = (value: unknown, path = ''): (readonly [string, string])[] => {
  if (isFields(value))
    return Object.entries(value).flatMap(([key, inner]) => scalarsIn(inner, path === '' ? key : `${path}.${key}`));
  if (LISTS.has(path) && Array.isArray(value))
    return [[path, value.map((own) => (isFields(own) ? textIn(own, 'cidr') || 'set' : String(own))).join(',')]];
  return ['string', 'boolean', 'number'].includes(typeof value) ? [[path, String(value)]] : [];
};

const CILIUM_KEYS = /^(?:kube-proxy-replacement|enable-service-topology|bpf-lb-sock|bpf-lb-sock-hostns-only|ipam)$/;
/** Of configuration files of kube-proxy, Antrea and Istio. */
const FILE_KEYS =
  /^(?:featureGates\.|antreaProxy\.|(?:mode|trafficEncapMode|hostnameOverride|ipvs\.(?:scheduler|strictARP)|clientConnection\.kubeconfig|localityLbSetting\.(?:enabled|distribute)|defaultConfig\.tracing\.zipkin\.address|rootNamespace)$)/;
/** Of Terway's CNI configuration, which is JSON. */
const DATAPATH = /"eniip_virtual_type":\s*"(\w+)"/;
/** kube-proxy's, also what a DaemonSet for a pool of Nodes may call its own, Antrea's, and Istio's of any revision, or what AKS merges with that. */
const FILES = /^(?:kube-proxy|antrea-config|istio(?:-|$))/;

const only = (settings: StringMap, keys: RegExp): StringMap =>
  Object.fromEntries(Object.entries(settings).filter(([key]) => keys.test(key)));

/** A longer file is no configuration of these. */
const LONGEST = 100_000;

/** Configuration of kube-proxy, Cilium, Terway, Antrea, Istio or ingress-nginx; undefined for any other ConfigMap. */
const configIn = (object: Fields, name: string): StringMap | undefined => {
  const data = stringsIn(object, 'data');
  if (name === 'cilium-config') return only(data, CILIUM_KEYS);
  if (name === 'eni-config')
    return defined({ eniip_virtual_type: DATAPATH.exec(data['10-terway.conf'] ?? '')?.[1]?.toLowerCase() });
  const upstream = only(data, /^service-upstream$/);
  if (Object.keys(upstream).length > 0) return upstream;
  if (!FILES.test(name) || (name.startsWith('istio') && data['mesh'] === undefined)) return undefined;
  const settings = Object.values(data).flatMap((text) => scalarsIn(parseYaml(text.slice(0, LONGEST))));
  // kubeadm writes `mode: ""` for the default.
  return only(Object.fromEntries(settings.filter(([, value]) => value !== '')), FILE_KEYS);
};

/** Keys whose values are the names that Nodes have for their zones; those of Cinder's driver may differ. */
const ZONE_OF_VOLUME =
  /^(?:topology\.(?:kubernetes\.io|gke\.io|ebs\.csi\.aws\.com|disk\.csi\.azure\.com|diskplugin\.csi\.alibabacloud\.com)|failure-domain\.beta\.kubernetes\.io)\/zone$/;

/** What it shows of a data plane, or of where volumes lie (under the name of the claim), by its kind; undefined for Pods, Deployments and ConfigMaps that are of none. */
export const routerOf = (object: Fields, metadata: Metadata): RouterObject | undefined => {
  const kind = textIn(object, 'kind');
  const { namespace = '', name, labels = {}, annotations: { 'meta.helm.sh/release-name': release } = {} } = metadata;
  const podSpec = fieldsIn(object, kind === 'Pod' ? 'spec' : 'spec.template.spec');
  const bare = { kind, namespace, name, labels, nodeName: '', owner: '', nodes: [], containers: [], configMaps: [] };
  const own = { ...bare, settings: {}, rolling: false };
  switch (kind) {
    case 'DaemonSet':
      return {
        ...own,
        labels: { ...labels, ...stringsIn(object, 'spec.template.metadata.labels') },
        nodes: selectorsOf(podSpec),
        containers: containersOf(podSpec),
        configMaps: configMapsIn(podSpec),
        rolling: scheduled(object, 'updated') < scheduled(object, 'desired'),
        serviceAccount: textIn(podSpec, 'serviceAccountName') || 'default',
        ...defined({ calls: namesIn(podSpec).calls, scheduled: scheduledOf(object), release }),
      };
    case 'Pod': {
      const { nodeName, phase } = pickTexts(object, 'spec.nodeName', 'status.phase');
      if (nodeName === '' || phase === 'Failed' || phase === 'Succeeded') return undefined;
      const pod = { ...own, nodeName, containers: containersOf(podSpec) };
      if (!isAnyAgent(pod)) return undefined;
      const owner = listIn(object, 'metadata.ownerReferences').find((each) => each['kind'] === 'DaemonSet');
      return { ...pod, owner: textIn(owner, 'name'), configMaps: configMapsIn(podSpec) };
    }
    case 'Deployment': {
      if (name !== 'kube-ovn-controller') return undefined;
      const containers = containersOf(podSpec);
      const args = containers.flatMap((each) => each.args);
      return { ...own, containers, settings: defined({ 'enable-lb': flagValue(args, 'enable-lb') }) };
    }
    case 'ConfigMap': {
      // As MetalLB before 0.13 has it (metallb/metallb#1249).
      const [, pools = ''] = textIn(object, 'data.config').split('address-pools:');
      const [layer2, bgp] = [pools.includes('protocol: layer2'), pools.includes('protocol: bgp')];
      if (layer2 !== bgp) return { ...own, kind: layer2 ? 'L2Advertisement' : 'BGPAdvertisement' };
      const settings = configIn(object, name);
      return settings === undefined ? undefined : { ...own, settings };
    }
    case 'CiliumNodeConfig': {
      const nodes = [selectorOf(fieldsIn(object, 'spec.nodeSelector'))];
      return { ...own, nodes, settings: stringsIn(object, 'spec.defaults') };
    }
    case 'NodePool': {
      const spec = fieldsIn(object, 'spec.template.spec');
      const { matchExpressions = [] } = selectorOf({ matchExpressions: spec['requirements'] });
      const { kind: of, name: nodeClass } = pickTexts(fieldsIn(spec, 'nodeClassRef'), 'kind', 'name');
      const used = stringsIn(object, 'status.resources');
      const full = scalarsIn(fieldsIn(object, 'spec.limits')).flatMap(([path, most]) => {
        const { [path]: now = '0' } = used;
        return (unitsOf(now) ?? 0) >= (unitsOf(most) ?? Infinity) ? `${path} ${now} of ${most}` : [];
      });
      const settings = defined({ nodeClass: `${of}/${nodeClass}`, full: full.join(', ') || undefined });
      return { ...own, nodes: [{ matchExpressions }], settings };
    }
    case 'EC2NodeClass':
    case 'NodeClass': {
      const zones = listIn(object, 'status.subnets').map((subnet) => textIn(subnet, 'zone'));
      return { ...own, settings: defined({ zones: zones.join() || undefined }) };
    }
    case 'PersistentVolume': {
      const terms = listIn(object, 'spec.nodeAffinity.required.nodeSelectorTerms');
      const asked = terms.flatMap((term) => listIn(term, 'matchExpressions'));
      const stated = asked.map((each) => [textIn(each, 'key'), textsIn(each, 'values').join()] as const);
      const placed = [...stated, ...Object.entries(labels)].filter(([key]) => ZONE_OF_VOLUME.test(key));
      // A label joins the names of several with two underscores.
      const zones = placed.flatMap(([, names]) => names.split(/,|__/)).filter((zone) => zone !== '');
      const claim = pickTexts(fieldsIn(object, 'spec.claimRef'), 'namespace', 'name');
      const settings = { zones: [...new Set(zones)].join(), class: textIn(object, 'spec.storageClassName') };
      return claim.name === '' || zones.length === 0 ? undefined : { ...own, labels: {}, ...claim, settings };
    }
    case 'StorageClass':
      return (textIn(object, 'volumeBindingMode') || 'Immediate') === 'Immediate' ? { ...own, labels: {} } : undefined;
    default: {
      const selectors = [...listIn(object, 'spec.nodeSelectors'), fieldsIn(object, 'spec.nodeSelector')];
      const nodes = selectors.filter((each) => Object.keys(each).length > 0).map(selectorOf);
      const spec = fieldsIn(object, 'spec');
      const offers = [...listIn(spec, 'advertisements'), ...listIn(spec, 'virtualRouters'), spec];
      const services = offers.flatMap(({ advertisementType: of = 'Service', selector, serviceSelector = selector }) =>
        serviceSelector === undefined || of !== 'Service' ? [] : selectorOf(serviceSelector),
      );
      // Over BGP Cilium announces no Service without a selector (cilium/cilium#33076).
      const isPicky = /^CiliumBGP(?:Adv|Peer)/.test(kind) || (services.length > 0 && kind.startsWith('CiliumL2'));
      // Its name before Cilium 1.16.
      const named = { ...own, kind: kind.replace('BGPPeeringPolicy', 'BGPClusterConfig'), nodes };
      return { ...named, settings: Object.fromEntries(scalarsIn(spec, 'spec')), ...(isPicky && { services }) };
    }
  }
};
