// What `kubectl topology audit --without` takes and answers.
// Answers to the question whether a Service survives the loss of a zone, and what hints do not move: stable codes with remedies.
import type { Service } from '../../apis/core.ts';
import type { Leave } from '../../evacuation/decide.ts';
import type { Measured } from '../../traffic/measured.ts';
import type { Part } from '../audit/types.ts';
import type { CauseReason, ExplainOptions } from '../explain/types.ts';

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

export interface SurvivalOptions extends ExplainOptions {
  /** That are lost, at least one. */
  readonly zones: readonly string[];
  /** What leaves of a Service, where that is not all of those zones. */
  readonly leavesOf?: (service: Service) => readonly Leave[];
  /** Where clients of Services are, as measured. Default: by the CPU of the Nodes. */
  readonly measured?: Measured;
  /** Services of this namespace only. Default: of all. */
  readonly namespace?: string;
  /** Default: every Service. */
  readonly selects?: (service: Service) => boolean;
  /** Most that the busiest endpoint may reach where load is measured, as a fraction of its capacity. Default 1. */
  readonly maxUtilization?: number;
  /** How far it may be above a fair share of today where load is not measured: 1 = twice as much. Default 1. */
  readonly maxOverload?: number;
}

/** Load of the busiest endpoint, before and after. */
export interface LoadReport {
  /** `measured`: fractions of its capacity; `fairShare`: multiples of what each endpoint gets today where all get the same. */
  readonly basis: 'measured' | 'fairShare';
  readonly now: number;
  /** Null where no endpoint is left. */
  readonly after: number | null;
  readonly limit: number;
  /** Clients of the Service are where they were measured. */
  readonly clientsMeasured: boolean;
  /** Zone of the busiest afterwards; empty where no endpoint is left, or where it has none. */
  readonly zone: string;
}

/** Clients or endpoints that hints do not move. */
export interface Unmoved {
  readonly reason: UnmovedReason | CauseReason;
  /** What shows it. */
  readonly evidence: string;
  readonly remedy: string;
  /** All of the Service's traffic goes this way. */
  readonly all: boolean;
}

export interface ServiceSurvival {
  readonly namespace: string;
  readonly name: string;
  readonly type: string;
  readonly answer: Answer;
  /** The answer as a sentence, with figures. */
  readonly message: string;
  /** Ready endpoints that leave, of all of the Service's. Of the port and family that is worst off. */
  readonly endpoints: Part;
  /** Ready endpoints without a zone; they count as being elsewhere. */
  readonly zoneless: number;
  /** Null where the Service has no endpoint, or none that is known. */
  readonly load: LoadReport | null;
  /** Endpoints to add by zone, so that the busiest stays within the limit. */
  readonly replicas: Readonly<Record<string, number>>;
  readonly unmoved: readonly Unmoved[];
}
