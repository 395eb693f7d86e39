const loopback = /^(?:(?:.+\.)?localhost|127(?:\.\d{1,3}){3}|\[?::1\]?)$/;

/** Such a host name or address means this machine alone. */
export const isLoopback = (host: string): boolean => loopback.test(host.toLowerCase());

/** Such an origin leads nowhere but to this machine. */
export const isLoopbackOrigin = (origin: string): boolean => isLoopback(new URL(origin).hostname);
