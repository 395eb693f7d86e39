/** The role of the service, independent of the login in DATABASE_URL. */
export const applicationRole = 'switchboard_app';

/**
 * A database address whose sessions begin with these server settings. They stand in the address itself, because
 * that is the one thing every client (TypeORM's pool, the queue's pool, the listener) takes alike.
 */
export function withSessionSettings(url: string, settings: Record<string, string | number>): string {
  const address = new URL(url);
  const given = address.searchParams.get('options');
  const added = Object.entries(settings).map(([name, value]) => `-c ${name}=${value}`);
  address.searchParams.set('options', [given, ...added].filter(Boolean).join(' '));
  return address.href;
}

/** The address under which the service itself works: with no more rights than the migrations granted. */
export function applicationUrl(url: string): string {
  return withSessionSettings(url, { role: applicationRole });
}
