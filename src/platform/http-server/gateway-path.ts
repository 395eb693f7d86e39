/** Path at which Claude Code requests its budget. */
const USAGE_PATH = '/api/oauth/usage';

export const isGatewayPath = (path: string): boolean => /^\/v\d+(\/|$)/.test(path) || path === USAGE_PATH;

export const isProbePath = (path: string): boolean => path === '/health' || path.startsWith('/health/');

/** Clients that look for a server request this path, outside `/v1`. */
const HELLO_PATH = '/api/hello';

/** Filter of the paths that a node serves; every node serves probes. */
export const servedPaths =
  (serve: 'all' | 'gateway' | 'portal') =>
  (path: string): boolean => {
    if (serve === 'all' || isProbePath(path)) return true;
    return (isGatewayPath(path) || path === HELLO_PATH) === (serve === 'gateway');
  };
