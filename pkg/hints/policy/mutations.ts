// SPDX-License-Identifier: Apache-2.0
// Turns a row of the table of strategies into the CEL that computes the JSON Patch of a slice.
import type { HintStrategy } from '../types.ts';
import { asksFor, celEndpoints, hasNode, hasPlan, hasZone, identityOf, namesIn, unplanned } from './cel.ts';
import type { PolicyRow } from './types.ts';

/** What a policy computes: variables in the order in which they may use each other. */
type Computation = Pick<PolicyRow, 'variables' | 'patch'>;

/** One operation for each endpoint of which `filter` holds; never `test`, as the webhook. */
const forEndpoints = (filter: string, operation: 'add' | 'remove', value?: string): string =>
  [
    'object.endpoints.transformList(i, e,',
    `  ${filter},`,
    `  JSONPatch{op: "${operation}", path: "/endpoints/" + string(i) + "/hints"${value === undefined ? '' : `, value: ${value}`}})`,
  ].join('\n');

const zoneNamed = (name: string): string => `Object.endpoints.hints.forZones{name: ${name}}`;
const nodeNamed = (name: string): string => `Object.endpoints.hints.forNodes{name: ${name}}`;

/** Already right: nothing to write. Absent and empty lists are the same to the API. */
const differs = (zones: string, nodes: string): string =>
  `!(${namesIn('e', 'forZones')} == ${zones} && ${namesIn('e', 'forNodes')} == ${nodes})`;

const ownZone = (): Computation => ({
  variables: [],
  patch: forEndpoints(
    `${hasZone('e')} && ${differs('[e.zone]', '[]')}`,
    'add',
    `Object.endpoints.hints{forZones: [${zoneNamed('e.zone')}]}`,
  ),
});

const ownZoneAndNode = (): Computation => {
  const zones = `(${hasZone('e')} ? [e.zone] : [])`;
  const nodes = `(${hasNode('e')} ? [e.nodeName] : [])`;
  return {
    variables: [],
    patch: forEndpoints(
      `(${hasZone('e')} || ${hasNode('e')}) && ${differs(zones, nodes)}`,
      'add',
      `Object.endpoints.hints{forZones: ${zones}.map(z, ${zoneNamed('z')}), forNodes: ${nodes}.map(n, ${nodeNamed('n')})}`,
    ),
  };
};

/**
 * The zones of each stored plan by the endpoint's identity. Two stored
 * endpoints of one identity make CEL refuse the map; then the policy, which may fail, leaves the whole slice as it came.
 */
const storedPlans = (strategy: HintStrategy): string =>
  [
    `request.operation == "UPDATE" && (${asksFor('oldObject', strategy)})`,
    `  ? ${celEndpoints('oldObject')}.transformMapEntry(i, x,`,
    `      ${hasPlan('x')},`,
    `      {${identityOf('x')}: x.hints.forZones.map(h, h.name)})`,
    '  : {}',
  ].join('\n');

/** The Nodes of each stored plan that has any, likewise. Slices without any, nearly all, are not looked up. */
const storedNodes = (strategy: HintStrategy): string =>
  [
    `request.operation == "UPDATE" && (${asksFor('oldObject', strategy)})`,
    `  ? ${celEndpoints('oldObject')}.transformMapEntry(i, x,`,
    `      has(x.hints) && has(x.hints.forNodes) && ${hasPlan('x')},`,
    `      {${identityOf('x')}: ${namesIn('x', 'forNodes')}})`,
    '  : {}',
  ].join('\n');

const carriedOver = (strategy: HintStrategy): Computation => {
  const wanted = `variables.stored[?${identityOf('e')}].orValue([e.zone])`;
  const withNodes = strategy.nodes === 'carried-over';
  const nodes = withNodes
    ? `(variables.nodes.size() == 0 ? [] : variables.nodes[?${identityOf('e')}].orValue([]))`
    : '[]';
  return {
    variables: [
      { name: 'stored', expression: storedPlans(strategy) },
      ...(withNodes ? [{ name: 'nodes', expression: storedNodes(strategy) }] : []),
    ],
    patch: forEndpoints(
      // Stripped by its controller is the usual case: then the look-up is made once.
      `${hasZone('e')} && (!has(e.hints) || ${differs(wanted, nodes)})`,
      'add',
      `Object.endpoints.hints{forZones: ${wanted}.map(z, ${zoneNamed('z')})${withNodes ? `, forNodes: ${nodes}.map(n, ${nodeNamed('n')})` : ''}}`,
    ),
  };
};

const withoutSwitch = (strategy: HintStrategy): Computation => {
  if (strategy.zones === 'carried-over') return carriedOver(strategy);
  return strategy.nodes === 'own' ? ownZoneAndNode() : ownZone();
};

/** As `ruleFor`: what is planned has no hints without a plan. */
export const computationOf = (strategy: HintStrategy, plannerAlive: boolean): Computation => {
  const { variables, patch } = withoutSwitch(strategy);
  if (!strategy.planned) return { variables, patch };
  return {
    variables: [{ name: 'unplanned', expression: unplanned(plannerAlive) }, ...variables],
    patch: `variables.unplanned\n? ${forEndpoints('has(e.hints)', 'remove')}\n: ${patch}`,
  };
};
