// What `kubectl topology explain` takes and answers.
import type { EndpointSlice, Node, Service } from '../../apis/core.ts';
import type { HintStrategy } from '../../hints/table.ts';
import type { KubernetesVersion } from '../../routing/types.ts';
import type { HintRequest, Reason, ZoneShares } from '../../upstream/index.ts';
import type { BypassIndex } from '../bypasses/find.ts';
import type { Bypass } from '../bypasses/clients.ts';
import type { FinalHints, HintSource } from '../models/hints.ts';
import type { ServiceRef } from '../models/lookup.ts';
import type { GroupRoute } from '../models/routes.ts';
import type { Certainty, RouterName, Routers, RoutersReport, Stated } from '../routers/types.ts';
import type {
  Autoscaler,
  ClusterSnapshot,
  CollectionName,
  FlowLoopSummary,
  PodSummary,
  Workload,
} from '../snapshot.ts';
import type { DiagnosisReason } from './reasons.ts';

/** Stable code of a cause: one of the models', or one that only a diagnosis sees. */
export type CauseReason = Reason | DiagnosisReason;

/** Where on the way from wish to effect a cause sits. */
export type Stage = 'wanted' | 'given' | 'used' | 'effective' | 'prerequisite';

export interface Cause {
  readonly reason: CauseReason;
  readonly stage: Stage;
  /** What was found, with names and figures. */
  readonly evidence: string;
  readonly remedy: string;
  /** The commands for this Service and version; lines that begin with # are for who owns it. Only where there are any. */
  readonly fix?: readonly string[];
}

export interface ExplainOptions extends Stated {
  /** Milliseconds since the epoch: certificates expire. */
  readonly now: number;
  /** Of the control plane and every proxy; default: from the snapshot, for each. */
  readonly version?: KubernetesVersion;
  /** Traffic was measured to cross zones although everything here looks right. Default false. */
  readonly crossing?: boolean;
}

/** What many explanations of one snapshot share. */
export interface SnapshotIndex {
  readonly slices: ReadonlyMap<string, readonly EndpointSlice[]>;
  readonly shares: ZoneShares;
  readonly readyNodes: readonly Node[];
  /** Of ready Nodes, as `groupNodes` makes them. */
  readonly groups: readonly (readonly Node[])[];
  /** Of ready Nodes, and of those among them that are not of the control plane; the empty name is for none. */
  readonly zones: ReadonlySet<string>;
  readonly workerZones: ReadonlySet<string>;
  /** Of the control plane, from the snapshot. */
  readonly version: KubernetesVersion;
  readonly routers: Routers;
  readonly bypasses: BypassIndex;
  /** How clients are spread over the zones: by the CPU of their Nodes; undefined: alike on every Node, where that is not known. */
  readonly weights: Readonly<Record<string, number>> | undefined;
  /** By namespace. */
  readonly pods: ReadonlyMap<string, readonly PodSummary[]>;
  readonly workloads: ReadonlyMap<string, readonly Workload[]>;
  readonly autoscalers: ReadonlyMap<string, readonly Autoscaler[]>;
}

/** Everything that causes are looked for in, worked out once. */
export interface Facts {
  readonly snapshot: ClusterSnapshot;
  readonly index: SnapshotIndex;
  readonly options: ExplainOptions;
  readonly service: Service;
  readonly ref: ServiceRef;
  /** `namespace/name`. */
  readonly name: string;
  /** As stored, of any family. */
  readonly slices: readonly EndpointSlice[];
  readonly version: KubernetesVersion;
  readonly shares: ZoneShares;
  readonly request: HintRequest;
  /** Strategy that labels ask for. */
  readonly strategy: HintStrategy | undefined;
  /** Strategy whose hints the flow controller plans, that labels or the annotation ask for. */
  readonly planned: HintStrategy | undefined;
  /** What the FlowPolicy of the Service says, where it asks for a plan; undefined: there is none, or it was not seen. */
  readonly loop: FlowLoopSummary | undefined;
  /** What would be stored now, by family. */
  readonly expected: readonly FinalHints[];
  /** The Service's address families, its first one first; at least one. */
  readonly families: readonly FamilyFacts[];
  /** Of every family, group of Nodes and port, from the slices as stored. */
  readonly routes: readonly FamilyRoute[];
  /** The same from slices as they should be: shows causes behind a missing hint. */
  readonly idealRoutes: readonly FamilyRoute[];
  /** All ready ones. */
  readonly nodes: readonly Node[];
  /** Zones with a ready worker Node or a ready endpoint, in name order. */
  readonly clientZones: readonly string[];
  /** Ready endpoints of every family as proxies see them, families in their order, then by address. */
  readonly endpoints: readonly ReadyEndpoint[];
  readonly bypasses: readonly Bypass[];
  readonly pods: readonly PodSummary[];
  readonly workloads: readonly Workload[];
  readonly autoscalers: readonly Autoscaler[];
}

/** What clients of one address family find: a cluster IP, slices and rules of its own. */
export interface FamilyFacts {
  /** addressType. */
  readonly family: string;
  /** ` IPv6` where the Service has more than one, to go before a noun; else empty. */
  readonly label: string;
  /** Ready ones as proxies see them, by address. */
  readonly endpoints: readonly ReadyEndpoint[];
}

export interface FamilyRoute extends GroupRoute {
  readonly family: string;
}

export interface ReadyEndpoint {
  readonly address: string;
  readonly zone: string;
  readonly nodeName: string;
  readonly forZones: readonly string[];
  readonly slice: EndpointSlice;
}

export interface WantedReport {
  readonly wanted: boolean;
  readonly source: HintSource;
  /** Annotation, field or label with its value; empty where nothing asks. */
  readonly by: string;
  /** Named by a label or the annotation: `same-zone`, `load-aware`, .... */
  readonly strategy?: string;
}

/** The closed loop of a Service that asks for one. */
export interface LoopReport extends FlowLoopSummary {
  /** The slices carry the plan: what crosses zones under it does so on purpose. */
  readonly inForce: boolean;
  /** The plan is to write no hints, by what is known of the load. */
  readonly spreadOnPurpose: boolean;
}

export interface GivenReport {
  readonly addressType: string;
  readonly ready: number;
  /** Ready endpoints that carry a zone hint. */
  readonly hinted: number;
  /** Ready endpoints and hints by zone. */
  readonly zones: Readonly<Record<string, { readonly endpoints: number; readonly hinted: number }>>;
}

export interface UsedReport {
  readonly node: string;
  readonly zone: string;
  readonly addressType: string;
  readonly port: string;
  readonly router: RouterName;
  readonly certainty: Certainty;
  /** Of the router: `1.34.2`, or the minor by which it is judged; empty where that is not known. */
  readonly version: string;
  readonly mode: string;
  /** Endpoints that a connection from here is spread over. */
  readonly endpoints: number;
  /** Fraction of them in the node's own zone; null where nothing is routed or the data plane is not known. */
  readonly inZone: number | null;
  readonly reason: Reason;
}

export interface EffectiveReport {
  readonly effective: boolean;
  readonly clientZones: readonly string[];
  /** Client zones whose traffic is not kept inside, by any family or port. */
  readonly unserved: readonly string[];
  /**
   * Predicted fraction of connections that stay in their zone, of every family and port, clients by the CPU of the Nodes
   * of each zone; null where there is nothing to predict: no Node, no endpoint with a zone, no router that is known.
   */
  readonly inZoneShare: number | null;
  /** Why there is no share; empty where there is one. */
  readonly noShare: string;
}

/**
 * `NotWanted`: not asked for; `Ineffective`: asked, without (full) effect; `Assumed`: effective if the router is as assumed; `Unknown`: who routes on some Node is not known, and nothing else is wrong.
 */
export type Verdict = 'Effective' | 'Assumed' | 'Unknown' | 'NotWanted' | 'Ineffective';

export interface Explanation extends RoutersReport {
  readonly namespace: string;
  readonly name: string;
  readonly kubernetesVersion: string;
  readonly verdict: Verdict;
  readonly wanted: WantedReport;
  readonly given: readonly GivenReport[];
  readonly used: readonly UsedReport[];
  readonly effective: EffectiveReport;
  /** Only where its FlowPolicy was seen. */
  readonly loop?: LoopReport;
  /** Clients that do not pass the rules of its proxies. */
  readonly bypasses: readonly Bypass[];
  /** By which constraint its Pods are spread over zones; empty where that could not be seen. */
  readonly spread: string;
  /** The first is the one to look at first. */
  readonly causes: readonly Cause[];
  /** What could not be seen, and what that leaves open. */
  readonly unseen: readonly { readonly what: CollectionName; readonly why: string }[];
}
