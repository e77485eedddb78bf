// Answers to the question whether a Service survives the loss of a zone, and what hints do not move: stable codes with remedies.

interface Rule {
  readonly sentence: string;
  readonly remedy: string;
}

export const ANSWERS = {
  NoEndpointElsewhere: {
    sentence:
      'Every ready endpoint of the Service, or of one of its ports, is in the zone: it is down without the zone.',
    remedy:
      'Run replicas in other zones (topology spread constraints with whenUnsatisfiable: DoNotSchedule). An evacuation leaves such a Service as it is.',
  },
  Overloaded: {
    sentence: 'The endpoints of the other zones get more than the limit.',
    remedy: 'Add the named replicas before the zone is lost or evacuated, or raise the limit if they can handle more.',
  },
  Survives: { sentence: 'The endpoints of the other zones take over within the limit.', remedy: 'Nothing to do.' },
  NoEndpointThere: {
    sentence: 'No ready endpoint of the Service is in the zone: nothing changes for it.',
    remedy: 'Nothing to do.',
  },
  LessThanOne: {
    sentence: 'The share to evacuate is less than one endpoint and is rounded down: nothing moves.',
    remedy: 'Nothing to do, or `--round up`.',
  },
  NotTouched: {
    sentence:
      'No prediction is possible, and no evacuation changes it: it has no endpoints, or it is the Service of the API server itself.',
    remedy: 'Nothing to do.',
  },
} as const satisfies Readonly<Record<string, Rule>>;

/** In the order of a report, worst first. */
export type Answer = keyof typeof ANSWERS;

export const UNMOVED = {
  BypassesProxies: {
    sentence: 'A client chooses endpoints without the proxies of the Service, so hints do not move its traffic.',
    remedy: 'See `kubectl topology explain SERVICE` for its own setting; evacuate the zone there as well.',
  },
  HeadlessClients: {
    sentence: 'The Service is headless: its clients choose among the addresses in DNS, which hints do not change.',
    remedy: 'Drain or cordon the Nodes of the zone, or scale down there; clients follow when the Pods are gone.',
  },
  ExternalTrafficPolicyLocal: {
    sentence:
      'externalTrafficPolicy Local: a Node of the zone that gets a connection from outside serves it with its own Pods.',
    remedy:
      'Remove the Nodes of the zone from the load balancer: the label node.kubernetes.io/exclude-from-external-load-balancers, or a zonal shift of the provider.',
  },
  LoadBalancerNodes: {
    sentence:
      'The load balancer sends to Nodes of every zone. Traffic that enters through a Node of the zone still passes it on its way to endpoints elsewhere.',
    remedy:
      'Remove the Nodes of the zone from the load balancer: the label node.kubernetes.io/exclude-from-external-load-balancers, or a zonal shift of the provider.',
  },
  GardenerIngressGateway: {
    sentence:
      "Clients of a Shoot reach this kube-apiserver through Gardener's ingress gateway, whose Envoy reads no hints: it picks a Pod by locality, or with layer-7 load balancing among all.",
    remedy:
      'Remove the gateway of the zone from its load balancer: those of other zones prefer the API servers there. With layer-7 load balancing some requests still go to the zone until outlier detection or readiness stops them.',
  },
  LongConnections: {
    sentence:
      'Clients hold their connections for days (etcd). Hints affect only new connections, so these stay in the zone until they end.',
    remedy: 'Restart the clients, a few at a time, after the evacuation is done.',
  },
  FixedTupleUdp: {
    sentence:
      'UDP: as long as a client keeps its source port and sends, conntrack keeps its endpoint; DNS clients use a new port for each query.',
    remedy: 'Restart clients that send from one port; conntrack forgets an idle flow after 30 to 120 seconds.',
  },
  EndpointsWithoutZone: {
    sentence: 'Endpoints have no zone: where they run is not known; they count as being in other zones.',
    remedy: 'Label their Nodes with topology.kubernetes.io/zone, or set the zone where the endpoints are written.',
  },
} as const satisfies Readonly<Record<string, Rule>>;

export type UnmovedReason = keyof typeof UNMOVED;
