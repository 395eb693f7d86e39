/** Such a path belongs to the API rather than to pages. */
export const isGatewayPath = (path: string): boolean => /^\/v\d+(\/|$)/.test(path);

export const isProbePath = (path: string): boolean => path === '/health' || path.startsWith('/health/');
