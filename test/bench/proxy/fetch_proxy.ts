/**
 * The shortest proxy that Deno's own fetch makes, for comparison: no slots, no rules.
 */
const [port, upstream] = Deno.args;

Deno.serve({ hostname: '127.0.0.1', port: Number(port), onListen() {} }, (request) => {
  const { pathname, search } = new URL(request.url);
  return fetch(`http://127.0.0.1:${upstream}${pathname}${search}`, {
    method: request.method,
    headers: request.headers,
    body: request.body,
    redirect: 'manual',
  });
});
