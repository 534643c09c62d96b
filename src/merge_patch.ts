/**
 * JSON merge patch (RFC 7396): null takes a member out, objects merge, all else replaces.
 */
import { isObject } from './json.ts';

/** Deeper than anything that is patched here; what lies deeper replaces, and the schema sees it. */
const DEPTH_MAX = 32;

/** The target with the patch merged in; neither is changed. */
export function mergePatch(target: unknown, patch: unknown, depth = 0): unknown {
  if (!isObject(patch) || depth > DEPTH_MAX) return patch;
  const merged: Record<string, unknown> = isObject(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete merged[name];
    else define(merged, name, mergePatch(merged[name], value, depth + 1));
  }
  return merged;
}

/** Sets an own member even where the name is `__proto__`. */
function define(object: Record<string, unknown>, name: string, value: unknown): void {
  Object.defineProperty(object, name, {
    value,
    enumerable: true,
    configurable: true,
    writable: true,
  });
}
