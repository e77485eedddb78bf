// Causes in the Service itself: it cannot be routed by zone, or does not ask for it in words that are understood.
import { ANNOTATION_TOPOLOGY_MODE } from '../../apis/names.ts';
import { GROUP, LABEL_ETCD_CLIENTS, LABEL_PROXY_NAME, LABEL_SLICE_MANAGED_BY } from '../../apis/names.ts';
import { zoneOfNode } from '../../apis/core.ts';
import { STRATEGIES_BY_LABEL, strategyOf } from '../../hints/table.ts';
import { byText, defined, nameOf, objectTitle, workloadTitle } from '../../apis/values.ts';
import { isEtcdClient } from '../../routing/etcd-clients.ts';
import { allocate, eventText, isControllerSlice, isEnabled, isOff, topologyAnnotation } from '../../upstream/index.ts';
import { editDistance, hasSelector, isManaged } from '../models/lookup.ts';
import { itemsOf } from '../snapshot.ts';
import type { HintSource } from '../models/hints.ts';
import { askingNote, isTooOld, nearRemedy, presentAnnotation, settingsFor, unlikeOf } from './ask.ts';
import { type Facts, PLACEHOLDER, portOfPods } from './facts.ts';
import { apiServerCause, lastEvent, workingCounts } from './given.ts';
import { localCauses } from './local.ts';
import { type Cause, cause, counted, listed, remedyOf, saying } from './reasons.ts';
import { stickyCauses } from './sticky.ts';
import { emptyFamily } from './waiting.ts';

const annotationKey = ({ service }: Facts): string =>
  presentAnnotation(service.metadata?.annotations) ?? ANNOTATION_TOPOLOGY_MODE;

const asked = (source: HintSource, by: string, strategy?: string) => ({
  wanted: source !== 'none',
  source,
  /** Annotation, field or label with its value, also of one that nothing recognises; empty where nothing asks. */
  by,
  /** Named by a label or the annotation: `same-zone`, `load-aware`, .... */
  ...defined({ strategy }),
});

export const wantedReport = (facts: Facts) => {
  const { service, wish, strategy, planned, version, labels } = facts;
  if (strategy !== undefined) {
    const key = [...STRATEGIES_BY_LABEL.keys()].find((one) => strategyOf({ [one]: labels[one] }) === strategy) ?? '';
    return asked('webhook', `label ${key}=${labels[key] ?? ''}`, strategy);
  }
  const annotation = `annotation ${annotationKey(facts)}`;
  if (planned) return asked('webhook', `${annotation}=${topologyAnnotation(service, version) ?? ''}`, planned);
  const key = wish.source === 'trafficDistribution' ? 'spec.trafficDistribution' : annotation;
  if (wish.mode !== 'none') return asked(wish.source, `${key}=${wish.value}`);
  // An Etcd's client Service that asks for nothing itself: only admission writes these hints, where the namespace is labelled.
  if (isEtcdClient(service) && facts.isHinted)
    return asked('webhook', `label ${LABEL_ETCD_CLIENTS}=true of namespace ${facts.ref.namespace}`);
  const { by, own } = edgeOf(facts) ?? {};
  return asked('none', own ? `annotation ${by}` : isOff(wish.value) ? '' : `${key}=${wish.value}`);
};

const OTHER_PROXY = 'Check the documentation of that proxy for hints, or remove the label.';

const MEMBERS_REMEDY =
  'Clients that name members of the StatefulSet (shards, brokers, replicas) have to choose by zone themselves, where they can. Only those that any Pod may answer can use a Service with a cluster IP.';
/** mariadb-corporation/maxscale-docker#57; mariadb.com "MariaDB Monitor" */
const PICKED =
  'Set in maxscale.cnf what its monitor makes the primary (`servers_no_promotion` for servers of other zones, `maxctrl call command mariadbmon switchover` now): MaxScale sends writes there, whatever `rank` or a Service says.';
/** grpc/grpc-java#10708, stackrox/stackrox#9643 */
const KEPT_HEADLESS =
  'Leave it headless: behind a cluster IP each such client has one Pod for all its requests. Zones count where clients choose by them, or a proxy in between (a mesh, a Gateway).';
const TO_NODES = 'Set `service.beta.kubernetes.io/aws-load-balancer-nlb-target-type: instance` in its Gateway.';
const CALL_REMEDY = 'Make it anew with a cluster IP, or start API servers with `--enable-aggregator-routing=true`.';
const EACH_REMEDY = 'Write an endpoint for each address, each with its `zone` and `hints.forZones`.';

/** What marks slices that are copies: of the Multi-Cluster Services API, of Linkerd's mirror (linkerd/linkerd2#11161), and of Karmada. */
const COPIED = /^(?:multicluster\.kubernetes|endpointslice\.karmada)\.io\/\w+-cluster$|^mirror\.linkerd\.io\/cluster-/;

const IMPORT_REMEDY = 'What imports the Service writes its slices: see there whether it copies zones and hints.';

/** Clusters that slices are copied from, in name order. */
export const sourceClusters = ({ slices, service }: Pick<Facts, 'slices' | 'service'>): string[] => {
  const all = [...slices, service].flatMap(({ metadata: at }) => Object.entries({ ...at?.annotations, ...at?.labels }));
  const clusters = all.flatMap(([key, cluster]) => (COPIED.test(key) ? cluster.slice(0, 63) : []));
  return [...new Set(clusters)].sort(byText);
};

/** patroni/patroni#2050, docs/ENVIRONMENT.rst; labels of Patroni, of the operators of Zalando and CrunchyData, and of timescale/helm-charts#384. */
const PATRONI = /"(?:app(?:lication)?":"(?:patroni|spilo|timescaledb)|[^"]*\/patroni)"/;
const OF_PATRONI =
  'Writes go to the leader, in whatever zone it is, and more replicas change nothing: what reads can use a Service of replicas, which may ask for zones. Where readiness of the leader is to count, set `PATRONI_KUBERNETES_USE_ENDPOINTS=false` (`kubernetes_use_configmaps` of the operator of Zalando, which gives such a selector), and give the Service a selector with the label `role` of the leader (`master`, from Patroni 4 on `primary`).';

/** What kind of Service it is decides before any wish. */
export const kindCauses = (facts: Facts): Cause[] => {
  const { service, name, endpoints, callers, bypasses } = facts;
  if (name === 'default/kubernetes' && endpoints.length > 0 && !facts.isHinted) return [apiServerCause(facts)];
  if (endpoints[0]?.address === PLACEHOLDER) {
    const isVoid = bypasses.some(({ client }) => client.startsWith('aws-ip-targets')); // aws-load-balancer-controller#3754
    const evidence = `The endpoint of Service ${name}, ${PLACEHOLDER}, stands for Cilium's Envoy on the Node that traffic enters: ${isVoid ? 'its NLB, which is to send to Pods (target type ip), has no target, and what enters fails' : 'nothing of it makes zones count'}.`;
    return [{ ...cause('wanted', 'NoSelector', evidence, isVoid ? TO_NODES : 'See the Services behind it.'), fix: [] }];
  }
  const { type, clusterIP, internalTrafficPolicy } = service.spec ?? {};
  if (type === 'ExternalName') return [cause('wanted', 'ExternalName', `Service ${name} has type ExternalName.`)];
  const isPicked = callers.some(({ runner: { images } }) => /maxscale/.test(images.join()));
  const isOnly = (client: string) => client === 'headless' && endpoints.length === 1 && !isPicked;
  const ofProgram = bypasses.find(({ known, client }) => known !== undefined || isOnly(client));
  const ofSet = facts.workloads.some(({ kind }) => kind === 'StatefulSet') ? MEMBERS_REMEDY : undefined;
  const usual = isPicked ? PICKED : ofSet;
  const has = ofProgram?.none ? ', and of its program' : '; what helps:';
  const members = ofProgram ? `No setting of it makes zones count${has} ${ofProgram.setting}.` : usual;
  const apart = service.spec?.ports?.find((own) => portOfPods(facts, own) !== own.port); // opendatahub-io/kserve#534
  const unmapped = apart && ` Nothing maps its port ${apart.port} to that of the Pods (${portOfPods(facts, apart)}).`;
  const none = `Service ${name} has clusterIP None${ofProgram?.known === 'members' ? `: ${ofProgram.decides}` : ''}.${unmapped ?? ''}`;
  const causes = facts.families.flatMap((family) => emptyFamily(facts, family));
  const isKept = members === undefined && (isTooOld('NotRequested', facts) || stickyCauses(facts).length > 0);
  const calls = bypasses.find(({ client }) => client === 'kube-apiserver' && !facts.index.bypasses.isHosted);
  const whole = calls ? `${none} ${calls.decides}.` : none;
  const headless = cause('wanted', 'Headless', whole, calls ? CALL_REMEDY : isKept ? KEPT_HEADLESS : members);
  if (clusterIP === 'None') causes.push(isKept || isPicked ? { ...headless, fix: [] } : headless);
  const unused = facts.slices.flatMap((own) => (own.endpoints ?? []).flatMap(({ addresses }) => addresses.slice(1))); // kubernetes/website#42748
  const clusters = sourceClusters(facts);
  const isFar = clusters.length > 0 && endpoints.every(({ nodeName }) => !facts.index.zoneOf.has(nodeName));
  if ((!hasSelector(service) || isFar) && endpoints.length > 0 && (!facts.isHinted || unused.length > 0)) {
    const hinted = endpoints.filter(({ forZones }) => forZones.length > 0).length;
    const writers = facts.slices.map(({ metadata }) => metadata?.labels?.[LABEL_SLICE_MANAGED_BY]);
    const isMirrored = writers.includes('endpointslicemirroring-controller.k8s.io');
    const imported = ` Its slices are copies of those of cluster ${listed(clusters)}.`;
    const others = ` Of an endpoint kube-proxy uses the first address only, not ${listed(unused)}.`;
    const [knative, mesh] = ['knative', 'istio-ambient'].map((by) => bypasses.find(({ client }) => client === by));
    const zoneless = `${mesh ? `For ${mesh.client}: ${mesh.setting}. ` : ''}Their writer has to write zones and hints (EndpointSlices have \`zone\` and \`hints.forZones\`, Endpoints do not): without zones no setting of the Service and no webhook helps.${endpoints.length === 1 ? ' As long as it writes one endpoint (a leader), clients in other zones cross, and more replicas change nothing.' : ''}`;
    const patroni = isMirrored && PATRONI.test(JSON.stringify(service.metadata?.labels)) ? OF_PATRONI : undefined;
    const written = knative?.setting ?? patroni ?? (endpoints.every(({ zone }) => zone === '') ? zoneless : undefined);
    // Custom resources have groups with a dot.
    const owners = [...facts.slices, service].flatMap(({ metadata }) => metadata?.ownerReferences ?? []);
    const maker = owners.find(({ apiVersion }) => apiVersion.includes('.'));
    const other = writers.find((own) => own !== undefined && !own.endsWith('.k8s.io'));
    const writer = maker ? `the operator of ${maker.kind} ${maker.name}` : other;
    const mirrored = ` The control plane copies them from Endpoints ${name}, which ${patroni ? 'Patroni writes, with the address of its leader, ready or not' : `${writer ?? 'a person or another program'} writes`}, and which have no zones.${knative ? ` In Knative ${knative.decides}.` : ''}`;
    const made = writer && ` What writes them, ${writer}, may revert changes of them.`;
    const own = unused.length > 0 ? [others, EACH_REMEDY] : [isMirrored ? mirrored : (made ?? ''), written];
    const [why, remedy] = clusters.length > 0 ? [imported, IMPORT_REMEDY] : own;
    const left = unused.length > 0 || isFar ? [] : facts.slices.filter((slice) => isControllerSlice(slice)).map(nameOf); // kubernetes/kubernetes#111929
    const old = ` Slice ${listed(left)} is left of a selector that it had: nothing updates it.`;
    const drop = `Delete slice ${listed(left)} once another has the endpoints. ${remedy ?? remedyOf('NoSelector')}`;
    const [says, helps] = left.length === 0 ? ['', remedy] : [old, drop];
    const what = `Service ${name} has no ${hasSelector(service) ? 'endpoint of this cluster' : 'spec.selector'}; ${hinted} of its ${counted(endpoints.length, 'ready endpoint')} carry hints.`;
    causes.push(cause('wanted', 'NoSelector', `${what}${why}${says}`, helps));
  }
  if (internalTrafficPolicy === 'Local') causes.push(...localCauses(facts));
  const other = service.metadata?.labels?.[LABEL_PROXY_NAME];
  if (other !== undefined) {
    const evidence = `Service ${name} has the label ${LABEL_PROXY_NAME}=${other}: the proxies of the cluster ignore it.`;
    causes.push(cause('used', 'NotProxied', evidence, OTHER_PROXY));
  }
  return causes;
};

/** What is probably meant by an annotation value that the control plane does not know. */
const spellingHint = (value: string, planned: boolean): string => {
  if (value.startsWith(`${GROUP}/`)) {
    const who = planned ? 'flow-controller' : 'settings reconciler';
    return ` It names a strategy of this extension, but the strategy label is missing: is the ${who} running?`;
  }
  if (value.includes('/')) return ' It names a heuristic of another controller, which has to write the hints.';
  const near = editDistance(value.trim().toLowerCase(), 'auto') <= 2 || value.toLowerCase().includes('auto');
  return near ? ' Only "Auto" and "auto" are recognised.' : '';
};

const ETCD_REMEDY = 'Switch topologyAwareRouting on in the Seed or Garden: etcd-druid alone may write the Service.';

/** In its spec, or as it was applied: the API server drops it from 1.22 on. */
export const GONE_KEYS =
  ' Its topologyKeys, an alpha field that Kubernetes 1.22 removed (kubernetes#102412), give no hints: before it they counted with the gate ServiceTopology, off by default, of kube-proxy and of API servers, which drop the field without it (set both gates and apply it again: kubernetes#89856), and are read by no release since. For kubernetes.io/hostname trafficDistribution has PreferSameNode (1.34 and newer).';

const EDGE_REMEDY =
  'Older releases of OpenYurt filter nothing on Kubernetes 1.21 and newer (openyurtio/openyurt#789), and before 1.1 none filters what controllers of Ingresses read by this annotation (#954): update it. Else label the Nodes with `topology.kubernetes.io/zone` and ask by `spec.trafficDistribution` (Kubernetes 1.31 and newer).';
const EDGE_RUNS = 'See that the agent runs on each Node, and that each Node is in a pool.';
const EDGE_THROUGH = 'Have kube-proxy connect through that agent (OpenYurt: without `clientConnection.kubeconfig`).';

const EDGE_CILIUM =
  'Set `servicetopology: cilium,cilium-agent` in ConfigMap yurt-hub-cfg, and restart the agents of Cilium: yurthub filters what they read through it. Those that do not are to be a DaemonSet with `KUBERNETES_SERVICE_HOST: 127.0.0.1` and `KUBERNETES_SERVICE_PORT: "10268"` (its port for HTTPS). loadBalancer.serviceTopology of Cilium changes nothing for pools.';

/** Its annotation, of OpenYurt or edge platforms like it (openyurtio/openyurt#372, #590, #2269), and what has the data plane read the API server itself. */
const edgeOf = ({ service, snapshot, nodes, index }: Facts) => {
  const isCilium = nodes.some((node) => index.routers.of(node).router === 'cilium');
  const own = itemsOf(snapshot.routers).find(({ settings }) => settings['clientConnection.kubeconfig']);
  const asking = Object.entries(service.metadata?.annotations ?? {}).find(([key]) => /(?:^|\/)topologyKeys$/.test(key));
  return asking && { by: asking.join('='), own: isCilium ? ('cilium' as const) : own };
};

/** Asked of an agent on each Node that filters what kube-proxy reads; undefined: it is not. */
export const edgeRequest = (facts: Facts): Cause | undefined => {
  const { name, snapshot } = facts;
  const { by, own } = edgeOf(facts) ?? {};
  if (by === undefined) return undefined;
  const asks = `Annotation ${by} of Service ${name} asks an agent of the edge platform on each Node (yurthub of OpenYurt), which leaves other endpoints out of what the data plane reads through it`;
  const past = `${asks}; Cilium routes here, and its agents read the API server itself.`;
  if (own === 'cilium') return cause('wanted', 'NotRequested', past, EDGE_CILIUM);
  const title = 'ConfigMap kube-system/kube-proxy';
  const unseen = itemsOf(snapshot.routers).some((each) => objectTitle(each) === title)
    ? [`kube-proxy has no kubeconfig of its own (${title}), and reads through it on Nodes that run one`, EDGE_RUNS]
    : ['whether kube-proxy reads through it was not seen', EDGE_THROUGH];
  const reads = own && `kube-proxy has a kubeconfig of its own (${objectTitle(own)}, clientConnection.kubeconfig)`;
  const [through = '', remedy = ''] = reads ? [`${reads} and reads past it`, EDGE_THROUGH] : unseen;
  return cause('wanted', 'NotRequested', `${asks}; ${through}.`, `${remedy} ${EDGE_REMEDY}`);
};

/** Keys that people take for those that ask; Istio's is read by Istio. */
const lookalikes = ({ service: { metadata = {}, spec }, workloads }: Facts): string => {
  const keys = (['labels', 'annotations'] as const).flatMap((where) =>
    Object.keys(metadata[where] ?? {}).map((key) => `${key} of its ${where}`),
  );
  const marked = workloads.filter(({ marks }) => presentAnnotation(marks?.annotations) !== undefined);
  const vain = [
    ...keys.filter((key) => /^(?!.*istio).*(?:topology-(?:aware|mode|routing)|traffic-?distribution)/i.test(key)),
    ...marked.map((own) => `the annotation of ${workloadTitle(own)}`),
  ];
  const applied = JSON.stringify(metadata.annotations ?? {});
  const signs: readonly (readonly [boolean, string])[] = [
    [vain.length > 0, ` Nothing reads ${listed(vain)}: annotations count on the Service, by their exact names.`],
    [
      applied.includes('trafficDistribution'),
      ' The trafficDistribution that was applied is not there: API servers before 1.31 drop it, and another writer may.',
    ],
    // kubernetes/kubernetes#84505
    [
      spec?.externalTrafficPolicy === 'Local',
      ' Its externalTrafficPolicy Local is for traffic from outside: Pods and Nodes that connect to it, also to a node port, may get any endpoint. What they send to the cluster IP stays on their Node with `internalTrafficPolicy: Local` (1.22 and newer; it fails where the Node has no endpoint).',
    ],
    [/"topologyKeys\\*":\s*\[/.test(`${JSON.stringify(spec)}${applied}`), GONE_KEYS],
    // cilium/cilium#23298
    [
      /cilium[^"]*affinity"/.test(applied) && !/cilium[^"]*\bglobal\b/.test(applied),
      ' Cilium reads its affinity only beside `service.cilium.io/global: "true"`: other clusters get nothing.',
    ],
  ];
  return signs.flatMap(([is, text]) => (is ? [text] : [])).join('');
};

const refusedRequest = (facts: Facts): Cause => {
  const { service, wish, name, ref, options, version, shares, endpoints, bypasses } = facts;
  const { field, distribution, key, auto, beside } = settingsFor(facts);
  const isBare = facts.nodes.every((node) => zoneOfNode(node) === '');
  const plain = `Set the annotation \`${key}: ${auto}\``;
  const gated = facts.nodes.some(isManaged)
    ? 'Update to 1.24 or newer for the annotation (before, hints have a feature gate, which EKS, GKE and AKS do not set)'
    : `${plain} with the feature gate TopologyAwareHints on in control plane and kube-proxy (off by default before 1.24)`;
  const annotated = isEnabled('TopologyAwareHints', version, options.gates) ? plain : gated;
  const isFew = shares.kind === 'known' && endpoints.length < shares.ratios.size; // kubernetes-sigs/metrics-server#764
  const of = (ratios: ReadonlyMap<string, number>): string | undefined =>
    endpoints.length === 0 || allocate(ratios, endpoints.length).kind === 'allocated'
      ? undefined
      : `to ${endpoints.length} endpoints with these shares of CPU (${workingCounts(ratios, endpoints.length).join(', ')} would do)`;
  // kubernetes/ingress-gce#2508
  const lacking =
    shares.kind === 'known'
      ? of(shares.ratios)
      : !isBare &&
        shares.nodes.length > 0 &&
        `while ready Node ${listed(shares.nodes)} has no ${shares.cause === 'NodeWithoutZone' ? 'zone' : 'allocatable CPU'}`;
  const vain = isFew ? 'to fewer endpoints than zones' : lacking;
  const ask = vain
    ? `Update to 1.31 or newer for \`spec.trafficDistribution\`: the annotation gives no hints ${vain}.`
    : `${annotated}, or update to 1.31 or newer for \`spec.trafficDistribution\`.`;
  const other = beside === undefined ? `${plain}.` : remedyOf('NotRequested');
  const set = distribution === undefined ? other : `Set \`spec.trafficDistribution: ${distribution}\`.`;
  const remedy = nearRemedy(facts) ?? `${isBare ? 'Once Nodes have zones: ' : ''}${field === undefined ? ask : set}`;
  if (wish.reason === 'AnnotationNotRecognized') {
    const { value } = wish;
    const is = `${annotationKey(facts)} of Service ${name} is ${JSON.stringify(value)}`;
    return isOff(value)
      ? cause('wanted', 'NotRequested', `${is}: off.`, remedy)
      : cause('wanted', 'AnnotationNotRecognized', `${is}.${spellingHint(value, facts.planned !== undefined)}`);
  }
  if (wish.reason !== 'NotRequested') return cause('wanted', wish.reason, wish.message);
  const edge = edgeRequest(facts);
  if (edge !== undefined) return edge;
  const said = lastEvent(facts);
  if (said.includes(eventText({ reason: 'AnnotationRemoved' })))
    return cause('wanted', 'AnnotationRemoved', `Service ${name} no longer asks for routing by zone.${said}`);
  const [helps, unlike] = unlikeOf(facts) ?? [];
  const says = unlike ? `Any Pod may be the wrong one: ${unlike}. ` : '';
  const evidence = `${says}Service ${name} has neither spec.trafficDistribution nor a topology annotation nor a strategy label.${lookalikes(facts)}`;
  const isCalled = bypasses.some(({ client }) => client === 'kube-apiserver');
  const isOther = service.spec?.externalTrafficPolicy === 'Local' || isCalled;
  const whose = isOther ? 'For clients inside the cluster: ' : '';
  if (unlike) return saying(`any Pod may be the wrong one: ${unlike}`, 'wanted', 'NotRequested', evidence, helps);
  if (!isEtcdClient(service))
    return cause('wanted', 'NotRequested', evidence, `${whose}${askingNote(facts)?.way ?? remedy}`);
  // What would ask is the label of its namespace.
  const label = `Its slices have no hints, which they get if namespace ${ref.namespace} has the label ${LABEL_ETCD_CLIENTS}=true.`;
  return cause('wanted', 'NotRequested', `${evidence} ${label}`, ETCD_REMEDY);
};

/** Wishes that are not understood, or that stand in each other's way. */
export const requestCauses = (facts: Facts): Cause[] => {
  const { service, wish } = facts;
  const { annotated, beside } = settingsFor(facts);
  // Where a data plane reads nothing else, it is there for that.
  if (wish.reason === 'AnnotationWins' && (beside || !annotated)) return [cause('wanted', wish.reason, wish.message)];
  // A proxy up to 1.30 reads the annotation, so both together are right where a label asks for the hints.
  if (wish.mode !== 'none' || facts.strategy !== undefined || facts.isHinted) return [];
  // Beside the policy hints would change nothing.
  if (wish.reason === 'NotRequested' && service.spec?.internalTrafficPolicy === 'Local') return [];
  return [refusedRequest(facts)];
};
