/**
 * The host that each pool has by its name: one label below the base domain.
 */

/**
 * The pool that a host names, known or not; null where it is none's.
 * @param host in lower case, as the base domain is; without port and trailing dot.
 */
export function poolOfHost(host: string, baseDomain: string): string | null {
  const suffix = `.${baseDomain}`;
  const label = host.endsWith(suffix) ? host.slice(0, -suffix.length) : '';
  return label === '' || label.includes('.') ? null : label;
}
