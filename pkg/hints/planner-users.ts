// Whose planned hints pass admission untouched.
import { COMMANDS } from '../apis/names.ts';

export interface PlannerUsersInput {
  /** As configured; where any are named, they are all. */
  readonly configured: readonly string[];
  /** Namespace of this installation. */
  readonly ownNamespace: string;
  /** Namespace of the installation that plans, as its Lease says; empty where it does not. */
  readonly planning: string;
}

const NAMESPACE = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** Of several installations one plans and one admits, and they need not be the same. */
export const plannerUsersOf = ({ configured, ownNamespace, planning }: PlannerUsersInput): string[] => {
  if (configured.length > 0) return [...configured];
  const namespaces = new Set([ownNamespace, ...(NAMESPACE.test(planning) ? [planning] : [])]);
  return [...namespaces].map((namespace) => `system:serviceaccount:${namespace}:${COMMANDS.flowController}`);
};
