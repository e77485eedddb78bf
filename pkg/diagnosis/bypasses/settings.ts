// What a proxy is set to already, by objects and by its version, and what clients of brokers and databases have to be set to.
import type { Service } from '../../apis/core.ts';
import { defined } from '../../apis/values.ts';
import type { KubernetesVersion } from '../../routing/types.ts';
import { compareVersions } from '../../routing/version.ts';
import { serviceKeyOfRef, serviceRefOf } from '../models/lookup.ts';
import { versionText } from '../../upstream/proxy/hint-rule.ts';
import { imageVersion } from '../routers/kube-proxy.ts';
import type { Client, EntryObject } from './clients.ts';

/** An alternative that versions without the field do not have. */
export const NEW_FIELD = /^`spec\.trafficDistribution.*? of the Service(?: \([^)]*\))?,(?: or)? /;

export const BY_ITSELF = 'it chooses among the endpoints by itself, without zones';

export const entryName = ({ kind, namespace, name }: EntryObject): string =>
  `${kind} ${namespace === '' ? '' : `${namespace}/`}${name}`;

/** istio/istio#40113 */
const EVERYWHERE = ': it has to run in every zone whose endpoints are to get something';

/** What Envoy does by the object that decides for the Service, by what that makes of zones: istio/istio#31735, #39477, #48084. */
const BY_RULE: Readonly<Record<string, { readonly decides?: string; readonly setting: string }>> = {
  off: { decides: '{rule} switches locality off', setting: '`localityLbSetting.enabled: true` in it' },
  distribute: {
    decides: 'Envoy follows `localityLbSetting.distribute` of {rule}, which says what share goes to which zone',
    setting: '`failover` with `outlierDetection` instead of `distribute` in {rule} keeps to zones',
  },
  kept: { decides: `Envoy prefers its own zone by {rule}${EVERYWHERE}`, setting: '' },
  // istio/istio#39792, #46326
  outlier: {
    decides: `Envoy prefers its own zone by {rule}; before Istio 1.20 only from Pods that a Service selects${EVERYWHERE}`,
    setting: '',
  },
  unset: { setting: '`outlierDetection` in {rule}' },
};

/** Without alternatives that say `(from 1.5)`, of a version before. */
const knownTo = (setting: string, version: KubernetesVersion): string =>
  setting
    .replace(
      /(?:^|, (?:or )?)[^,]*?\((?:\w+ )?from (\d+)\.(\d+)[^)]*\)/g,
      (alternative, major: string, minor: string) =>
        compareVersions(version, { major: Number(major), minor: Number(minor) }) < 0 ? '' : alternative,
    )
    .replace(/^, (?:or )?/, '');

/** Objects that may decide first, the route by which it is a client, its image, and whether some endpoint has a zone. */
type Seen = Partial<Record<'image', string>> & { rules: readonly EntryObject[]; entry?: EntryObject; isZoned: boolean };

/** The object that decides first: for the Service, the route or its Gateway. What Kuma's are for is not looked at. */
const ruleOf = ({ byRule }: Client, service: Service, { rules, entry }: Seen): EntryObject | undefined => {
  const key = serviceKeyOfRef(serviceRefOf(service));
  const targets = entry === undefined ? [] : [`${entry.namespace}/${entry.name}`, ...entry.parents];
  const isFor = ({ kind, services, parents }: EntryObject): boolean =>
    kind === 'MeshLoadBalancingStrategy' || services.includes(key) || parents.some((each) => targets.includes(each));
  return rules.find((each) => each.kind === byRule && isFor(each));
};

/** What is set already is no remedy, and neither is what the version or edition seen does not know. */
export const asSet = (row: Client, service: Service, seen: Seen): Partial<Client> => {
  const { setting = '', decides = BY_ITSELF, byRule, edition } = row;
  const { image = '', isZoned } = seen;
  const version = imageVersion(image);
  const { trafficDistribution: asked = 'PreferClose' } = service.spec ?? {};
  const since = asked === 'PreferClose' ? row.fieldSince : (row.namesSince ?? row.fieldSince);
  if (!isZoned && (since !== undefined || byRule !== undefined))
    return { decides: 'no endpoint has a zone that it could prefer, whatever it is set to', setting: '' };
  if (edition !== undefined && image !== '' && !edition.test(image))
    return { decides: `${decides} (seen: ${image})`, setting: '' };
  const counts = since !== undefined && version !== undefined && compareVersions(version, since) >= 0;
  const rule = ruleOf(row, service, seen);
  const { locality = '' } = rule?.settings ?? {};
  if (counts && service.spec?.trafficDistribution !== undefined && ['', 'unset'].includes(locality))
    return { decides: `${decides}; ${asked} counts in the version seen`, setting: '' };
  const by = BY_RULE[locality];
  if (rule !== undefined && by !== undefined) {
    const [ruled, set] = [by.decides, by.setting].map((text) => text?.replace('{rule}', entryName(rule)));
    return defined({ decides: ruled, setting: set });
  }
  if (since === undefined || version === undefined) return {};
  const left = knownTo(setting, version);
  if (counts) return { setting: left };
  return { decides: `${decides} (${asked} counts from ${versionText(since)} on; seen: ${image})`, setting: left };
};
