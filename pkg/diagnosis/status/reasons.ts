// Why an installation is not healthy: stable code, what it says, and the remedy.

export const STATUS_REASONS = {
  ReplicasNotReady: {
    sentence: 'A component has fewer ready or fewer updated replicas than desired.',
    remedy: 'See `kubectl describe` and the logs of its Pods.',
  },
  ScaledToZero: {
    sentence: 'A component is installed with zero replicas; a webhook removes its registration with its last replica.',
    remedy: 'Scale it up again if that was not intended.',
  },
  ContainerNotRunning: {
    sentence: 'A container of a component does not run.',
    remedy: 'See the logs of its last run: `kubectl logs --previous`.',
  },
  VersionsDiffer: {
    sentence: 'Components of one installation have different versions.',
    remedy: 'Let the upgrade finish, or install the chart again.',
  },
  LeaseStale: {
    sentence: 'The holder of a Lease has stopped renewing it, and no other replica has taken over.',
    remedy: 'See the logs of the component: it is down, hangs, or cannot reach the API server.',
  },
  NoLeader: {
    sentence: 'A component that works through one leader has none.',
    remedy: 'See why its Pods do not start, or whether they may write the Lease.',
  },
  HintsNotCarried: {
    sentence:
      'The Lease of the flow-controller is older than ten minutes: admission no longer carries its plans over, so planned Services return to spread.',
    remedy: 'Bring the flow-controller back; it plans anew at once.',
  },
  AdmissionMissing: {
    sentence: 'No webhook of this extension serves EndpointSlices, although an endpointslice-webhook is installed.',
    remedy:
      'See the log of the endpointslice-webhook: it registers itself, unless the chart does (`registration: chart`).',
  },
  RegistrationWithoutInstallation: {
    sentence:
      'A MutatingWebhookConfiguration of this extension points to a Service for which no installation was found.',
    remedy: 'Delete the MutatingWebhookConfiguration if that installation is gone for good.',
  },
  AuthorityMissing: {
    sentence:
      'An entry of the MutatingWebhookConfiguration has no caBundle with a certificate, so API servers do not trust the webhook.',
    remedy: 'Check whether another writer empties the field; the webhook restores it at its next check.',
  },
  AuthorityExpiring: {
    sentence: 'The certificate authority that the MutatingWebhookConfiguration names expires soon or has expired.',
    remedy:
      'It should have been rotated: see the log of the endpointslice-webhook, or renew the certificates that are mounted.',
  },
  CertificateExpiring: {
    sentence: 'The serving certificate of the webhook expires soon or has expired.',
    remedy:
      'It should have been renewed: see the log of the endpointslice-webhook, or renew the certificates that are mounted.',
  },
  NoReadyWebhook: {
    sentence: 'The Service behind the registration has no ready endpoint.',
    remedy: 'See why the Pods of the endpointslice-webhook are not ready.',
  },
  AdmissionNotActing: {
    sentence: 'A slice that was written as a dry run came back without hints: API servers do not reach the webhook.',
    remedy:
      'See whether API servers reach the Service of the webhook (network policies, firewall, its certificate), and its log.',
  },
  AdmissionRefuses: {
    sentence:
      'A slice that was written as a dry run was refused: with `failurePolicy: Fail`, endpoints in the cluster do not change any more.',
    remedy: 'Bring the webhook back, or set `failurePolicy: Ignore` until it is back.',
  },
  NamespaceNotKept: {
    sentence:
      'A namespace holds settings, but not the label by which admission keeps them when another writer drops them; they come back within a minute only.',
    remedy:
      'See what removes or changes the label, and the log of the settings-reconciler, which writes it: `kubectl get namespaces -L topology.extensions.gardener.cloud/routing`.',
  },
  ServicesIneffective: {
    sentence: 'Services that ask for routing by zone do not get it.',
    remedy: 'See `kubectl topology audit` for all of them, or `kubectl topology explain` for one.',
  },
  OldProxies: {
    sentence:
      'Nodes with Kubernetes 1.30 or older in a newer cluster use hints of annotated Services only; the settings-reconciler adds the annotation while there are such Nodes.',
    remedy: 'Upgrade those Nodes.',
  },
  ExtensionFailing: {
    sentence: 'An Extension resource of type topology-aware-routing has an error.',
    remedy: 'See its `status.lastError` and the log of the settings-reconciler.',
  },
} as const satisfies Readonly<Record<string, { readonly sentence: string; readonly remedy: string }>>;

/** Stable code of what a status finds. */
export type StatusReason = keyof typeof STATUS_REASONS;

/** Worth a word, but nothing is broken by it. */
export const NOTES: ReadonlySet<StatusReason> = new Set(['ScaledToZero', 'ServicesIneffective', 'OldProxies']);
