/**
 * What the proxy is measured against, all in front of one nginx that answers at once: nginx with
 * limit_conn, HAProxy with a queue, and the shortest proxy that Deno's fetch makes. Each is a
 * process of its own, ended by its id.
 */
import { admin, ADMIN_TOKEN, SERVE } from '../locks/servers.ts';

export interface Target {
  readonly name: string;
  readonly port: number;
  readonly end: () => Promise<void>;
}

const PORTS = { upstream: 18_310, nginx: 18_311, haproxy: 18_312, fetch: 18_313, own: 18_314 };
const ADMIN_PORT = 18_315;

export async function startAll(folder: string): Promise<Target[]> {
  const path = await Deno.realPath(folder);
  await Deno.writeFile(`${path}/mib`, new Uint8Array(1024 * 1024).fill(120));
  const targets = [
    await start('upstream', 'nginx', await nginxArgs(path, 'upstream', upstreamServer(path))),
    await start('nginx', 'nginx', await nginxArgs(path, 'nginx', NGINX_PROXY)),
    await start('haproxy', 'haproxy', await haproxyArgs(path)),
    await start('fetch', Deno.execPath(), ['run', '-A', 'test/bench/proxy/fetch_proxy.ts'], [
      String(PORTS.fetch),
      String(PORTS.upstream),
    ]),
    await start('own', Deno.execPath(), SERVE, [
      '--port',
      String(ADMIN_PORT),
      '--db',
      `file:${path}/a.db`,
      '--pool-listen',
      `bench=127.0.0.1:${PORTS.own}`,
    ]),
  ];
  await admin(`http://127.0.0.1:${ADMIN_PORT}`, '/pools', {
    name: 'bench',
    concurrency: { limit: 1000 },
    access: { key: { required: false } },
    upstream: { url: `http://127.0.0.1:${PORTS.upstream}` },
  });
  return targets;
}

type Name = keyof typeof PORTS;

async function start(
  name: Name,
  program: string,
  args: readonly string[],
  more: readonly string[] = [],
): Promise<Target> {
  const child = new Deno.Command(program, {
    args: [...args, ...more],
    env: { NTHBOUNCER_ADMIN_TOKEN: ADMIN_TOKEN },
    stdout: 'null',
    stderr: 'null',
  }).spawn();
  await answering(PORTS[name]);
  const end = async () => {
    child.kill('SIGTERM');
    await child.status;
  };
  return { name, port: PORTS[name], end };
}

async function answering(port: number): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    try {
      (await Deno.connect({ hostname: '127.0.0.1', port })).close();
      return;
    } catch {
      await new Promise((done) => setTimeout(done, 50));
    }
  }
  throw new Error(`nobody listens on ${port}`);
}

function upstreamServer(path: string): string {
  return `server { listen 127.0.0.1:${PORTS.upstream}; keepalive_requests 100000000;
    location / { return 200 "hello world\\n"; } location /mib { root ${path}; } }`;
}

const NGINX_PROXY = `
  upstream up { server 127.0.0.1:${PORTS.upstream}; keepalive 256; keepalive_requests 100000000; }
  limit_conn_zone $server_name zone=slots:1m;
  server { listen 127.0.0.1:${PORTS.nginx}; keepalive_requests 100000000;
    location / { limit_conn slots 1000; proxy_pass http://up; proxy_http_version 1.1;
      proxy_set_header Connection ""; } }`;

async function nginxArgs(path: string, name: string, server: string): Promise<string[]> {
  const file = `${path}/${name}.conf`;
  await Deno.writeTextFile(
    file,
    `worker_processes 1; daemon off; pid ${path}/${name}.pid; error_log ${path}/${name}.err;
    events { worker_connections 4096; }
    http { access_log off; client_body_temp_path ${path}; proxy_temp_path ${path}; ${server} }`,
  );
  return ['-c', file];
}

async function haproxyArgs(path: string): Promise<string[]> {
  const file = `${path}/haproxy.cfg`;
  await Deno.writeTextFile(
    file,
    `global
  nbthread 1
defaults
  mode http
  timeout connect 5s
  timeout client 30s
  timeout server 30s
  timeout queue 30s
frontend in
  bind 127.0.0.1:${PORTS.haproxy}
  default_backend up
backend up
  http-reuse always
  server one 127.0.0.1:${PORTS.upstream} maxconn 1000
`,
  );
  return ['-f', file, '-db'];
}
