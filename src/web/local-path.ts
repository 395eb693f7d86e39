/** Placeholder for the portal's own origin: a path that leaves it would leave any origin. */
const PLACEHOLDER_ORIGIN = 'http://here.invalid';

/** Returns the path as a browser would parse it, or the fallback if it could lead to another host. */
export function localPath(path: unknown, fallback = '/dashboard'): string {
  if (typeof path !== 'string' || !path.startsWith('/') || path.length > 2_000) return fallback;
  if (!URL.canParse(path, PLACEHOLDER_ORIGIN)) return fallback;
  const { origin, pathname, search, hash } = new URL(path, PLACEHOLDER_ORIGIN);
  return origin === PLACEHOLDER_ORIGIN && !pathname.startsWith('//') ? pathname + search + hash : fallback;
}
