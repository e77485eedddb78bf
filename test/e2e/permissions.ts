// Which permissions the chart renders, which were used, and which only other suites use.
import { FLOW, RECONCILER, type Rendered } from './chart.ts';
import type { AuditEvent } from './settings-audit.ts';

/** What no run can be made to do at will, and the test that shows the use of it. */
interface Elsewhere {
  readonly permissions: readonly string[];
  readonly why: string;
  readonly shownBy: { readonly file: string; readonly test: string };
  /** Whether this run may make use of it after all. */
  readonly sometimes?: boolean;
}

export const ELSEWHERE: readonly Elsewhere[] = [
  {
    permissions: [
      `${RECONCILER} patch zoneevacuations/status.topology.extensions.gardener.cloud`,
      `${RECONCILER} list flowpolicies.topology.extensions.gardener.cloud`,
    ],
    why: 'no zone is evacuated while the chart is installed',
    shownBy: {
      file: 'test/e2e/suites/evacuate.test.ts',
      test: 'sends no new connection there, from anywhere, in any family',
    },
  },
  {
    permissions: [`${RECONCILER} get services`],
    why: '--cleanup reads again what somebody else wrote at the same moment',
    shownBy: {
      file: 'test/unit/controllers/settings/cleanup.test.ts',
      test: 'reads the object again after a conflict',
    },
    sometimes: true,
  },
  {
    permissions: [`${FLOW} list persistentvolumes`],
    why: 'a Node of a NodeGroup that has a zone already, with takeover, and Pods with volumes',
    shownBy: {
      file: 'test/e2e/suites/kubeedge.test.ts',
      test: 'leaves it alone also with takeover, while a Pod there uses a volume of the zone',
    },
  },
  {
    permissions: [RECONCILER, FLOW].map((name) => `${name} patch events`),
    why: 'an event that repeats is counted in the one that there is',
    shownBy: { file: 'test/unit/kubernetes/events.test.ts', test: 'counts repeats on the same Event' },
    sometimes: true,
  },
];

/** One verb on one resource, as one rule of one role gives it to a ServiceAccount. */
interface Permission {
  /** `<account> <verb> <resource>[.<group>][/<name>] [in <namespace>]`: what tests and people call it. */
  readonly text: string;
  readonly account: string;
  readonly verb: string;
  readonly group: string;
  /** With `/<subresource>` where it has one. */
  readonly resource: string;
  /** Undefined: any. */
  readonly name: string | undefined;
  /** Undefined: any. */
  readonly namespace: string | undefined;
}

type Rule = NonNullable<Rendered['rules']>[number];

const permissionsOfRule = (rule: Rule, account: string, namespace: string | undefined): Permission[] => {
  const { apiGroups, resources, verbs, resourceNames = [undefined] } = rule;
  return apiGroups.flatMap((group) =>
    resources.flatMap((resource) =>
      resourceNames.flatMap((name) =>
        verbs.map((verb) => {
          const kind = group === '' ? resource : `${resource}.${group}`;
          const object = name === undefined ? kind : `${kind}/${name}`;
          const where = namespace === undefined ? '' : ` in ${namespace}`;
          return { text: `${account} ${verb} ${object}${where}`, account, verb, group, resource, name, namespace };
        }),
      ),
    ),
  );
};

/** What the bindings among the objects give, each rule taken apart. */
export const permissionsOf = (objects: readonly Rendered[]): Permission[] =>
  objects
    .filter(({ kind }) => kind === 'RoleBinding' || kind === 'ClusterRoleBinding')
    .flatMap(({ roleRef, subjects = [], metadata }) => {
      const role = objects.find(
        (object) =>
          object.kind === roleRef?.kind &&
          object.metadata?.name === roleRef?.name &&
          (object.kind === 'ClusterRole' || object.metadata?.namespace === metadata?.namespace),
      );
      if (role === undefined) throw new Error(`${metadata?.name} binds a role that is not rendered`);
      return subjects.flatMap(({ name }) =>
        (role.rules ?? []).flatMap((rule) => permissionsOfRule(rule, name, metadata?.namespace)),
      );
    });

const uses = ({ verb, user, objectRef }: AuditEvent, permission: Permission): boolean => {
  if (objectRef === undefined || !user.username.endsWith(`:${permission.account}`)) return false;
  const { apiGroup = '', resource, subresource, namespace, name } = objectRef;
  return (
    verb === permission.verb &&
    apiGroup === permission.group &&
    [resource, subresource].filter(Boolean).join('/') === permission.resource &&
    // Lists and watches of one object by field selector carry its name too.
    (permission.name === undefined || permission.name === name) &&
    (permission.namespace === undefined || permission.namespace === namespace)
  );
};

/** The texts of those that no event makes use of, sorted. */
export const unusedPermissions = (permissions: readonly Permission[], events: readonly AuditEvent[]): string[] =>
  permissions
    .filter((permission) => !events.some((event) => uses(event, permission)))
    .map(({ text }) => text)
    .sort();
