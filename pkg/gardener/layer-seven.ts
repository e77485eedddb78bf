// Whether a kube-apiserver is behind layer-7 load balancing (Gardener's IstioTLSTermination): routing by zone would then pin
// each gateway to one instance, so such a Service is left alone.
import type { Service } from '../apis/core.ts';
import { defined } from '../apis/defined.ts';
import type { StringMap } from '../apis/meta.ts';
import { parseVersion } from '../routing/version.ts';

const ANNOTATION_DISABLE = 'shoot.gardener.cloud/disable-istio-tls-termination';
/** Gardener minor from which the feature gate is on by default (Beta). */
const GATE_DEFAULT_SINCE_MINOR = 144;

/** What is known, strongest first. Everything may be missing. */
export interface LayerSevenEvidence {
  /** Name of the kube-apiserver Service; messages and `<name>-mtls` are made from it. */
  readonly serviceName: string;
  /** Whether there is a Service `<name>-mtls` too: Gardener creates that only with L7. */
  readonly mtlsServicePresent: boolean;
  /** Annotations of the Shoot (none for a Garden); only the opt-out is read. */
  readonly shootAnnotations?: Readonly<StringMap>;
  /** Feature gate IstioTLSTermination as injected into the extension's chart. */
  readonly featureGate?: boolean;
  /** Version of gardenlet or gardener-operator, e.g. `v1.144.0`; a malformed one is passed over. */
  readonly gardenerVersion?: string;
  /** What the operator says in the configuration file, for where nothing is injected. */
  readonly configured?: boolean;
}

/**
 * What the configuration says about the Gardener that runs here. Not taken from the configuration's schema: extensions import this
 * file's declarations without the packages of the schema.
 */
export interface GardenerInformation {
  readonly version?: string;
  readonly featureGates?: Readonly<Record<string, boolean>>;
  readonly layerSevenDefault?: boolean;
}

/** `source` says what decided; `undecidable` counts as L7, because a wrong yes would overload an instance. */
export interface LayerSevenDecision {
  readonly active: boolean;
  readonly source:
    'mtlsService' | 'shootAnnotation' | 'featureGate' | 'gardenerVersion' | 'configuration' | 'undecidable';
  /** One sentence for a person. */
  readonly message: string;
}

export const mtlsServiceName = (serviceName: string): string => `${serviceName}-mtls`;

const GO_TRUE = new Set(['1', 't', 'T', 'TRUE', 'true', 'True']);

/** The words that Go's strconv.ParseBool takes for true: Gardener reads its annotations with it. */
export const isGoTrue = (value: string | undefined): boolean => GO_TRUE.has(value ?? '');

/** Suffixes of the Services that Gardener puts beside a kube-apiserver's for its gateways (apiserverexposure, sni.go). */
const BESIDE = ['-mtls', '-connection-upgrade'];

/** Evidence about a Service that an extension labelled: one of the gateways' own, or with one of them beside it. */
export const layerSevenOfLabelled = (name: string, siblings: ReadonlySet<string>): LayerSevenDecision => {
  const own = BESIDE.find((suffix) => name.endsWith(suffix));
  if (own !== undefined) return { active: true, source: 'mtlsService', message: `its name ends with ${own}` };
  const beside = siblings.has(mtlsServiceName(name));
  const message = `Service ${mtlsServiceName(name)} ${beside ? 'exists' : 'does not exist'}`;
  return { active: beside, source: 'mtlsService', message };
};

/** Whether the Shoot opted out of L7 load balancing. */
export const isIstioTlsTerminationDisabled = (annotations: Readonly<StringMap> | undefined): boolean =>
  isGoTrue(annotations?.[ANNOTATION_DISABLE]);

const defaultOfVersion = (gardenerVersion: string | undefined): boolean | undefined => {
  if (gardenerVersion === undefined) return undefined;
  try {
    const { major, minor } = parseVersion(gardenerVersion);
    return major > 1 || (major === 1 && minor >= GATE_DEFAULT_SINCE_MINOR);
  } catch {
    return undefined;
  }
};

const onOrOff = (active: boolean): string => (active ? 'on' : 'off');

/** Decides from the strongest evidence there is. */
export const decideLayerSeven = (evidence: LayerSevenEvidence): LayerSevenDecision => {
  const { serviceName, mtlsServicePresent, shootAnnotations, featureGate, gardenerVersion, configured } = evidence;
  if (mtlsServicePresent) {
    return { active: true, source: 'mtlsService', message: `Service ${mtlsServiceName(serviceName)} exists` };
  }
  if (isIstioTlsTerminationDisabled(shootAnnotations)) {
    return { active: false, source: 'shootAnnotation', message: `the Shoot is annotated with ${ANNOTATION_DISABLE}` };
  }
  if (featureGate !== undefined) {
    return {
      active: featureGate,
      source: 'featureGate',
      message: `feature gate IstioTLSTermination is ${onOrOff(featureGate)}`,
    };
  }
  const byDefault = defaultOfVersion(gardenerVersion);
  if (byDefault !== undefined) {
    const message = `feature gate IstioTLSTermination is ${onOrOff(byDefault)} by default in Gardener ${gardenerVersion}`;
    return { active: byDefault, source: 'gardenerVersion', message };
  }
  if (configured !== undefined) {
    return {
      active: configured,
      source: 'configuration',
      message: `the configuration sets L7 load balancing ${onOrOff(configured)}`,
    };
  }
  const message = `cannot determine whether ${serviceName} is behind L7 load balancing; set it in the configuration`;
  return { active: true, source: 'undecidable', message };
};

/** The decision for each kube-apiserver Service of a namespace, from the Service beside it, the Shoot's opt-out, gate, version and configuration. */
export const layerSevenOf =
  (services: readonly Service[], gardener: GardenerInformation, shootAnnotations?: StringMap) =>
  (serviceName: string): LayerSevenDecision => {
    const beside = mtlsServiceName(serviceName);
    const featureGate = gardener.featureGates?.['IstioTLSTermination'];
    return decideLayerSeven({
      serviceName,
      mtlsServicePresent: services.some(({ metadata }) => metadata?.name === beside),
      ...defined({
        shootAnnotations,
        featureGate,
        gardenerVersion: gardener.version,
        configured: gardener.layerSevenDefault,
      }),
    });
  };
