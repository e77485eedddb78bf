// Configuration files of the three processes, FlowPolicies in files and providerConfigs: a value with all defaults, or what is wrong where.
import { isDeepStrictEqual } from 'node:util';
import { CONFIG_API_VERSION, type ConfigKind, loadConfiguration } from '../../../pkg/apis/config/load.ts';
import { ConfigError } from '../../../pkg/apis/config/config-error.ts';
import { ENDPOINTSLICE_WEBHOOK_CONFIGURATION } from '../../../pkg/apis/config/endpointslice-webhook.ts';
import { FLOW_CONTROLLER_CONFIGURATION } from '../../../pkg/apis/config/flow-controller.ts';
import { SETTINGS_RECONCILER_CONFIGURATION } from '../../../pkg/apis/config/settings-reconciler.ts';
import { FLOW_POLICY_API_VERSION, createSpecCheck, readFlowPolicy } from '../../../pkg/apis/flow-policy.ts';
import { type RoutingConfigReader, createRoutingConfigReader } from '../../../pkg/apis/routing-config-reader.ts';
import { parseJson } from '../../../pkg/apis/values.ts';
import { settingsFromSpec } from '../../../pkg/flow/loop/from-spec.ts';
import { everyField } from '../documents/every-field.ts';
import { FLOW_POLICY_SPEC } from '../documents/flow.ts';
import { PROVIDER_CONFIG } from '../documents/landscape.ts';
import { type Input, type OpenTarget, type Sample, type Target, must } from '../types.ts';
import { print, yamlStyle } from '../inputs.ts';

const FILE = 'config.yaml';

const KINDS: readonly ConfigKind<unknown>[] = [
  ENDPOINTSLICE_WEBHOOK_CONFIGURATION as ConfigKind<unknown>,
  SETTINGS_RECONCILER_CONFIGURATION as ConfigKind<unknown>,
  FLOW_CONTROLLER_CONFIGURATION as ConfigKind<unknown>,
];

const POLICY = 'FlowPolicy';
const PROVIDER = 'providerConfig';

/** Of a webhook, the address is a Service or a URL. */
const WITHOUT_URL = JSON.stringify(everyField(ENDPOINTSLICE_WEBHOOK_CONFIGURATION.schema)).replace(
  /,"url":"[^"]*"/,
  '',
);

const documentOf = ({ kind, schema }: ConfigKind<unknown>): object =>
  kind === ENDPOINTSLICE_WEBHOOK_CONFIGURATION.kind ? (JSON.parse(WITHOUT_URL) as object) : everyField(schema);

const samples: readonly Sample[] = [
  { name: PROVIDER, value: PROVIDER_CONFIG },
  ...KINDS.map((one) => ({
    name: one.kind,
    value: { apiVersion: CONFIG_API_VERSION, kind: one.kind, ...documentOf(one) },
  })),
  {
    name: POLICY,
    value: {
      apiVersion: FLOW_POLICY_API_VERSION,
      kind: POLICY,
      metadata: { name: 'web', namespace: 'shop' },
      spec: FLOW_POLICY_SPEC,
    },
  },
];

const MAX_LINE = 1_000;

/** Every problem has a place in the file and one readable sentence. */
const checkError = ({ problems, message }: ConfigError, text: string): void => {
  const lines = text.split(/\r\n|\n|\r/).length;
  must(problems.length > 0, () => 'an error without a problem');
  for (const { line, column, field, message: sentence } of problems) {
    must(line >= 1 && line <= lines + 1 && column >= 1, () => `line ${line}, column ${column} of ${lines} lines`);
    must(sentence !== '' && !sentence.includes('does not match the schema'), () => `says nothing: ${sentence}`);
    must(field.length < MAX_LINE, () => `a path of ${field.length} characters`);
  }
  const long = message.split('\n').find((one) => one.length > MAX_LINE);
  must(long === undefined, () => `a line of ${long?.length} characters: ${long?.slice(0, 200)}`);
};

/** Loading what was loaded changes nothing: all defaults are in it. */
const checkLoaded = (kind: ConfigKind<unknown>, loaded: unknown): void => {
  const again = loadConfiguration(kind, JSON.stringify(loaded), FILE);
  must(isDeepStrictEqual(JSON.parse(JSON.stringify(loaded)), again), () => 'loading it again gives something else');
};

/** It comes parsed, from an API server; whatever it is, it is told what is wrong by field. */
const checkProviderConfig = (read: RoutingConfigReader, text: string): void => {
  const value = parseJson(text);
  if (value === undefined) return;
  const reading = read(value);
  if (reading.kind !== 'invalid') return;
  const { problems } = reading;
  must(problems.length >= 1 && problems.length <= 5, () => `${problems.length} problems`);
  for (const { field, message } of problems) {
    must(field.startsWith('spec.providerConfig') && message !== '', () => `${field}: ${message}`);
    must(
      field.length < MAX_LINE && message.length < MAX_LINE,
      () => `${field.length} and ${message.length} characters`,
    );
  }
};

const tolerated = (text: string, load: () => void): void => {
  try {
    load();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    checkError(error, text);
  }
};

export const target: Target = {
  bytes: true,
  open: () => {
    const checkSpec = createSpecCheck();
    const reader = createRoutingConfigReader();
    const load = (text: string, sample: string): void => {
      if (sample === PROVIDER) return checkProviderConfig(reader, text);
      const kind = KINDS.find((one) => one.kind === sample);
      if (kind !== undefined) return checkLoaded(kind, loadConfiguration(kind, text, FILE));
      const { spec } = readFlowPolicy(text, FILE);
      must(checkSpec(spec ?? {}) === undefined, () => `the file is accepted, its spec is not: ${checkSpec(spec)}`);
      settingsFromSpec(spec ?? {});
    };
    // They have to be valid before anything is changed.
    for (const { name, value } of samples) load(JSON.stringify(value), name);
    must(reader(PROVIDER_CONFIG).kind === 'valid', () => 'the providerConfig is not valid to begin with');
    const run = ({ text: bytes, sample }: Input): void => {
      const text = bytes.toString('utf8');
      tolerated(text, () => load(text, sample));
    };
    const asText: OpenTarget['print'] = (value, random, sample) =>
      sample === PROVIDER ? print(value) : yamlStyle(value, random);
    return { samples, print: asText, run };
  },
};
