/** The role of the service, independent of the login in DATABASE_URL. */
export const applicationRole = 'switchboard_app';

/**
 * Adds server settings to a database URL. The URL carries them since every client (TypeORM's pool, the queue's pool,
 * the listener) accepts it.
 */
export function withSessionSettings(url: string, settings: Record<string, string | number>): string {
  const address = new URL(url);
  const existing = address.searchParams.get('options');
  const added = Object.entries(settings).map(([name, value]) => `-c ${name}=${value}`);
  address.searchParams.set('options', [existing, ...added].filter(Boolean).join(' '));
  return address.href;
}

/** URL for the service itself, with no more rights than the migrations granted. */
export function applicationUrl(url: string): string {
  return withSessionSettings(url, { role: applicationRole });
}
