// What is known of a kind of load balancers, the kinds of which there are several, and ways in that need none.
import type { Service } from '../../apis/core.ts';

/** What a load balancer does with traffic from outside. */
export interface Kind {
  readonly enters: string;
  /** Who picks the Node: the client, a load balancer by its name, or what is not known. */
  readonly picks?: string;
  readonly remedy: string;
  /** In its place, where nothing shows a Network Load Balancer. */
  readonly classic?: string;
  /** What the remedy sets of the Service; empty: nothing. Default: externalTrafficPolicy. */
  readonly sets?: '/metadata/annotations' | '/spec/trafficDistribution' | '';
  /** Under the policy Local: an address is announced by one Node with a Pod, or by all of these, and nothing asks for their health. */
  readonly announced?: 'one' | 'all';
  /** Under the policy Local: nothing shows that it leaves out Nodes without a Pod; what to do. */
  readonly blind?: string;
  /** What these do with it. Default: they drop it. */
  readonly bare?: string;
  /** In these versions of the data plane; default: all. */
  readonly blindIn?: RegExp;
  /** Under the policy Local: what to do, also for a zone without Pods. Default: the load balancer leaves its Nodes out. */
  readonly reach?: string;
  /** Under the policy Local: what has it share traffic alike among Pods. */
  readonly evenly?: string;
  /** Under the policy Local: each zone gets the same share; what to do where their Pods are not as many. */
  readonly zonal?: string;
  /** Name of its DaemonSet, which has to run where traffic is to enter. */
  readonly daemonSet?: RegExp;
  /** It leaves out Nodes that no load balancer is to use, though it announces; and what has it use them. */
  readonly leavesOut?: string;
  /** Under the policy Local: in these versions it announces nothing whose traffic the Envoy of Cilium takes, which no Node of the endpoint shows. */
  readonly silentIn?: RegExp;
  /** An annotation or the class of the Service, else a label or name that the provider's Nodes have; and the namespace of its Pods. */
  readonly shown?: RegExp;
  readonly namespace?: string;
  /** Kind of the pools that only give a Service its address, and what announces that. */
  readonly pool?: readonly [kind: string, announcing: string];
  readonly unannounced?: { readonly why: string; readonly remedy: string; readonly said?: string };
  /** Why a gateway may get nothing. */
  readonly unanswered?: string;
  /** Regions of Nodes of which it takes those of one alone. */
  readonly networks?: readonly RegExp[];
  /** The annotation that names the zone in which it stands. */
  readonly stands?: string;
  /** By what shows the mode: a kind of objects, a variable that is true in the environment of its DaemonSet, or where it sends to. */
  readonly modes?: Readonly<Record<string, Kind>>;
}

export const STAYS =
  'With `externalTrafficPolicy: Local` it stays on the Node that it enters, and Pods see the address of the client: for load balancers that leave out Nodes without a Pod, with a Pod in every zone.';

// kubernetes/kubernetes#28586
export const SUBNETS =
  'It sends to Nodes of the zones in which it has a subnet alone (`aws elb describe-load-balancers` has them): its controller finds one in each zone by the tags `kubernetes.io/cluster/<name>` and `kubernetes.io/role/elb` (`internal-elb` of an internal one). Tag one in each zone of the Nodes (public where it faces the internet), and make the Service anew.';

/** By its health checks under the policy Local. */
export const anyNode = (shown: RegExp, who: string, more = '', rest: Partial<Kind> = {}): Kind => ({
  shown,
  ...rest,
  enters: `through any Node that ${who} picks`,
  picks: who,
  remedy: `Nothing of the Service makes ${who} keep to zones. ${STAYS}${more}`,
});

const ALONE = 'With `externalTrafficPolicy: Local` Pods of that Node alone get it, and see addresses of clients. ';
export const oneNode = (who: string, by = 'may announce', alone = ALONE) => ({
  enters: `through the one Node that announces its address (${who})`,
  remedy: `${alone}For several Nodes to take it: BGP, over which each announces, or more Services, whose addresses other Nodes ${by}.`,
  reach:
    'Set `externalTrafficPolicy: Cluster` for Pods of all Nodes to serve it (they see no addresses of clients): under `Local` only Pods of the Node that announces the address get its traffic. Over BGP several Nodes announce.',
  announced: 'one' as const,
  sets: '' as const,
});

export const overBgp = (who: string, by = 'a nodeSelector of what announces it') => ({
  enters: `through Nodes that routers pick (${who}; one alone where these have no multipath)`,
  remedy: `Zones count where the routers prefer Nodes of their own zone; several Nodes share it where these have multipath. With \`externalTrafficPolicy: Local\` Nodes with its Pods alone announce it, and it stays there; ${by} leaves out Nodes, distant ones too.`,
  announced: 'all' as const,
  reach:
    'Run a Pod in every zone whose routers are to reach it, and have them prefer Nodes of their own zone; for several Nodes to share it they need multipath (ECMP).',
});

/** Either of them, of which signs show one; by what other Nodes announce other Services, and what else holds. */
export const eitherWay = (
  who: string,
  layer2: string,
  [one = '-', all = '+', table = '/']: string[] = [],
  by?: string,
  more = {},
  alone?: string,
) => ({
  ...oneNode(''),
  remedy: `In ${layer2} mode: ${oneNode('', by, alone).remedy} Over BGP: ${overBgp('').remedy}`,
  enters: `through the one Node that announces its address (${who} in ${layer2} mode), or through Nodes that routers pick (BGP)`,
  modes: {
    [one]: { ...oneNode(`${who} in ${layer2} mode`, by, alone), ...more },
    [all]: { ...overBgp(`BGP of ${who}`), ...more },
    [table]: { ...overBgp(`routes of ${who}`), ...more },
  },
});

export const ANYWHERE = 'Run a Pod wherever traffic may enter, or set `externalTrafficPolicy: Cluster`.';

export const NODE_PORT: Kind = {
  picks: 'client',
  enters: 'through the Node whose port the client picks',
  remedy:
    'Zones count where clients, or a load balancer outside, pick a Node of their own zone. With `externalTrafficPolicy: Local` it stays on that Node, and Pods see addresses of clients: for those that leave out Nodes without a Pod, or with a Pod on each (a DaemonSet).',
  blind: ANYWHERE,
};

/** By an annotation of a Service of any type (tailscale/tailscale#10102). */
export const TAILNET = {
  shown: /^tailscale(?:$|\.com\/expose\b)/,
  sets: '/metadata/annotations' as const,
  enters: 'through the Node of the proxy that the Tailscale operator runs for it',
  picks: 'tailnet',
  remedy: 'Endpoints of its zone take all of the tailnet. A ProxyGroup has several proxies, to be spread over zones.',
};

/** kubernetes-sigs/external-dns source/service.go; #602, #1023 */
export const PUBLISHED = {
  shown: /^external-dns\.(?:alpha\.)?kubernetes\.io\/hostname$/,
  enters: 'through Nodes that external-dns publishes',
  remedy: '`externalTrafficPolicy: Local` has external-dns publish Nodes with its Pods alone, where it stays.',
  announced: 'all' as const,
};

export const OTHER_ENTRY: Kind = {
  picks: 'unknown',
  enters: 'through the Node that its load balancer or client picks',
  remedy: 'See in the documentation of the load balancer whether it keeps to zones.',
  blind: `Nothing to do for a load balancer that checks spec.healthCheckNodePort: it leaves such Nodes out. Else: ${ANYWHERE}`,
  bare: 'drop it, unless its load balancer leaves them out by their health',
};

/** Google's for clients of the VPC. */
export const isInternalOnly = ({ metadata, spec }: Service): boolean =>
  spec?.loadBalancerClass === 'networking.gke.io/l4-regional-internal' ||
  Object.entries(metadata?.annotations ?? {}).some((each) => each.join('=').endsWith('/load-balancer-type=Internal'));

/** Whether it asks for zonal affinity, which counts with subsetting (not in v1): kubernetes/ingress-gce pkg/utils/common/finalizer.go */
export const affinityOf = (service: Service): string[] =>
  isInternalOnly(service) && !service.metadata?.finalizers?.includes('gke.networking.io/l4-ilb-v1')
    ? [service.spec?.trafficDistribution === 'PreferClose' ? 'set' : 'unset']
    : [];
