// Findings about a cluster as a whole that no single Service shows: stable code, what it says, and the remedy.

export const AUDIT_REASONS = {
  EndpointZoneDiffers: {
    sentence:
      'An endpoint names another zone than its Node has now: hints follow the endpoint, and traffic crosses zones while everything looks right.',
    remedy:
      'Find out who changed the zone label of the Node; a restart of the Pod rewrites the endpoint; endpoints that other controllers write have to be fixed there.',
  },
} as const satisfies Readonly<Record<string, { readonly sentence: string; readonly remedy: string }>>;

/** Stable code of a finding that only an audit sees. */
export type AuditReason = keyof typeof AUDIT_REASONS;
