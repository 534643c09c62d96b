/**
 * The baseline: Hono with one POST route that does nothing, in a process of its own.
 */
import { Hono } from 'hono';

const app = new Hono();
app.post('/noop', (context) => context.text('ok'));

Deno.serve({
  hostname: '127.0.0.1',
  port: 0,
  onListen: ({ port }) => console.log(`noop listening on http://127.0.0.1:${port}`),
}, app.fetch);
