/** A placeholder for our own origin: a path that leaves it would leave any origin. */
const here = 'http://here.invalid';

/** The path to return to, as a browser would parse it; the fallback for a path that might lead to another host. */
export function localPath(wanted: unknown, alternative = '/dashboard'): string {
  if (typeof wanted !== 'string' || !wanted.startsWith('/') || wanted.length > 2_000) return alternative;
  if (!URL.canParse(wanted, here)) return alternative;
  const { origin, pathname, search, hash } = new URL(wanted, here);
  return origin === here && !pathname.startsWith('//') ? pathname + search + hash : alternative;
}
