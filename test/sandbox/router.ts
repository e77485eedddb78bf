// Every request passes here: who asks, for what, which fault strikes, who answers, and the log of it.
import { discover, describeVersion } from './discovery.ts';
import { badRequest, methodNotAllowed, StatusError, unauthorized, unknownResource } from './errors.ts';
import { toStatus, type Exchange } from './exchange.ts';
import { describeOpenApi } from './openapi.ts';
import { faultStatus, type FaultTable } from './faults.ts';
import type { Call } from './handlers.ts';
import { NO_RESOURCE, parseRoute, type Route } from './route.ts';
import type { Registry } from './served-resource.ts';
import type { SandboxRequest } from './types.ts';
import type { Users } from './users.ts';
import type { Actor } from './writer.ts';

export interface RouterDependencies {
  readonly registry: Registry;
  readonly users: Users;
  readonly faults: FaultTable;
  readonly handle: (call: Call) => Promise<void>;
  readonly version: () => string;
  readonly log: (request: SandboxRequest) => void;
}

/** Paths that answer before anybody is authenticated, as the real server's health does for anonymous users. */
const PUBLIC = new Set(['/healthz', '/readyz', '/livez', '/version']);

const routeOf = (exchange: Exchange): Route => {
  try {
    return parseRoute(exchange.method, exchange.target);
  } catch {
    throw badRequest('the path is not properly encoded');
  }
};

export const createRouter = ({ registry, users, faults, handle, version, log }: RouterDependencies) => {
  const raw = (route: Route, exchange: Exchange): void => {
    if (exchange.method !== 'GET' && exchange.method !== 'HEAD') throw methodNotAllowed();
    if (route.path === '/version') exchange.json(200, describeVersion(version()));
    else if (PUBLIC.has(route.path)) exchange.text(200, 'ok');
    else {
      const document = discover(registry, route.path) ?? describeOpenApi(registry, route.path);
      if (document === undefined) exchange.text(404, '404 page not found\n');
      else exchange.json(200, document);
    }
  };

  const knowsVersion = ({ group, version: wanted }: Route): boolean =>
    registry.all().some((resource) => resource.group === group && resource.version === wanted && !resource.custom);

  const answer = async (route: Route, actor: Actor | undefined, exchange: Exchange): Promise<void> => {
    if (actor === undefined && !PUBLIC.has(route.path)) throw unauthorized();
    if (route.verb === 'raw' || actor === undefined) {
      raw(route, exchange);
      return;
    }
    const resource = registry.find(route.group, route.version, route.plural);
    const misplaced = resource !== undefined && !resource.namespaced && route.namespace !== '';
    if (resource === undefined || misplaced) {
      if (knowsVersion(route)) throw unknownResource();
      exchange.text(404, '404 page not found\n');
      return;
    }
    await handle({ resource, route, actor, exchange });
  };

  /** True when the request is done: reset, or answered by the fault. */
  const strike = (route: Route, user: string, exchange: Exchange): boolean => {
    const fault = faults.take({ verb: route.verb, resource: route.plural, user, name: route.name });
    if (fault === undefined) return false;
    if (fault.kind === 'status') throw faultStatus(fault);
    if (fault.kind === 'answer') exchange.rawJson(200, fault.text);
    else exchange.reset(true);
    return true;
  };

  const record = (route: Route, user: string, exchange: Exchange): void =>
    log({
      user,
      method: exchange.method,
      verb: route.verb,
      path: route.path,
      resource: route.plural,
      ...(route.namespace === '' ? {} : { namespace: route.namespace }),
      ...(route.name === '' ? {} : { name: route.name }),
      status: exchange.code,
      query: route.query,
    });

  return async (exchange: Exchange): Promise<void> => {
    let route = NO_RESOURCE;
    const actor = users.authenticate(exchange.header('authorization'));
    const user = actor?.username ?? 'system:anonymous';
    try {
      route = routeOf(exchange);
      if (strike(route, user, exchange)) return;
      await answer(route, actor, exchange);
    } catch (error) {
      if (error instanceof StatusError || exchange.code === 0) exchange.fail(toStatus(error));
    } finally {
      record(route, user, exchange);
    }
  };
};
