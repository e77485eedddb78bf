// SPDX-License-Identifier: Apache-2.0
// Turns the decision for a namespace into one plan for each of its Services and Etcds. Pure.
import type { Service } from '../../apis/core.ts';
import type { Etcd } from '../../apis/gardener.ts';
import type { KubernetesObject, ObjectRef } from '../../apis/meta.ts';
import { ANNOTATION_APPLIED, ANNOTATION_TOPOLOGY_MODE, LABEL_STRATEGY } from '../../apis/names.ts';
import type { Strategy } from '../../apis/names.ts';
import { selectEtcd, selectService } from '../../gardener/catalogue.ts';
import type { Selection } from '../../gardener/catalogue.ts';
import { configuredEtcdSelection, configuredSelection } from '../../gardener/extension/select.ts';
import type { Governing } from '../../gardener/extension/types.ts';
import { decideObjectRouting } from '../../gardener/decide.ts';
import type { LayerSevenDecision } from '../../gardener/layer-seven.ts';
import type { RoutingDecision, Scope } from '../../gardener/types.ts';
import { parseApplied } from '../../routing/applied.ts';
import { etcdSettings } from '../../routing/etcd.ts';
import { configuredSettings, routingSettings, strategySettings, withOldProxies } from '../../routing/mechanism.ts';
import { planSettings } from '../../routing/plan.ts';
import { conflictingMode, planRelease, requestedStrategy, strategyLabel } from '../../routing/strategy.ts';
import type { KubernetesVersion, RoutingSettings, SettingsPlan, SettingsTarget } from '../../routing/types.ts';
import type { ObjectDecision, RoutingContext } from './types.ts';

export interface ObjectsInput {
  /** The decision for the namespace. */
  readonly decision: RoutingDecision;
  /** Which rows of the catalogue apply; undefined: only the label counts. */
  readonly scope: Scope | undefined;
  readonly services: readonly Service[];
  readonly etcds: readonly Etcd[];
  /** Whether the kube-apiserver Service of this name is behind L7 load balancing. */
  readonly layerSevenOf?: (service: string) => LayerSevenDecision;
  /** The Extension whose configuration counts here. */
  readonly governing?: Governing | undefined;
  readonly context: RoutingContext;
}

type Refusal = Extract<RoutingDecision, { kind: 'refused' }>;

const UNCHANGED: SettingsPlan = { kind: 'unchanged', foreign: [] };

/** Causes that say nothing about what is wanted: objects stay as they are until the source is back. */
const HELD: ReadonlySet<string> = new Set(['SourceMissing', 'VersionUnknown', 'ConfigurationInvalid']);
const isHeld = ({ reason }: Refusal): boolean => HELD.has(reason);

/** Whether the object carries something that we set. */
export const carriesApplied = ({ metadata }: KubernetesObject): boolean =>
  metadata?.annotations?.[ANNOTATION_APPLIED] !== undefined;

/** Whether the annotation that old proxies want is among what we set. */
const hasModeApplied = ({ metadata }: KubernetesObject): boolean =>
  parseApplied(metadata?.annotations?.[ANNOTATION_APPLIED]).record.annotations?.[ANNOTATION_TOPOLOGY_MODE] !==
  undefined;

const refOf = ({ metadata }: KubernetesObject): Required<ObjectRef> => ({
  namespace: metadata?.namespace ?? '',
  name: metadata?.name ?? '',
});

const VERSION_UNKNOWN: Refusal = {
  kind: 'refused',
  reason: 'VersionUnknown',
  message: "the API server's version is not known (yet); nothing is changed until it is",
};

/** The settings that an enabled object shall have, or what stands in the way of them. */
type Wanted = { readonly kind: 'want'; readonly want: RoutingSettings } | Refusal;

/** With the label that the flow controller writes as well. */
const labelled = (service: Service, strategy: Strategy, settings: RoutingSettings): RoutingSettings => ({
  ...settings,
  labels: { ...settings.labels, [LABEL_STRATEGY]: strategyLabel(service, strategy) },
});

const wantedOfService = (service: Service, version: KubernetesVersion, configured: Strategy | undefined): Wanted => {
  const conflict = conflictingMode(service);
  if (conflict !== undefined) {
    const message = `${conflict.field} is ${JSON.stringify(conflict.value)} and a strategy is asked for; keep one of both`;
    return { kind: 'refused', reason: 'ConflictingMode', message, field: conflict.field };
  }
  const requested = requestedStrategy(service);
  if (requested !== undefined)
    return { kind: 'want', want: labelled(service, requested, strategySettings(version, requested)) };
  return {
    kind: 'want',
    want:
      configured === undefined
        ? routingSettings(version)
        : labelled(service, configured, configuredSettings(version, configured)),
  };
};

const wantedOfEtcd = (etcd: Etcd, version: KubernetesVersion, context: RoutingContext): Wanted => {
  const { namespace, name } = refOf(etcd);
  if (context.prunedEtcds.has(`${namespace}/${name}`)) {
    const message = `Etcd ${namespace}/${name}: the API server dropped spec.etcd.clientService settings; update etcd-druid to v0.36.0 or newer`;
    return { kind: 'refused', reason: 'FieldNotSupported', message, field: 'spec.etcd.clientService' };
  }
  const result = etcdSettings(routingSettings(version), context.etcdSupport);
  if (result.kind === 'settings') return { kind: 'want', want: result.settings };
  const { reason, field, message } = result;
  return { kind: 'refused', reason, message: `Etcd ${namespace}/${name}: ${message}`, field };
};

/** The plan for one object whose own decision is known; `configured` is the strategy for a Service that asks for none. */
export const planObject = (
  kind: SettingsTarget,
  object: Service | Etcd,
  decision: RoutingDecision,
  context: RoutingContext,
  configured?: Strategy,
): ObjectDecision => {
  const ref = refOf(object);
  const { version, mixedKubelets } = context;
  const refused = (refusal: Refusal): ObjectDecision => {
    const plan = isHeld(refusal) ? UNCHANGED : planRelease(kind, object);
    return { kind, ref, object, decision: refusal, want: undefined, plan };
  };
  if (decision.kind === 'refused') return refused(decision);
  if (version === undefined) return refused(VERSION_UNKNOWN);
  const wanted =
    kind === 'Service' ? wantedOfService(object, version, configured) : wantedOfEtcd(object as Etcd, version, context);
  if (wanted.kind === 'refused') return refused(wanted);
  const old = mixedKubelets ?? hasModeApplied(object);
  // A client Service of an Etcd is read by the same proxies, but its annotation would be lost without CRD support.
  const mixed = old && (kind === 'Service' || context.etcdSupport.annotations);
  // Part of the wish: a kubelet that comes or goes is a change to follow at once, not drift to repair.
  const want = mixed ? withOldProxies(wanted.want) : wanted.want;
  return { kind, ref, object, decision, want, plan: planSettings({ target: kind, object, want }) };
};

/** Selected, or with something on it that is to be taken back. */
const isOurs = ({ kind }: Selection, target: SettingsTarget, object: KubernetesObject): boolean =>
  (kind !== 'none' && kind !== 'writtenThroughEtcd') ||
  (carriesApplied(object) && planRelease(target, object).kind !== 'unchanged');

/** One decision for each object that is ours, or was: what carries `applied` without reason is taken back. */
export const decideObjects = (input: ObjectsInput): ObjectDecision[] => {
  const { decision, scope, layerSevenOf, context, governing } = input;
  const decide = (
    kind: SettingsTarget,
    object: Service | Etcd,
    selection: Selection,
    strategy?: Strategy,
  ): ObjectDecision[] => {
    if (!isOurs(selection, kind, object)) return [];
    const needed = selection.kind === 'catalogue' && selection.entry.condition === 'notLayerSeven';
    const layerSeven =
      needed && layerSevenOf !== undefined ? { layerSeven: layerSevenOf(selection.entry.service) } : {};
    const own = decideObjectRouting({ decision, selection, object, ...layerSeven });
    const decided = planObject(kind, object, own, context, strategy);
    return [selection.kind === 'configured' ? { ...decided, configured: true } : decided];
  };
  const services = input.services.flatMap((service) => {
    const { selection, strategy } = configuredSelection(selectService(service, scope), service, governing);
    return decide('Service', service, selection, strategy);
  });
  const etcds =
    scope === undefined
      ? []
      : input.etcds.flatMap((etcd) =>
          decide('Etcd', etcd, configuredEtcdSelection(selectEtcd(etcd, scope), etcd, governing)),
        );
  return [...services, ...etcds].sort((one, other) => compare(nameOf(one), nameOf(other)));
};

const nameOf = ({ kind, ref }: ObjectDecision): string => `${kind}/${ref.namespace}/${ref.name}`;
const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);
