import type { IncomingMessage, ServerResponse } from 'node:http';
import helmet from 'helmet';
import { isGatewayPath } from '../platform';
import { pathOf } from './http-request';

/** Pages load nothing from other origins, run no inline scripts, and cannot be framed. */
const pageHeaders = helmet({
  contentSecurityPolicy: {
    useDefaults: false,
    directives: {
      'default-src': ["'none'"],
      'script-src': ["'self'"],
      'style-src': ["'self'"],
      'img-src': ["'self'", 'data:'],
      'font-src': ["'self'"],
      'connect-src': ["'self'"],
      'form-action': ["'self'"],
      'base-uri': ["'none'"],
      'frame-ancestors': ["'none'"],
      'object-src': ["'none'"],
    },
  },
  crossOriginEmbedderPolicy: false,
  referrerPolicy: { policy: 'no-referrer' },
  strictTransportSecurity: { maxAge: 31_536_000, includeSubDomains: false },
  xFrameOptions: { action: 'deny' },
});

/** Gateway callers are not browsers, and each of these headers costs time. */
export function securityHeaders(request: IncomingMessage, response: ServerResponse, next: () => void): void {
  if (isGatewayPath(pathOf(request))) next();
  else pageHeaders(request, response, next);
}
