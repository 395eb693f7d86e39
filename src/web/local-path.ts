/** Stands for our own origin, whatever it is: a path that leads away from it leads away from every origin. */
const here = 'http://here.invalid';

/** The path to go back to, as a browser would read it; the alternative for whatever might lead to another host. */
export function localPath(wanted: unknown, alternative = '/dashboard'): string {
  if (typeof wanted !== 'string' || !wanted.startsWith('/') || wanted.length > 2_000) return alternative;
  if (!URL.canParse(wanted, here)) return alternative;
  const { origin, pathname, search } = new URL(wanted, here);
  return origin === here && !pathname.startsWith('//') ? pathname + search : alternative;
}
