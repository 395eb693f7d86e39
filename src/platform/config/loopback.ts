const loopback = /^(?:(?:.+\.)?localhost|127(?:\.\d{1,3}){3}|\[?::1\]?)$/;

export const isLoopback = (host: string): boolean => loopback.test(host.toLowerCase());

export const isLoopbackOrigin = (origin: string): boolean => isLoopback(new URL(origin).hostname);
