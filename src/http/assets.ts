/**
 * The page's own files, embedded in the program: scripts and styles, read once and served with a
 * mark by which a browser knows that it has them already.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Context } from 'hono';
import { Fault } from './fault.ts';
import { PAGE_HEADERS } from './page_answer.ts';
import type { Route } from './route.ts';

const SCRIPT = 'text/javascript; charset=utf-8';
const STYLE = 'text/css; charset=utf-8';

/** Name, where it lies seen from here, and its type; .ci/compile.mjs embeds the same. */
const ASSETS: Readonly<Record<string, readonly [path: string, type: string]>> = {
  'admin.js': ['../admin/assets/admin.js', SCRIPT],
  'forms.js': ['../admin/assets/forms.js', SCRIPT],
  'charts.js': ['../admin/assets/charts.js', SCRIPT],
  'admin.css': ['../admin/assets/admin.css', STYLE],
  'api.js': ['../admin/assets/api.js', SCRIPT],
  'api.css': ['../admin/assets/api.css', STYLE],
  'htmx.js': ['../../node_modules/htmx.org/dist/htmx.min.js', SCRIPT],
  'uplot.js': ['../../node_modules/uplot/dist/uPlot.iife.min.js', SCRIPT],
  'uplot.css': ['../../node_modules/uplot/dist/uPlot.min.css', STYLE],
  'pico.css': ['../../node_modules/@picocss/pico/css/pico.min.css', STYLE],
  'rapidoc.js': ['../../node_modules/rapidoc/dist/rapidoc-min.js', SCRIPT],
};

interface Asset {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly mark: string;
  readonly type: string;
}

const loaded = new Map<string, Asset>();

export const assetRoutes: readonly Route[] = [
  { method: 'GET', path: '/admin/assets/:name', access: 'open', answer: showAsset },
];

function showAsset(context: Context): Response {
  const asset = assetOf(context.req.param('name') ?? '');
  const headers = { ...PAGE_HEADERS, etag: asset.mark, 'cache-control': 'no-cache' };
  if (isNamed(asset.mark, context.req.header('if-none-match'))) {
    return context.body(null, 304, headers);
  }
  return context.body(asset.bytes, 200, { ...headers, 'content-type': asset.type });
}

/** Whether a list of marks names this one: whoever packs on the way makes a mark a weak one. */
function isNamed(mark: string, list = ''): boolean {
  return list.split(',').some((one) => ['*', mark, `W/${mark}`].includes(one.trim()));
}

function assetOf(name: string): Asset {
  const known = loaded.get(name);
  if (known !== undefined) return known;
  const found = Object.hasOwn(ASSETS, name) ? ASSETS[name] : undefined;
  if (found === undefined) throw new Fault('not_found');
  const [path, type] = found;
  const bytes = new Uint8Array(readFileSync(new URL(path, import.meta.url)));
  const digest = createHash('sha256').update(bytes).digest('base64url');
  const asset = { bytes, type, mark: `"${digest}"` };
  loaded.set(name, asset);
  return asset;
}
