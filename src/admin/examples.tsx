/**
 * Calls of one pool to paste as they are: the lock API from a shell, TypeScript and Python, and a
 * proxied request where the pool forwards.
 */
import type { Json } from './shapes.ts';
import { at } from './shapes.ts';

export interface Place {
  /** Of this server, as the browser reached it. */
  readonly origin: string;
  /** Every host one label below it is a pool's. */
  readonly baseDomain: string;
}

const BEYOND_KEYS: Readonly<Record<string, string>> = {
  hmac: 'be signed',
  jwt: 'bring a token',
  cloudflareAccess: 'come through Cloudflare Access',
};

export function Examples({ spec, place }: { spec: Json; place: Place }) {
  const name = String(spec['name']);
  const [lock, proxied] = [`${place.origin}/pools/${name}/lock`, proxiedUrl(name, place)];
  const wanted = Object.keys(BEYOND_KEYS).filter((rule) => at(spec, `access.${rule}`) !== null);
  const isKeyed = at(spec, 'access.key.required') !== false;
  const samples = {
    curl: curlOf(lock, isKeyed),
    TypeScript: scriptOf(lock, isKeyed),
    Python: pythonOf(lock, isKeyed),
  };
  return (
    <section aria-labelledby='examples'>
      <h2 id='examples'>Examples</h2>
      {isKeyed
        ? (
          <p>
            Put a key into <code>NTHBOUNCER_KEY</code>{' '}
            first (<code>export NTHBOUNCER_KEY=nb_live_…</code>
            ): <a href={`/admin/pools/${name}/access`}>make one</a>.
          </p>
        )
        : <p>This pool wants no key, so the examples send none.</p>}
      {wanted.length === 0 ? null : (
        <p>
          A call of this pool must also{' '}
          {wanted.map((rule) => BEYOND_KEYS[rule]).join(' and ')}; the examples leave that out.
        </p>
      )}
      {Object.entries(samples).map(([title, code]) => (
        <Sample key={title} title={title} code={code} />
      ))}
      {spec['upstream'] === null
        ? (
          <p>
            With an <a href={`/admin/pools/${name}/settings#upstream`}>upstream</a>{' '}
            the pool forwards calls itself; a program’s base URL is then <code>{proxied}</code>.
          </p>
        )
        : (
          <>
            <p>
              Or change nothing in a program but its base URL: <code>{proxied}</code>
            </p>
            <Sample title='Proxied' code={proxiedOf(proxied, isKeyed, spec)} />
          </>
        )}
    </section>
  );
}

function Sample({ title, code }: { title: string; code: string }) {
  return (
    <figure>
      <figcaption>
        {title}{' '}
        <button type='button' class='secondary copy' data-copy={`code-${title}`}>
          Copy<span class='visually-hidden'>the {title} example</span>
        </button>
      </figcaption>
      <pre
        tabindex={0}
        role='region'
        aria-label={`${title} example`}
      ><code id={`code-${title}`}>{code}</code></pre>
    </figure>
  );
}

function proxiedUrl(name: string, { origin, baseDomain }: Place): string {
  const { protocol, port } = new URL(origin);
  return `${protocol}//${name}.${baseDomain}${port === '' ? '' : `:${port}`}`;
}

const KEY = ' -H "X-Nthpool-Key: $NTHBOUNCER_KEY"';

function curlOf(lock: string, isKeyed: boolean): string {
  const key = isKeyed ? KEY : '';
  return `LOCK=${lock}
ANSWER=$(curl -s -X POST $LOCK/acquire${key} -d '{"waitMs": 5000}')
echo "$ANSWER"
SLOT=$(echo "$ANSWER" | sed 's/.*"slotId":"\\([^"]*\\)".*/\\1/')

# while the work goes on, every renewIntervalMs
curl -s -X POST $LOCK/$SLOT/renew${key}
# when it is done: how did the upstream answer?
curl -s -X POST $LOCK/$SLOT/release${key} -d '{"status": 200}'`;
}

function scriptOf(lock: string, isKeyed: boolean): string {
  const key = isKeyed ? " 'X-Nthpool-Key': process.env.NTHBOUNCER_KEY ?? '' " : '';
  return `const lock = '${lock}';
const headers = {${key}};
const post = (path: string, body: unknown) =>
  fetch(\`\${lock}/\${path}\`, { method: 'POST', headers, body: JSON.stringify(body) });

const answer = await post('acquire', { waitMs: 5000 });
if (!answer.ok) throw new Error(await answer.text()); // no slot now, or a wrong key
const { slotId, renewIntervalMs } = await answer.json();
const renewing = setInterval(() => post(\`\${slotId}/renew\`, {}), renewIntervalMs);
try {
  // call the upstream here
} finally {
  clearInterval(renewing);
  await post(\`\${slotId}/release\`, { status: 200 });
}`;
}

function pythonOf(lock: string, isKeyed: boolean): string {
  const key = isKeyed ? '"X-Nthpool-Key": os.environ["NTHBOUNCER_KEY"]' : '';
  return `import json${isKeyed ? ', os' : ''}, urllib.request

def post(path, body):
    request = urllib.request.Request(
        "${lock}/" + path,
        json.dumps(body).encode(), {${key}})
    return json.load(urllib.request.urlopen(request))  # raises where there is no slot

slot = post("acquire", {"waitMs": 5000})["slotId"]
try:
    # call the upstream here, and every renewIntervalMs:
    post(slot + "/renew", {})
finally:
    post(slot + "/release", {"status": 200})`;
}

/** The key goes where the pool takes it and a program sends it: as a Bearer token, if it may. */
function proxiedOf(url: string, isKeyed: boolean, spec: Json): string {
  if (!isKeyed) return `curl -s ${url}/`;
  const schemes = at(spec, 'access.key.authorization');
  const takesBearer = Array.isArray(schemes) && schemes.includes('Bearer');
  return `curl -s ${url}/${takesBearer ? ' -H "Authorization: Bearer $NTHBOUNCER_KEY"' : KEY}`;
}
