/**
 * The URL of a server as its callers give it. Whoever cannot send to a URL says what is in it, so
 * no part of one may be a secret.
 */

/** Without `/` at its end; null where it is no http or https URL, or has user, query or fragment. */
export function plainUrl(given: string | URL): string | null {
  const url = URL.canParse(given) ? new URL(given) : null;
  const isPlain = url !== null && /^https?:$/.test(url.protocol) && !/[@?#]/.test(String(given));
  // As it was read, since what was typed may have spaces around it.
  return isPlain ? url.href.replace(/\/+$/, '') : null;
}
