/**
 * A route as a row: where it is, who may call it, and what it does. Access is part of the row and
 * required by its type, so that no route can be added without saying who it is for.
 */
import type { Context } from 'hono';
import type { Server } from './server.ts';

/**
 * `open`: anybody. `admin`: whoever has the admin token, or a signed-in session of the page (its
 * writes with its token too). `metrics`: the same, and whoever has the metrics token. `page`: the
 * same as `admin`, and who is not signed in is sent to do so.
 */
export type Access = 'open' | 'admin' | 'metrics' | 'page';

export interface Route {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly access: Access;
  readonly answer: (context: Context, server: Server) => Response | Promise<Response>;
}
