// What variables, arguments and files of containers name: hosts that may be Services, and registries. Secrets may stand beside them.
import { type Fields, defined } from '../../apis/values.ts';
import { settingsIn } from '../bypasses/programs.ts';
import { listIn, pickTexts, stringsIn, textIn, textsIn } from './fields.ts';

/** The host of an address, of six labels at most but for what follows `.svc`; users, passwords and paths are left out. */
const ADDRESS =
  /^(?:(\S*):\/+|dns\w*\+)?(?:[^@/]*@)?(?:_\w+\._\w+\.)?((?:\d+\.){3}\d+|[a-z][a-z0-9-]*(?:\.[a-z0-9-]+){0,5}?(?:\.svc[a-z.]*)?)(?::(\w+))?(?:[/?].*)?$/;
const LONGEST = 2_000;
/** Of libraries that take addresses of Pods from the API server (kuberesolver, Spring Cloud LoadBalancer) or a control plane. */
const RESOLVERS = /^(?:(?:kubernetes|k8s|xds)(?:\+\w+)?|lb|dns\+otel|remote\+write|nginx\+(?:kept|once))$/;
/** What Prometheus and its like write to, from their files. */
const REMOTE_WRITE = /\bremote_write:\s[^]{0,200}?\burl:\s*["']?\w+:\/\//g;
/** Servers of NGINX whose connections it keeps, and those that it looks up when it starts alone: without `resolve`, or a variable. */
const KEPT_SERVER = /\bserver\s+([\w.-]{1,100})(?=[^{}]{0,300}\skeepalive\s+\d)/g;
const ONCE = /\b(?:server\s+|proxy_pass\s+https?:\/\/)([a-z][\w.-]{1,100}(?::\d{1,5})?)(?=[/;])/g;
/** Of the exporter of OpenTelemetry Collectors that balances over Pods: from the API server, or those that DNS has. */
const OTEL_RESOLVER = /\bresolver:\s+(k8s|dns):\s[^]{0,120}?\b(?:service|hostname):\s*["']?([\w.-]+)/g;
/** Kuberesolver and go-zero (zeromicro/go-zero#988) may have the namespace first. */
const NAMESPACE_FIRST = /^((?:kubernetes|k8s):\/\/)([\w-]+)\/([\w-]+)/;

/** Client libraries that find others, and are found, in a registry: their variables, and what these and arguments may hold. */
const REGISTRY_NAME =
  /^(?!.*config).*(?:eureka|nacos|polaris|consul[._-]?(?:http[._-]?)?(?:addr|host|url)|zookeeper[._-]connect[._-]string|micro[._-]registry|orleans[._-]cluster|^defaultZone$)/i;
const REGISTRY_VALUE = /\bnacos\S*:8848\b|\b(?:nacos|zookeeper|polaris|consul):\/\/|eureka\.client|nacos\.discovery/;

type Text = Readonly<{ name: string; value: string }>;

const hostsIn = (texts: readonly Text[]) =>
  texts
    .filter(({ value }) => value.length < LONGEST)
    .flatMap(({ name: by, value }) => value.split(/[\s,;"'=]+/).map((part) => ({ by, part })))
    .filter(({ part }) => /[-.:]/.test(part))
    .flatMap(({ by, part }) => {
      const [, scheme = '', host, port] = ADDRESS.exec(part.replace(NAMESPACE_FIRST, '$1/$3.$2')) ?? [];
      return host === undefined ? [] : [{ by, host, ...defined({ port, scheme: RESOLVERS.exec(scheme)?.[0] }) }];
    });

/** What says where it registers itself. */
const registryIn = (texts: readonly Text[]): string | undefined => {
  const isSet = ({ name, value }: Text) => REGISTRY_NAME.test(name) && !/^(?:true|false|\d*)$/.test(value);
  return texts.find((text) => REGISTRY_VALUE.test(text.value) || isSet(text))?.name;
};

/** Labels, as `app=web,tier=db`. */
const LABELS = /^(?:[\w./-]+=[\w.-]+(?:,|$))+$/;

/** By which its server ends connections; where it listens for gRPC: no host, or any address. */
const AGE = /max[._-]?(?:server[._-]?)?conn(?:ection)?[._-]?age(?![._-]?grace)/i;
const GRPC_NAME = /^-*(?:(?:server|listen|app|service)[._-])?grpc/i;
const GRPC_PORT = /^(?:-*[\w.-]+=)?(?:[\d.]*:|\[::\]:)?(\d{2,5})$/;

/** What variables, arguments and ports name: hosts that may be Services, where it registers itself, and labels of Pods that it looks for. */
export const namesIn = (podSpec: Fields) => {
  const texts = listIn(podSpec, 'containers').flatMap((container) => [
    ...listIn(container, 'env').map((item) => pickTexts(item, 'name', 'value')),
    ...listIn(container, 'ports').map((own) => ({ name: textIn(own, 'name'), value: String(own['containerPort']) })),
    ...['command', 'args'].flatMap((key) =>
      textsIn(container, key).map((value, at, { [at - 1]: before = '' }) => {
        return { name: /^-+[\w.-]+$/.exec(before)?.[0] ?? /^-*\w[\w.-]*(?==)/.exec(value)?.[0] ?? key, value };
      }),
    ),
  ]);
  const asked = texts.filter(({ name }) => /selector/i.test(name)).map(({ value }) => value.replace(/^-+[\w.-]+=/, ''));
  const selectors = asked.filter((value) => LABELS.test(value));
  const grpc = texts.flatMap(({ name, value }) => (GRPC_NAME.test(name) && GRPC_PORT.exec(value)?.[1]) || []);
  const aged = texts.some(({ name, value }) => AGE.test(name) && /[1-9]/.test(value)) || undefined;
  const some = <T>(items: readonly T[]) => (items.length === 0 ? undefined : items);
  const calls = some(hostsIn(texts));
  const set = some(settingsIn(texts.map(({ name, value }) => `${name}=${value}`)));
  return { calls, registry: registryIn(texts), selectors: some(selectors), grpc: some(grpc), aged, set };
};

export const configMapsIn = (podSpec: Fields): string[] => {
  const volumes = listIn(podSpec, 'volumes').flatMap((volume) => [volume, ...listIn(volume, 'projected.sources')]);
  const inside = listIn(podSpec, 'containers').flatMap((container) => [
    ...listIn(container, 'envFrom').map((from) => textIn(from, 'configMapRef.name')),
    ...listIn(container, 'env').map((item) => textIn(item, 'valueFrom.configMapKeyRef.name')),
  ]);
  return [...volumes.map((volume) => textIn(volume, 'configMap.name')), ...inside].filter((name) => name !== '');
};

/** A line of a file: a key and what it is set to, or an item of a list. */
const ENTRY = /^[-\s"']{0,8}([\w.-]{1,80})["']?\s{0,4}[:=\s]\s{0,8}(\S.*)$/;
/** Words are no hosts, but addresses are, and what alone follows such a key. */
const ADDRESSES = /:\/\/|\.svc\b|[a-z]:\d{2,5}\b/;
const KEY = /(?:host|addr|server|service|target|upstream|url|endpoint)\w{0,20}$/i;
const WORD = /^["']?[a-z][\w.-]*["';]*$/;
/** Longer lines, and what comes later, are not looked at: the time for 1 MiB is bounded, whatever is in it. */
const LONGEST_LINE = 400;
const MOST_LINES = 2_000;
const MOST_TEXT = 131_072;

const entryIn = (line: string): Text[] => {
  const [, name = '', value = ''] = (line.length < LONGEST_LINE && ENTRY.exec(line.trimStart())) || [];
  if (name !== '' && ADDRESSES.test(line)) return [{ name, value: line }];
  return (KEY.test(name) && WORD.test(value)) || REGISTRY_NAME.test(name) ? [{ name, value }] : [];
};

/** What a ConfigMap names, in variables and in files of any format. */
export const namesInConfig = (object: Fields, configMap: string) => {
  const by = `ConfigMap ${configMap}`;
  const texts = Object.entries(stringsIn(object, 'data')).flatMap(([name, value]) => {
    const text = value
      .slice(0, MOST_TEXT)
      .replace(REMOTE_WRITE, 'url: remote+write://')
      .replace(KEPT_SERVER, 'server nginx+kept://$1')
      .replace(ONCE, 'server nginx+once://$1');
    const parts = text.replace(OTEL_RESOLVER, 'endpoint: $1+otel://$2').split(/[\n,{}]+/, MOST_LINES);
    return value.includes('\n') ? parts.flatMap(entryIn) : [{ name, value }];
  });
  const calls = new Map(hostsIn(texts).map((call) => [`${call.scheme} ${call.host} ${call.port}`, { ...call, by }]));
  const set = settingsIn(Object.values(stringsIn(object, 'data')).map((text) => text.slice(0, MOST_TEXT)));
  return { calls: [...calls.values()], registry: registryIn(texts) === undefined ? undefined : by, set };
};
