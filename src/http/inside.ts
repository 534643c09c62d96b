/**
 * The JSON API, called from within: the page does everything through the very routes that others
 * call, so that there is one implementation of each. It checks no access: whoever calls it has.
 */
import { Hono } from 'hono';
import { Fault, faultResponse } from './fault.ts';
import { ROUTES } from './routes.ts';
import type { Server } from './server.ts';

export interface Ask {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Below `/admin/api`. */
  readonly path: string;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

export interface Told {
  readonly ok: boolean;
  readonly status: number;
  readonly json: Readonly<Record<string, unknown>>;
}

const API = '/admin/api';
const doors = new WeakMap<Server, Hono>();

export async function askApi(server: Server, ask: Ask): Promise<Told> {
  const { method, path, body, signal } = ask;
  const request = new Request(`http://inside${API}${path}`, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  });
  const answer = await doorOf(server).fetch(request);
  const text = await answer.text();
  const json = text === '' ? {} : JSON.parse(text) as Told['json'];
  return { ok: answer.ok, status: answer.status, json };
}

/** What a GET tells; throws a fault where it tells of none. */
export async function readApi(server: Server, path: string): Promise<Told['json']> {
  const { ok, json } = await askApi(server, { method: 'GET', path });
  if (!ok) throw new Fault('not_found', { message: String(json['message']) });
  return json;
}

function doorOf(server: Server): Hono {
  const known = doors.get(server);
  if (known !== undefined) return known;
  const door = new Hono();
  for (const { method, path, answer } of ROUTES) {
    if (path.startsWith(API)) door.on(method, path, (context) => answer(context, server));
  }
  door.notFound(() => faultResponse('not_found'));
  door.onError((error) => {
    if (error instanceof Fault) return faultResponse(error.code, error.parts);
    throw error;
  });
  doors.set(server, door);
  return door;
}
