/** Claude Code asks for its budget here. */
const USAGE = '/api/oauth/usage';

/** Such a path belongs to the API rather than to pages. */
export const isGatewayPath = (path: string): boolean => /^\/v\d+(\/|$)/.test(path) || path === USAGE;

export const isProbePath = (path: string): boolean => path === '/health' || path.startsWith('/health/');

/** Clients that look for a server ask for it beside `/v1`. */
const HELLO = '/api/hello';

/** What a node serves: every node answers probes. */
export const servedPaths =
  (serve: 'all' | 'gateway' | 'portal') =>
  (path: string): boolean => {
    if (serve === 'all' || isProbePath(path)) return true;
    return (isGatewayPath(path) || path === HELLO) === (serve === 'gateway');
  };
