/** Whether a path belongs to the API rather than to pages. */
export const isGatewayPath = (path: string): boolean => /^\/v\d+(\/|$)/.test(path);
