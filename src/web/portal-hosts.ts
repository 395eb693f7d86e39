import type { IncomingMessage, ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { fault } from '../kernel';
import { isGatewayPath, Settings } from '../platform';
import { pathOf } from './http-request';

const loopback = /^(?:localhost|(?:.+\.)?localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/**
 * The hosts under which pages are served. A page under a foreign name would let that name's owner act in the reader's
 * session (DNS rebinding). The gateway and the probes carry no session and answer under any name.
 */
@Injectable()
export class PortalHosts {
  private readonly base: URL;

  private readonly others: ReadonlySet<string>;

  constructor(private readonly settings: Settings) {
    this.others = new Set(settings.portalOrigins.map((origin) => new URL(origin).host));
    this.base = new URL(settings.baseUrl);
  }

  serves(host: string | undefined): boolean {
    const named = `${this.base.protocol}//${host ?? ''}`;
    if (host === undefined || !URL.canParse(named)) return false;
    const url = new URL(named);
    if (url.host === this.base.host || this.others.has(url.host)) return true;
    return this.settings.environment !== 'production' && loopback.test(url.hostname);
  }

  readonly check = (request: IncomingMessage, _response: ServerResponse, next: () => void): void => {
    const path = pathOf(request);
    if (!isGatewayPath(path) && !isProbe(path) && !this.serves(request.headers.host)) {
      throw fault('origin_not_allowed', {
        message: `Pages are served at ${this.base.origin} only. The setting BASE_URL says where that is.`,
      });
    }
    next();
  };
}

const isProbe = (path: string): boolean => path === '/health' || path.startsWith('/health/');
