/**
 * What the forms of a pool's settings do: each is a change by the JSON API, and is answered with
 * its fields as they are stored now. One that was made from settings that somebody else has changed
 * since changes nothing, or it would set back all that it shows.
 */
import type { Context } from 'hono';
import type { Change, Shown } from '../admin/change_form.tsx';
import { markOf, Saved, SEEN } from '../admin/change_form.tsx';
import { Problem } from '../admin/layout.tsx';
import type { Json } from '../admin/shapes.ts';
import type { Issue } from '../errors.ts';
import type { Form } from './form.ts';
import { jsonOfForm, lacksSecret } from './form.ts';
import type { Told } from './inside.ts';
import { askApi, readApi } from './inside.ts';
import { pieceAnswer } from './page_answer.ts';
import type { Server } from './server.ts';

const STALE = 'These settings were changed after this form was made, so nothing was saved: load ' +
  'the page again to see them, and make your change there.';

const NO_SECRET = 'Nothing was saved: a secret is wanted, and none is stored yet. Type one into ' +
  'the field that is marked.';

/** What the forms of a pool show. @throws Fault where there is no such pool */
export async function shownOf(server: Server, name: string): Promise<Shown> {
  const path = `/pools/${encodeURIComponent(name)}`;
  const { credentials } = await readApi(server, `${path}/status`);
  return { spec: await readApi(server, path), credentials: credentials as Json[] };
}

export async function saveChange(
  context: Context,
  server: Server,
  { change, form }: { change: Change; form: Form },
): Promise<Response> {
  const name = context.req.param('pool') ?? '';
  const body = jsonOfForm(form);
  const { spec } = await shownOf(server, name);
  if (form.get(SEEN) !== markOf(spec, change.path)) {
    return pieceAnswer(context, Problem({ message: STALE }));
  }
  const path = `/pools/${encodeURIComponent(name)}`;
  const told = await askApi(server, { method: 'PATCH', path, body });
  if (!told.ok) return problemAnswer(context, told, (path) => lacksSecret(form, path));
  return pieceAnswer(context, Saved({ change, shown: await shownOf(server, name) }));
}

/**
 * What the API refused, for the form that asked. Of a secret it can only say that there is none:
 * the form, in which an empty one keeps what is stored, says that nothing is.
 */
export function problemAnswer(
  context: Context,
  { json }: Told,
  isLacking: (path: string) => boolean = () => false,
): Response {
  const told = (json['issues'] ?? []) as Issue[];
  const issues = told.map(({ path, reason }) => ({
    path,
    reason: isLacking(path) ? 'is wanted here: none is stored yet' : reason,
  }));
  const message = isLacking(told[0]?.path ?? '') ? NO_SECRET : String(json['message']);
  return pieceAnswer(context, Problem({ message, issues }));
}
