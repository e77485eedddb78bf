// Hosts and registries in variables, arguments and ConfigMaps of containers, and that nothing else of these is kept.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { namesIn, namesInConfig } from '../../../../pkg/diagnosis/project/names.ts';

const named = (env: Readonly<Record<string, string>>, ...args: readonly string[]) => {
  const variables = Object.entries(env).map(([name, value]) => ({ name, value }));
  const { calls = [], registry } = namesIn({ containers: [{ env: variables, args }] });
  return [calls.map(({ by, host, scheme = '' }) => `${by} ${scheme}${host}`), registry];
};

describe('what variables and arguments name', () => {
  const rows: readonly (readonly [string, ReturnType<typeof named>, readonly string[], string?])[] = [
    ['nothing in words and numbers', named({ MODE: 'cluster', PORT: '8080', HEAP: '-Xmx1g' }, 'server', '-v'), []],
    ['a host and its port', named({ CACHE: 'redis:6379' }), ['CACHE redis']],
    ['a host without port', named({ CACHE: 'redis-headless' }), ['CACHE redis-headless']],
    [
      'members, each of a list',
      named({ ZK: 'zk-0.zk.data.svc:2181,zk-1.zk.data.svc.cluster.local:2181' }),
      ['ZK zk-0.zk.data.svc', 'ZK zk-1.zk.data.svc.cluster.local'],
    ],
    ['no user, password or path', named({ DB: 'mongodb://u:p@db.data:27017/shop?tls=1' }), ['DB db.data']],
    ['what a flag has, by its name', named({}, '--store=dnssrv+_grpc._tcp.store.obs.svc'), ['--store store.obs.svc']],
    ['what stands alone, by where', named({}, 'dns:///jobs.chrono:50052'), ['args jobs.chrono']],
    [
      'what a library resolves',
      named({ A: 'xds:///web' }, '--m=k8s://https://api.data.svc'),
      ['A xdsweb', '--m api.data.svc'],
    ],
    ['what it resolves, by namespace first', named({ A: 'k8s://dev/rpc:80' }), ['A k8srpc.dev']],
    [
      'a host of the internet, which may be that of a route',
      named({ URL: 'https://a.b.example.com/x' }),
      ['URL a.b.example.com'],
    ],
    ['none of so many parts', named({ URL: 'https://a.b.c.d.e.example.com/x' }), []],
    ['the registry of Eureka', named({ EUREKA_CLIENT_ENABLED: 'true', EUREKA_URL: 'x' }), [], 'EUREKA_URL'],
    ['none that is switched off', named({ 'eureka.client.enabled': 'false' }), []],
    ['the registry of Dubbo, by its scheme', named({ A: 'zookeeper://z.b.example.com' }), ['A z.b.example.com'], 'A'],
    ['the registry in options of Java', named({ JAVA_OPTS: '-Deureka.client.x=y' }), [], 'JAVA_OPTS'],
    ['the membership of Orleans', named({ ORLEANS_CLUSTER_ID: 'prod' }), [], 'ORLEANS_CLUSTER_ID'],
    ['the agent of Consul', named({ CONSUL_HTTP_ADDR: '10.0.0.1' }), ['CONSUL_HTTP_ADDR 10.0.0.1'], 'CONSUL_HTTP_ADDR'],
    [
      'no source of settings',
      named({ SPRING_CLOUD_NACOS_CONFIG_SERVER_ADDR: 'nacos:1' }, 'x'),
      ['SPRING_CLOUD_NACOS_CONFIG_SERVER_ADDR nacos'],
    ],
  ];
  for (const [name, got, hosts, registry] of rows)
    it(`is ${name}`, () => {
      expect(got).to.deep.equal([hosts, registry]);
    });
});

describe('what a ConfigMap names', () => {
  const rows: readonly (readonly [string, string, string, string?])[] = [
    ['a variable', 'http://core:80', 'core'],
    [
      'a file of nginx',
      '# http://old.x\nset $d push-headless.mimir.svc.cluster.local;\nlocation = / { return 200; }',
      'push-headless.mimir.svc.cluster.local',
    ],
    [
      'one of Envoy',
      'lb_endpoints:\n- endpoint: { address: { socket_address: { address: web-headless, port_value: 80 }}}',
      'web-headless',
    ],
    ['one in JSON', '{\n"ServiceName": "orders-api", "UpstreamHttpMethod": ["Get"]}', 'orders-api'],
    ['a target of go-zero', 'Target: k8s://dev/rpc-svc:8080\nMode: pro', 'k8srpc-svc.dev'],
    [
      'remote write of Prometheus',
      'remote_write:\n- name: a\n  url: http://web.shop.svc:80/w\n',
      'remote+writeweb.shop.svc',
    ],
    ['no query, rule or word', 'expr: sum(rate(x{job="loki-write"}[1m]))\ntitle: web-headless', ''],
    [
      'the registry of Eureka',
      'eureka:\n  client:\n    service-url:\n      defaultZone: http://e.b.example.com/eureka/',
      'e.b.example.com',
      'ConfigMap c',
    ],
    ['none', 'eureka:\n  client:\n    enabled: false', ''],
  ];
  for (const [name, text, hosts, registry] of rows)
    it(`is ${name}`, () => {
      const got = namesInConfig({ data: { 'a.conf': text } }, 'c');
      expect(got.calls.map(({ host, scheme = '' }) => `${scheme}${host}`).join()).to.equal(hosts);
      expect(got.registry).to.equal(registry);
    });
});
