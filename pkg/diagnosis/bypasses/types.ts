// Clients that do not pass the rules of a Service's proxies: what shows them, and the answer.
import type { StringMap } from '../../apis/meta.ts';
import type { Evidence } from '../routers/types.ts';

/** An object that sends traffic to Services, or says who does for others: Ingress, route, Gateway, class, registration. */
export interface EntryObject {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** Services that it sends to, `namespace/name`. */
  readonly services: readonly string[];
  /** An IngressClass or GatewayClass; empty: none, or the default. */
  readonly className: string;
  /** Who acts on a class. */
  readonly controller: string;
  /** Gateways of a route, `namespace/name`. */
  readonly parents: readonly string[];
  readonly annotations: StringMap;
  /** Fields that matter for its kind. */
  readonly settings: StringMap;
}

/** Clients of one kind that go around a Service's proxies. */
export interface Bypass {
  /** Stable name: `ingress-nginx`, `istio`, `headless`, … */
  readonly client: string;
  /** What shows it. */
  readonly evidence: Evidence;
  /** What decides about zones instead. */
  readonly decides: string;
  /** What to set, so that zones count; empty where nothing is known. */
  readonly setting: string;
  /** Every client of the Service goes this way. */
  readonly all: boolean;
  readonly source: string;
}
