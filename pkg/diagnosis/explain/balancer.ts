// What is known of a kind of load balancers.

/** What a load balancer does with traffic from outside. */
export interface Kind {
  readonly enters: string;
  readonly remedy: string;
  /** What the remedy sets of the Service; empty: nothing. Default: externalTrafficPolicy. */
  readonly sets?: '/metadata/annotations' | '';
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
  /** Under the policy Local: with these kubelets it passes on what enters to Pods of any Node. */
  readonly passesIn?: RegExp;
  /** An annotation or the class of the Service, else a label or name that the provider's Nodes have; and the namespace of its Pods. */
  readonly shown?: RegExp;
  readonly namespace?: string;
  /** Kind of the pools that only give a Service its address, and what announces that. */
  readonly pool?: readonly [kind: string, announcing: string];
  readonly unannounced?: { readonly why: string; readonly remedy: string };
  /** The annotation that names the zone in which it stands. */
  readonly stands?: string;
  /** By what shows the mode: a kind of objects, a variable that is true in the environment of its DaemonSet, or where it sends to. */
  readonly modes?: Readonly<Record<string, Kind>>;
}
