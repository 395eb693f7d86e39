import type { IncomingMessage, ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { ResellerDomains } from '../identity';
import { fault } from '../kernel';
import { isGatewayPath, isLoopback, isProbePath, Settings } from '../platform';
import { type HttpRequest, pathOf } from './http-request';

/**
 * Hosts that serve pages: the own one, configured ones, and those of resellers. A page under a foreign name would allow
 * DNS rebinding.
 * Gateway and health probes have no session and respond under any name.
 */
@Injectable()
export class PortalHosts {
  private readonly base: URL;

  private readonly otherOrigins: ReadonlyMap<string, string>;

  constructor(
    private readonly settings: Settings,
    private readonly resellers: ResellerDomains,
  ) {
    this.base = new URL(settings.baseUrl);
    const origins = settings.portalOrigins.map((origin) => [new URL(origin).host, origin] as const);
    this.otherOrigins = new Map(origins.filter(([host]) => host !== this.base.host));
  }

  /** Origin of the request's portal, if other than BASE_URL. */
  otherOriginOf({ portalHost = '', reseller }: HttpRequest): string | undefined {
    return reseller === undefined ? this.otherOrigins.get(portalHost) : this.resellers.originOf(reseller);
  }

  readonly check = (
    request: IncomingMessage,
    _response: ServerResponse,
    next: (error?: unknown) => void,
  ): void => {
    const path = pathOf(request);
    const requested = this.parseHost(request.headers.host);
    if (isGatewayPath(path) || isProbePath(path)) next();
    else if (requested !== undefined && this.otherOrigins.has(requested.host)) {
      (request as HttpRequest).portalHost = requested.host;
      next();
    } else if (this.isOwn(requested)) next();
    else void this.checkReseller(request as HttpRequest, requested).then(() => next(), next);
  };

  private async checkReseller(request: HttpRequest, requested: URL | undefined): Promise<void> {
    const reseller = requested === undefined ? undefined : await this.resellers.find(requested.host);
    if (reseller === undefined)
      throw fault('origin_not_allowed', {
        message: `Pages are served at ${this.base.origin} only. The setting BASE_URL says where that is.`,
      });
    request.reseller = reseller;
    request.portalHost = reseller.host;
  }

  private isOwn(url: URL | undefined): boolean {
    if (url === undefined) return false;
    if (url.host === this.base.host) return true;
    return this.settings.environment !== 'production' && isLoopback(url.hostname);
  }

  private parseHost(host: string | undefined): URL | undefined {
    const address = `${this.base.protocol}//${host ?? ''}`;
    return host === undefined || !URL.canParse(address) ? undefined : new URL(address);
  }
}
